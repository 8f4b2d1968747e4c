//! A list that nearly always has one: it is held in place, and needs nothing beside it. There are hundreds of thousands of them.

use std::ops::Deref;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Few<T>(Held<T>);

/// One is never held as many, so that equal lists are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held<T> {
    One([T; 1]),
    Many(Box<[T]>),
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(list: Vec<T>) -> Self {
        Self(<[T; 1]>::try_from(list).map_or_else(|list| Held::Many(exactly(list)), Held::One))
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Held::Many(Box::default()))
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Held::One(one) => one,
            Held::Many(many) => many,
        }
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// In a place of just the right size. Lists grow by doubling, and an allocator that is asked to shrink one may leave it where it is
/// unless more than half of it would be free.
pub(crate) fn exactly<T>(list: Vec<T>) -> Box<[T]> {
    let mut exact = Vec::with_capacity(list.len());
    exact.extend(list);
    exact.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_what_was_put_into_it() {
        for list in [vec![], vec![1], vec![1, 2], vec![3; 100]] {
            assert_eq!(*Few::from(list.clone()), *list);
        }
        assert_eq!(Few::from(Vec::<u8>::new()), Few::default());
        assert_eq!(size_of::<Few<std::net::IpAddr>>(), 24);
    }
}
