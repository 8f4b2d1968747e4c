//! What each round showed, as lines while it goes on and as a table in the end.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::faults::Fault;

pub(crate) struct Row {
    pub(crate) round: usize,
    pub(crate) fault: Fault,
    pub(crate) held: Duration,
    /// From when it was mended until nodes, pods, calls and writes were as they should be.
    pub(crate) recovered: Duration,
    pub(crate) calls: u64,
    /// All of them excused.
    pub(crate) failed: usize,
    pub(crate) writes: usize,
    pub(crate) wrong: Vec<String>,
}

pub(crate) const HEAD: &str =
    "round  fault                                         held  recovered    calls  failed  writes";

impl Row {
    pub(crate) fn line(&self) -> String {
        let fault = self.fault.to_string();
        let held =
            if self.held.is_zero() { String::new() } else { format!("{:.0} s", self.held.as_secs_f64()) };
        let mut line = format!(
            "{:>5}  {fault:<42}  {held:>6}  {:>7.2} s  {:>7}  {:>6}  {:>6}",
            self.round,
            self.recovered.as_secs_f64(),
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
    let mut kinds: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        kinds.entry(row.fault.kind()).or_default().push(row);
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
