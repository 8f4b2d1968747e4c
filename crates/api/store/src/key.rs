//! The name of an entry: a path such as `/registry/pods/default/web`. Knows only that `/` separates its parts.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Shared by the map, the events and the watchers, so cloning copies no text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The part of a key or prefix that watchers are grouped by: `/registry/pods/` of `/registry/pods/default/web`.
/// None if the text is too short to lie within one group.
pub(crate) fn group_of(text: &str) -> Option<&str> {
    text.match_indices('/').nth(2).map(|(at, _)| &text[..=at])
}

/// The first text behind all those that start with `prefix`; none if nothing can be behind them.
pub(crate) fn behind(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        // The range steps over the numbers that are no characters.
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return Some(text);
        }
    }
    None
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key(text.into())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Key(text.into())
    }
}

impl From<&Key> for Key {
    fn from(key: &Key) -> Self {
        key.clone()
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, out)
    }
}

#[cfg(test)]
mod tests;
