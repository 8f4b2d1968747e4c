//! Figures as Prometheus reads them: a family with its help and type, then a line for each.

use std::fmt::Write;

use jiff::Timestamp;

#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _written = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    pub(super) fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64, at: Option<Timestamp>) {
        self.0.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            let _written = write!(self.0, "{{{}}}", labels.join(","));
        }
        let _written = write!(self.0, " {value}");
        if let Some(at) = at {
            let _written = write!(self.0, " {}", at.as_millisecond());
        }
        self.0.push('\n');
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Nanoseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "figures are rounded where they are read")]
pub(super) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "figures are rounded where they are read")]
pub(super) fn number(value: u64) -> f64 {
    value as f64
}
