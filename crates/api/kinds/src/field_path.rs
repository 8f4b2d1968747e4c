//! Where in an object something is, as messages print it: `spec.containers[0].name`, `metadata.labels[app]`. Costs nothing until
//! it is printed, so that validation can carry one along.

use std::fmt;

/// A chain of steps, each borrowed from the caller above.
#[derive(Clone, Copy, Debug)]
pub struct FieldPath<'p> {
    parent: Option<&'p FieldPath<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    Child(&'p str),
    Index(usize),
    Key(&'p str),
}

impl<'p> FieldPath<'p> {
    /// The object itself; prints as nothing.
    pub const fn root() -> Self {
        Self { parent: None, step: Step::Root }
    }

    /// A path that starts at a field, for validation of a part: `FieldPath::new("spec")`.
    pub const fn new(name: &'p str) -> Self {
        Self { parent: None, step: Step::Child(name) }
    }

    pub const fn child(&'p self, name: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Child(name) }
    }

    pub const fn index(&'p self, at: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(at) }
    }

    /// An entry of a map.
    pub const fn key(&'p self, key: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let starts = match self.parent {
            Some(parent) => {
                parent.fmt(f)?;
                matches!(parent.step, Step::Root) && parent.parent.is_none()
            }
            None => true,
        };
        match self.step {
            Step::Root => Ok(()),
            Step::Child(name) if starts => f.write_str(name),
            Step::Child(name) => write!(f, ".{name}"),
            Step::Index(at) => write!(f, "[{at}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests;
