//! The text of an expression, and where in it something stands.

use crate::error::Issue;

/// Longer texts are refused unread.
const MAX_CHARS: usize = 100_000;
/// Beyond this, mistakes are no longer collected.
const MAX_ISSUES: usize = 100;

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) chars: Vec<char>,
    issues: Vec<(usize, String)>,
}

impl Source {
    pub(crate) fn new(text: &str) -> Result<Self, Issue> {
        let chars: Vec<char> = text.chars().collect();
        if chars.len() > MAX_CHARS {
            let message =
                format!("expression code point size exceeds limit: size: {}, limit {MAX_CHARS}", chars.len());
            return Err(Issue { line: 1, column: 0, message, text: String::new() });
        }
        Ok(Source { chars, issues: Vec::new() })
    }

    /// Notes a mistake at a place, counted in characters from the start.
    pub(crate) fn report(&mut self, at: usize, message: impl Into<String>) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push((at, message.into()));
        }
    }

    pub(crate) fn has_issues(&self) -> bool {
        !self.issues.is_empty()
    }

    /// All mistakes in the order of their places.
    pub(crate) fn into_issues(mut self) -> Vec<Issue> {
        let mut found = std::mem::take(&mut self.issues);
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(at, message)| self.issue(at, message)).collect()
    }

    fn issue(&self, at: usize, message: String) -> Issue {
        let at = at.min(self.chars.len());
        let line = self.chars[..at].iter().filter(|c| **c == '\n').count();
        let start = self.chars[..at].iter().rposition(|c| *c == '\n').map_or(0, |newline| newline + 1);
        let text: String = self.chars[start..].iter().take_while(|c| **c != '\n').collect();
        Issue { line: line + 1, column: at - start + 1, message, text: text.replace('\t', " ") }
    }
}
