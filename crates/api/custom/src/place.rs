//! Where in an object a walk is. Building a place allocates nothing; only printing it does. Upstream's two validators spell
//! the entries of a map differently, so there are two ways to print.

use std::fmt::Write;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'p> {
    /// The whole object, or the part of it that is looked at alone.
    Root,
    /// Somewhere that is printed already.
    Printed(&'p str),
    Field(&'p Place<'p>, &'p str),
    Entry(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl<'p> Place<'p> {
    pub(crate) fn field(&'p self, name: &'p str) -> Place<'p> {
        Place::Field(self, name)
    }

    pub(crate) fn entry(&'p self, key: &'p str) -> Place<'p> {
        Place::Entry(self, key)
    }

    pub(crate) fn item(&'p self, at: usize) -> Place<'p> {
        Place::Item(self, at)
    }

    /// `spec.labels.app`: how the value validator names places.
    pub(crate) fn dotted(&self) -> String {
        let mut text = String::new();
        self.print(&mut text, true);
        text
    }

    /// `spec.labels[app]`: how everything else does. The root is called `<nil>`, as in upstream's errors.
    pub(crate) fn keyed(&self) -> String {
        let mut text = String::new();
        self.print(&mut text, false);
        if text.is_empty() { "<nil>".to_owned() } else { text }
    }

    fn print(&self, text: &mut String, dotted: bool) {
        match self {
            Self::Root => {}
            Self::Printed(printed) => text.push_str(printed),
            Self::Field(parent, name) => {
                parent.print(text, dotted);
                join(text, name);
            }
            Self::Entry(parent, key) => {
                parent.print(text, dotted);
                if dotted {
                    text.push('.');
                    text.push_str(key);
                } else {
                    text.push('[');
                    text.push_str(key);
                    text.push(']');
                }
            }
            Self::Item(parent, at) => {
                parent.print(text, dotted);
                // Writing into a string cannot fail.
                let _ = write!(text, "[{at}]");
            }
        }
    }
}

fn join(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push('.');
    }
    text.push_str(name);
}
