//! The paths of one host. Exact ones count before all others, then the longest that fits; parts of a path match as a whole.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::Target;

#[derive(Debug, Default)]
pub(super) struct Site {
    exact: HashMap<Box<str>, Arc<Target>>,
    /// Without slashes at the end; the root is empty.
    prefixes: HashMap<Box<str>, Arc<Target>>,
    /// How many parts the longest of them has.
    depth: usize,
    /// Where no path fits.
    default: Option<Arc<Target>>,
}

impl Site {
    pub(super) fn find(&self, path: &str) -> Option<&Arc<Target>> {
        let exact = if self.exact.is_empty() { None } else { self.exact.get(path) };
        exact.or_else(|| self.longest(path)).or(self.default.as_ref())
    }

    fn longest(&self, path: &str) -> Option<&Arc<Target>> {
        if self.prefixes.is_empty() {
            return None;
        }
        // No more of the path is looked at than a prefix could have: a path of a thousand slashes is no work.
        let mut slashes = path.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(at, _)| at);
        let mut end = slashes.nth(self.depth).unwrap_or(path.len());
        loop {
            if let Some(target) = self.prefixes.get(&path[..end]) {
                return Some(target);
            }
            if end == 0 {
                return None;
            }
            end = path[..end].rfind('/').unwrap_or(0);
        }
    }

    /// Whether nobody had this path yet; who had it keeps it.
    pub(super) fn add_exact(&mut self, path: &str, target: Arc<Target>) -> bool {
        add(&mut self.exact, path, target)
    }

    pub(super) fn add_prefix(&mut self, path: &str, target: Arc<Target>) -> bool {
        let path = path.trim_end_matches('/');
        self.depth = self.depth.max(path.bytes().filter(|byte| *byte == b'/').count());
        add(&mut self.prefixes, path, target)
    }

    pub(super) fn add_default(&mut self, target: Arc<Target>) {
        self.default.get_or_insert(target);
    }

    pub(super) fn len(&self) -> usize {
        self.exact.len() + self.prefixes.len()
    }
}

fn add(to: &mut HashMap<Box<str>, Arc<Target>>, path: &str, target: Arc<Target>) -> bool {
    match to.entry(path.into()) {
        Entry::Vacant(free) => {
            free.insert(target);
            true
        }
        Entry::Occupied(_) => false,
    }
}
