//! What readers made of an entry and want to find again: one thing of each type. Knows none of them.

use std::any::Any;
use std::sync::OnceLock;

/// A chain, as there are few and mostly none.
#[derive(Default)]
pub(super) struct Memos(OnceLock<Box<Memo<dyn Any + Send + Sync>>>);

struct Memo<T: ?Sized> {
    next: Memos,
    made: T,
}

impl Memos {
    pub(super) fn find<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let mut memo = self.0.get()?;
        loop {
            if let Some(made) = memo.made.downcast_ref() {
                return Some(made);
            }
            memo = memo.next.0.get()?;
        }
    }

    pub(super) fn keep<T: Send + Sync + 'static>(&self, made: T) {
        let mut new: Box<Memo<dyn Any + Send + Sync>> = Box::new(Memo { next: Memos::default(), made });
        let mut place = self;
        while let Err(back) = place.0.set(new) {
            new = back;
            match place.0.get() {
                Some(other) if !other.made.is::<T>() => place = &other.next,
                _ => return,
            }
        }
    }
}
