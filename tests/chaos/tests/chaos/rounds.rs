//! One round: a look at what runs, a job begun, something broken and mended, and then everything that must hold.

use std::time::{Duration, Instant};

use kedge_fleet::{Machine, Scene};

use crate::api::Api;
use crate::callers::Callers;
use crate::faults::Fault;
use crate::figures::Row;
use crate::picture::Picture;
use crate::workload;
use crate::writer::Writer;

/// Longer than any recovery should take; only what does not recover reaches it.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many calls of each have to go well in a row before all is well.
const STREAK: u64 = 10;

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
    /// `pause` is how long the job has been under way when it happens.
    pub(crate) fn round(&mut self, round: usize, fault: Fault, held: Duration, pause: Duration) -> Row {
        let mut row = Row {
            round,
            fault,
            held,
            recovered: Duration::ZERO,
            calls: self.callers.made(),
            failed: 0,
            writes: self.writer.count(),
            wrong: Vec::new(),
        };
        let begun = Instant::now();
        let outcome = self.carry_out(&mut row, pause);
        row.calls = self.callers.made() - row.calls;
        row.writes = self.writer.count() - row.writes;
        row.wrong.extend(outcome.err());
        let (excused, wrong): (Vec<_>, Vec<_>) =
            self.callers.failed().into_iter().partition(|failure| fault.excuses_calls_from(failure.caller));
        row.failed = excused.len();
        row.wrong.extend(wrong.iter().take(5).map(|failure| {
            let after = failure.at.saturating_duration_since(begun).as_secs_f64();
            format!("a call from node {} failed {after:.1} s into the round: {}", failure.caller, failure.why)
        }));
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

    fn carry_out(&mut self, row: &mut Row, pause: Duration) -> Result<(), String> {
        let job = format!("job-{}", row.round);
        let before = Picture::take(&self.api, &self.scene)?;
        workload::begin_job(&self.api, &job)?;
        std::thread::park_timeout(pause);

        let struck = row.fault.strike(&mut self.scene, &self.api, &before, row.held);
        row.wrong.extend(struck.wrong);
        let mended = Instant::now();
        self.callers.forget_streaks();
        let written = self.writer.count();
        settled(|| {
            none(workload::untrue(&self.api)?)?;
            none(self.unanswered())?;
            match (self.writer.count() > written, self.callers.shortest_streak()) {
                (false, _) => Err("nothing was written".to_owned()),
                (true, STREAK..) => Ok(()),
                (true, streak) => Err(format!("somebody's calls went well only {streak} times in a row")),
            }
        })?;
        row.recovered = mended.elapsed();

        settled(|| workload::job_is_done(&self.api, &job))?;
        settled(|| workload::job_is_gone(&self.api, &job))?;
        settled(|| none(Picture::take(&self.api, &self.scene)?.leaks(&self.api, &self.scene)))?;
        let after = Picture::take(&self.api, &self.scene)?;
        row.wrong.extend(before.harmed_by_now(&after, &struck.touched));
        let lost = self.writer.lost(&self.api)?;
        row.wrong.extend(lost.into_iter().map(|name| format!("acknowledged and lost: {name}")));
        Ok(())
    }
}
