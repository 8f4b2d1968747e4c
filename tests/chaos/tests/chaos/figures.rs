//! What each round showed, as lines while it goes on and as a table in the end.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::callers::{Failure, PATIENCE};
use crate::script::Round;

pub(crate) struct Row {
    pub(crate) round: Round,
    /// What clocks show, for whoever reads logs beside it.
    at: Timestamp,
    pub(crate) struck: Instant,
    /// When everything was as it should be.
    pub(crate) well: Option<Instant>,
    /// From when it was mended until nodes, pods, calls and writes were as they should be.
    pub(crate) recovered: Duration,
    pub(crate) calls: u64,
    /// All of them excused.
    pub(crate) failed: usize,
    pub(crate) writes: u64,
    pub(crate) wrong: Vec<String>,
    /// It did not come to its end: what follows would prove nothing.
    pub(crate) is_stuck: bool,
}

pub(crate) const HEAD: &str =
    "round  at (UTC)  fault                                         held  recovered    calls  failed  writes";

impl Row {
    pub(crate) fn of(round: &Round) -> Self {
        Self {
            round: *round,
            at: Timestamp::now(),
            struck: Instant::now(),
            well: None,
            recovered: Duration::ZERO,
            calls: 0,
            failed: 0,
            writes: 0,
            wrong: Vec::new(),
            is_stuck: false,
        }
    }

    /// Whether a call could not but fail: it was under way when something broke, or begun after that and before all was well.
    pub(crate) fn excuses(&self, failure: &Failure) -> bool {
        let after = failure.at.saturating_duration_since(self.struck);
        self.round.fault.excuses(failure.caller, after, self.round.held)
            && failure.at + PATIENCE > self.struck
            && self.well.is_none_or(|well| failure.at < well)
    }

    pub(crate) fn told(&self, failure: &Failure) -> String {
        let when = match failure.at.checked_duration_since(self.struck) {
            Some(after) => format!("{:.1} s after it happened", after.as_secs_f64()),
            None => {
                format!("{:.1} s before it happened", (self.struck - failure.at).as_secs_f64())
            }
        };
        format!(
            "a call from node {} failed, {when}: {}",
            ["one", "two", "three"][failure.caller],
            failure.why
        )
    }

    pub(crate) fn line(&self) -> String {
        let Round { number, fault, held, .. } = self.round;
        let held = if held.is_zero() { String::new() } else { format!("{:.0} s", held.as_secs_f64()) };
        let recovered = match self.well {
            Some(_) => format!("{:.2} s", self.recovered.as_secs_f64()),
            None => "never".to_owned(),
        };
        let mut line = format!(
            "{number:>5}  {}  {:<42}  {held:>6}  {recovered:>9}  {:>7}  {:>6}  {:>6}",
            self.at.strftime("%H:%M:%S"),
            fault.to_string(),
            self.calls,
            self.failed,
            self.writes
        );
        for wrong in &self.wrong {
            line.push_str(&format!("\n       WRONG: {wrong}"));
        }
        line
    }
}

/// By kind of fault: rounds, those in which something was wrong, how long it took to recover (median and longest), calls, and those that failed.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut kinds: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        let kind = row.round.fault.kind();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((kind, vec![row])),
        }
    }
    let mut table =
        "| fault | rounds | with something wrong | recovered: median | longest | calls | failed |\n|---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    for (kind, rows) in kinds {
        let well = rows.iter().filter(|row| row.wrong.is_empty());
        let mut times: Vec<f64> = well.map(|row| row.recovered.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let shown = |time: Option<&f64>| time.map_or("–".to_owned(), |time| format!("{time:.2} s"));
        let (median, longest) = (shown(times.get(times.len() / 2)), shown(times.last()));
        let wrong = rows.len() - times.len();
        let calls: u64 = rows.iter().map(|row| row.calls).sum();
        let failed: usize = rows.iter().map(|row| row.failed).sum();
        table.push_str(&format!(
            "| {kind} | {} | {wrong} | {median} | {longest} | {calls} | {failed} |\n",
            rows.len()
        ));
    }
    table
}
