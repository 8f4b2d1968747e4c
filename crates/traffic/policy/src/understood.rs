//! What was understood of each object, kept for as long as it is the same object: what did not change costs a look at where it is.
//! Knows neither what objects say nor what is made of it.

use std::collections::HashMap;
use std::sync::Arc;

/// Something that belongs to a namespace.
pub(crate) trait Within {
    fn namespace(&self) -> &str;
}

#[derive(Debug)]
pub(crate) struct Understood<K, M> {
    /// By where an object is: one that is different is elsewhere, and one that is held here stays where it is.
    known: HashMap<usize, Known<K, M>>,
    by_namespace: HashMap<String, Vec<Arc<M>>>,
    turn: u64,
}

#[derive(Debug)]
struct Known<K, M> {
    _object: Arc<K>,
    meaning: Option<Arc<M>>,
    turn: u64,
}

/// Meanings that are no more, and those that are new.
#[derive(Debug)]
pub(crate) struct Difference<M> {
    pub(crate) gone: Vec<Arc<M>>,
    pub(crate) come: Vec<Arc<M>>,
}

impl<M> Difference<M> {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<M>> {
        self.gone.iter().chain(&self.come)
    }
}

impl<K, M> Default for Understood<K, M> {
    fn default() -> Self {
        Self { known: HashMap::new(), by_namespace: HashMap::new(), turn: 0 }
    }
}

impl<K, M: Within + PartialEq> Understood<K, M> {
    /// These are all objects that there are. `again` is whether one that stayed the same may have another meaning by now.
    pub(crate) fn follow(
        &mut self,
        objects: &[Arc<K>],
        again: bool,
        understand: impl Fn(&Arc<K>) -> Option<M>,
    ) -> Difference<M> {
        self.turn += 1;
        let turn = self.turn;
        let mut difference = Difference { gone: Vec::new(), come: Vec::new() };
        for object in objects {
            let known = self.known.entry(Arc::as_ptr(object).addr());
            let is_new = matches!(known, std::collections::hash_map::Entry::Vacant(_));
            let known = known.or_insert_with(|| Known { _object: object.clone(), meaning: None, turn });
            known.turn = turn;
            if !is_new && !again {
                continue;
            }
            let meaning = understand(object);
            if known.meaning.as_deref() == meaning.as_ref() {
                continue;
            }
            difference.gone.extend(known.meaning.take());
            known.meaning = meaning.map(Arc::new);
            difference.come.extend(known.meaning.clone());
        }
        self.known.retain(|_, known| {
            let stays = known.turn == turn;
            if !stays {
                difference.gone.extend(known.meaning.take());
            }
            stays
        });
        self.sort_in(&difference);
        difference
    }

    fn sort_in(&mut self, difference: &Difference<M>) {
        for gone in &difference.gone {
            let Some(others) = self.by_namespace.get_mut(gone.namespace()) else { continue };
            others.retain(|other| !Arc::ptr_eq(other, gone));
            if others.is_empty() {
                self.by_namespace.remove(gone.namespace());
            }
        }
        for come in &difference.come {
            match self.by_namespace.get_mut(come.namespace()) {
                Some(others) => others.push(come.clone()),
                None => {
                    self.by_namespace.insert(come.namespace().to_owned(), vec![come.clone()]);
                }
            }
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<M>> {
        self.by_namespace.values().flatten()
    }

    pub(crate) fn within(&self, namespace: &str) -> &[Arc<M>] {
        self.by_namespace.get(namespace).map(Vec::as_slice).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Word(String);

    impl Within for Word {
        fn namespace(&self) -> &str {
            self.0.split_once('/').unwrap().0
        }
    }

    #[test]
    fn only_what_is_different() {
        let object = |text: &str| Arc::new(text.to_owned());
        let (one, two, silent) = (object("x/one"), object("y/two"), object("-"));
        let mut understood: Understood<String, Word> = Understood::default();
        let mut told = |objects: &[&Arc<String>], suffix: &str, again: bool| {
            let objects: Vec<_> = objects.iter().map(|object| (*object).clone()).collect();
            let difference = understood.follow(&objects, again, |object| {
                object.contains('/').then(|| Word(format!("{object}{suffix}")))
            });
            let list =
                |words: &[Arc<Word>]| words.iter().map(|word| word.0.clone()).collect::<Vec<_>>().join(" ");
            let x = list(understood.within("x"));
            (list(&difference.gone), list(&difference.come), x, understood.all().count())
        };
        let is = |gone: &str, come: &str, x: &str, all| (gone.to_owned(), come.to_owned(), x.to_owned(), all);
        assert_eq!(told(&[&one, &two, &silent], "", false), is("", "x/one y/two", "x/one", 2));
        assert_eq!(
            told(&[&one, &two, &silent], "!", false),
            is("", "", "x/one", 2),
            "nothing was to be looked at again"
        );
        assert_eq!(told(&[&one, &two], "", true), is("", "", "x/one", 2), "it means the same");
        assert_eq!(told(&[&one, &two], "!", true), is("x/one y/two", "x/one! y/two!", "x/one!", 2));
        let anew = object("x/one");
        assert_eq!(
            told(&[&anew, &two], "", false),
            is("x/one!", "x/one", "x/one", 2),
            "another object of that name"
        );
        assert_eq!(told(&[&two], "", false), is("x/one", "", "", 1));
    }
}
