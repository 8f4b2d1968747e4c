//! What happened, for people to read, and how to see it again.

use std::fmt;

use jiff::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    lines: Vec<String>,
    began: Option<Timestamp>,
    now: Option<Timestamp>,
    pub writes: usize,
}

impl History {
    pub(crate) fn at(&mut self, now: Timestamp) {
        self.began.get_or_insert(now);
        self.now = Some(now);
    }

    pub(crate) fn note(&mut self, what: impl fmt::Display) {
        let since = self.now.zip(self.began).map(|(now, began)| now.duration_since(began).as_millis());
        let seconds = since.unwrap_or_default() as f64 / 1000.0;
        self.lines.push(format!("{seconds:9.3} {what}"));
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// A history that did not end well.
#[derive(Debug)]
pub struct Failure {
    pub seed: u64,
    pub history: History,
    /// What there was in the end.
    pub left: Vec<String>,
    pub wrong: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.history)?;
        self.left.iter().try_for_each(|left| writeln!(f, "{left}"))?;
        writeln!(f, "\nSeed {} did not end well:", self.seed)?;
        self.wrong.iter().try_for_each(|wrong| writeln!(f, "  - {wrong}"))?;
        writeln!(
            f,
            "See it again: KEDGE_SEED={} cargo nextest run -p kedge-simulation --no-capture one_seed",
            self.seed
        )
    }
}
