//! One JSON line per measure on standard output; words for people on standard error.

use serde::Serialize;

use crate::BenchError;

/// What one measure saw. Absent figures were not measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line {
    pub(crate) measure: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) target: String,
    pub(crate) ops: usize,
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
    pub(crate) per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p99_ms: Option<f64>,
    /// Of the writes that others heard of: what of their wait is not theirs to save.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) write_p99_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mb_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_cpu_us_per_op: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_rss_mb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_rss_grew_mb: Option<f64>,
}

#[allow(clippy::print_stdout, reason = "printing the measures is what this program is for")]
pub(crate) fn line(line: &Line) {
    match serde_json::to_string(line) {
        Ok(text) => println!("{text}"),
        Err(error) => note(&format!("a measure could not be printed: {error}")),
    }
}

#[allow(clippy::print_stdout, reason = "the ratios are the suite's result")]
pub(crate) fn verdict(text: &str) {
    println!("{text}");
}

#[allow(clippy::print_stderr, reason = "progress for the person at the terminal")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

pub(crate) fn complain(error: &BenchError) {
    note(&format!("kedge-bench: {error}"));
}
