//! One round: a look at what runs, a job begun, something broken and mended, and then everything that must hold.

use std::time::{Duration, Instant};

use kedge_fleet::{Machine, Scene};

use crate::api::Api;
use crate::callers::Callers;
use crate::figures::Row;
use crate::picture::Picture;
use crate::script::Round;
use crate::workload;
use crate::writer::Writer;

/// Longer than any recovery should take; only what does not recover reaches it.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many calls of each have to go well in a row before all is well.
const STREAK: u64 = 10;
/// So many of the calls that should not have failed are told.
const SHOWN: usize = 5;

pub(crate) struct Stage {
    pub(crate) scene: Scene,
    pub(crate) api: Api,
    pub(crate) callers: Callers,
    pub(crate) writer: Writer,
}

/// Tries until it holds, and says what was still untrue when patience ran out.
pub(crate) fn settled(mut holds: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match holds() {
            Ok(()) => return Ok(()),
            Err(still) if begun.elapsed() > PATIENCE => {
                return Err(format!("after {PATIENCE:?} still {still}"));
            }
            Err(_) => std::thread::park_timeout(Duration::from_millis(50)),
        }
    }
}

fn none(untrue: Vec<String>) -> Result<(), String> {
    if untrue.is_empty() { Ok(()) } else { Err(untrue.join("; ")) }
}

impl Stage {
    pub(crate) fn round(&mut self, round: &Round) -> Row {
        let mut row = Row::of(round);
        let (calls, writes) = (self.callers.made(), self.writer.count());
        let outcome = self.carry_out(&mut row);
        row.calls = self.callers.made() - calls;
        row.writes = self.writer.count() - writes;
        row.is_stuck = outcome.is_err();
        row.wrong.extend(outcome.err());
        let (excused, wrong): (Vec<_>, Vec<_>) =
            self.callers.failed().into_iter().partition(|failure| row.excuses(failure));
        row.failed = excused.len();
        let told: Vec<String> = wrong.iter().take(SHOWN).map(|failure| row.told(failure)).collect();
        row.wrong.extend(told);
        if let Some(more) = wrong.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            row.wrong.push(format!("and {more} more calls failed"));
        }
        row
    }

    /// Who does not answer: agents, asked by way of the server, and the containerd of each.
    fn unanswered(&self) -> Vec<String> {
        let of = |machine: &Machine| {
            let agent = self.api.text(&format!("/api/v1/nodes/{}/proxy/healthz", machine.name));
            let containerd = self.api.wait_for(kedge_fleet::runtime_answers(&machine.data()));
            [agent.map(drop), containerd].map(Result::err).into_iter().flatten().collect::<Vec<_>>()
        };
        self.scene.machines().into_iter().flat_map(of).collect()
    }

    fn carry_out(&mut self, row: &mut Row) -> Result<(), String> {
        let job = format!("job-{}", row.round.number);
        let before = Picture::take(&self.api, &self.scene)?;
        workload::begin_job(&self.api, &job)?;
        std::thread::park_timeout(row.round.pause);

        row.struck = Instant::now();
        let struck = row.round.fault.strike(&mut self.scene, &self.api, &before, row.round.held);
        row.wrong.extend(struck.wrong);
        let mended = Instant::now();
        self.callers.forget_streaks();
        let written = self.writer.count();
        settled(|| {
            // A pod that was hurt is called ready until its node says what happened.
            none(before.untold(&self.api, &struck.touched)?)?;
            none(workload::untrue(&self.api)?)?;
            none(self.unanswered())?;
            match (self.writer.count() > written, self.callers.shortest_streak()) {
                (false, _) => Err("nothing was written".to_owned()),
                (true, STREAK..) => Ok(()),
                (true, streak) => Err(format!("somebody's calls went well only {streak} times in a row")),
            }
        })?;
        row.well = Some(Instant::now());
        row.recovered = mended.elapsed();

        let may_fail = row.round.fault.fails();
        settled(|| workload::job_is_done(&self.api, &job, may_fail))?;
        settled(|| workload::job_is_gone(&self.api, &job))?;
        settled(|| none(Picture::take(&self.api, &self.scene)?.leaks(&self.api, &self.scene)))?;
        // What a node has to tell of a restart may be under way still; what was restarted without need stays so.
        let unharmed = settled(|| {
            let now = Picture::take(&self.api, &self.scene)?;
            none(before.harmed_by_now(&now, &struck.touched))
        });
        row.wrong.extend(unharmed.err());
        row.wrong.extend(self.writer.lost(&self.api)?);
        Ok(())
    }
}
