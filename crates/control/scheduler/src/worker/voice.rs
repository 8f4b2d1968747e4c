//! What the scheduler has to say about bindings, until it is said: behind the decisions, because no binding should wait for a sentence
//! about another one. Sends nothing itself.

use std::collections::VecDeque;

use kedge_engine::Action;

/// How many sentences are sent at once.
const AT_ONCE: usize = 8;
/// Whoever binds so many more than it can tell of leaves out what it would have said first.
const AT_MOST: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct Voice {
    waiting: VecDeque<Action>,
    /// Somebody sends what waits.
    speaking: bool,
}

impl Voice {
    /// To be said soon. True if nobody is speaking: whoever asked has to see to it then.
    pub(super) fn add(&mut self, told: Action) -> bool {
        if self.waiting.len() == AT_MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(told);
        !std::mem::replace(&mut self.speaking, true)
    }

    /// What is to be said next; after nothing nobody speaks any more.
    pub(super) fn next(&mut self) -> Vec<Action> {
        let some: Vec<Action> = self.waiting.drain(..self.waiting.len().min(AT_ONCE)).collect();
        self.speaking = !some.is_empty();
        if self.waiting.is_empty() {
            self.waiting.shrink_to(AT_ONCE);
        }
        some
    }
}

#[cfg(test)]
mod tests {
    use kedge_engine::{Key, Resource, Severity, Target};

    use super::*;

    fn told(number: usize) -> Action {
        let resource = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            plural: "pods".to_owned(),
        };
        let about =
            Target { resource, key: Key::new("a", "b"), uid: "u".to_owned(), revision: "1".to_owned() };
        Action::tell_of(about, Severity::Normal, "Scheduled", number.to_string())
    }

    #[test]
    fn one_speaks_at_a_time_and_everything_is_said_in_order() {
        let mut voice = Voice::default();
        assert!(voice.add(told(0)), "somebody has to begin");
        assert!((1..20).all(|number| !voice.add(told(number))), "and only one");
        let mut said = Vec::new();
        loop {
            let some = voice.next();
            assert!(some.len() <= AT_ONCE);
            if some.is_empty() {
                break;
            }
            said.extend(some);
        }
        assert_eq!(said, (0..20).map(told).collect::<Vec<_>>());
        assert!(voice.add(told(20)), "it had ended");
    }

    #[test]
    fn what_is_too_much_loses_its_beginning() {
        let mut voice = Voice::default();
        for number in 0..=AT_MOST {
            voice.add(told(number));
        }
        assert_eq!(voice.next().first(), Some(&told(1)));
    }
}
