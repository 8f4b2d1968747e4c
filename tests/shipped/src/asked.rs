//! Questions to a cluster by stock kubectl, as tests ask them. Knows no cluster: whoever has one says how it is reached.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::eventually;

/// Far longer than anything takes that is asked for; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody who has a cluster.
pub trait Asked {
    /// kubectl, pointed at the cluster.
    fn kubectl(&self) -> Command;

    /// What helps whoever reads that something did not come true.
    fn evidence(&self) -> String {
        String::new()
    }

    fn asked(&self, words: &[&str]) -> Output {
        self.kubectl().args(words).stdin(Stdio::null()).output().unwrap()
    }

    /// What kubectl prints when it succeeds.
    #[track_caller]
    fn said(&self, words: &[&str]) -> String {
        let output = self.asked(words);
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Asks until the answer has this in it.
    #[track_caller]
    fn until(&self, words: &[&str], wanted: &str) {
        eventually(&format!("{words:?}"), PATIENCE, || {
            let output = self.asked(words);
            match text(&output.stdout).contains(wanted) {
                true => Ok(()),
                false => {
                    Err(format!("{:?}\n{}", [text(&output.stdout), text(&output.stderr)], self.evidence()))
                }
            }
        });
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
