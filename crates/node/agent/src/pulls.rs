//! Who may fetch an image now: a few at once, and each image by one at a time, so that many pods of one image fetch it once.
//! Knows no image and no pod.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// A lock for each image that somebody waits for.
type Locks = HashMap<String, Weak<tokio::sync::Mutex<()>>>;

pub(crate) struct Pulls {
    room: Arc<Semaphore>,
    images: Mutex<Locks>,
}

/// Held while an image is fetched.
pub(crate) struct Turn {
    /// Whether somebody else had the image's turn before.
    pub(crate) waited: bool,
    _image: OwnedMutexGuard<()>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Pulls {
    pub(crate) fn new(at_once: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(at_once.max(1))), images: Mutex::default() }
    }

    pub(crate) async fn turn(&self, image: &str) -> Turn {
        let lock = {
            let mut images = self.images.lock();
            images.retain(|_, lock| lock.strong_count() > 0);
            let held = images.get(image).and_then(Weak::upgrade);
            let lock = held.unwrap_or_default();
            images.insert(image.to_owned(), Arc::downgrade(&lock));
            lock
        };
        let (image, waited) = match lock.clone().try_lock_owned() {
            Ok(image) => (image, false),
            Err(_) => (lock.lock_owned().await, true),
        };
        // The semaphore is never closed.
        let room = self.room.clone().acquire_owned().await.ok();
        Turn { waited, _image: image, _room: room }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_few_at_once_and_each_by_one() {
        let pulls = Arc::new(Pulls::new(2));
        let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..12 {
            let (pulls, under_way, most) = (pulls.clone(), under_way.clone(), most.clone());
            tasks.spawn(async move {
                let _turn = pulls.turn(&format!("image{}", number % 4)).await;
                most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                under_way.fetch_sub(1, Ordering::SeqCst);
            });
        }
        tasks.join_all().await;
        assert_eq!(most.load(Ordering::SeqCst), 2);
        let alone = pulls.turn("a").await;
        let second = pulls.turn("a");
        tokio::pin!(second);
        assert!(futures::poll!(&mut second).is_pending());
        drop(alone);
        assert!(second.await.waited);
        let _other = pulls.turn("b").await;
        assert_eq!(pulls.images.lock().len(), 1, "what nobody waits for is forgotten");
    }
}
