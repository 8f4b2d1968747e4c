//! Time and chance, handed in: the machine's in production, a clock turned by hand and a known series of throws in tests.
//! Knows nothing of Kubernetes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// Tells the time and waits for it. Cheap to clone; clones of a manual clock share its hands.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Steady { began: Timestamp, at: Instant },
    Manual(Arc<Hands>),
}

#[derive(Debug)]
struct Hands {
    micros: AtomicI64,
    moved: watch::Sender<()>,
    throws: AtomicU64,
}

impl Clock {
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands at `start` until someone advances it.
    pub fn manual(start: Timestamp) -> Self {
        let (moved, _) = watch::channel(());
        let micros = AtomicI64::new(start.as_microsecond());
        Self(Source::Manual(Arc::new(Hands { micros, moved, throws: AtomicU64::new(0) })))
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Steady { began, at } => later(*began, at.elapsed()),
            Source::Manual(hands) => {
                Timestamp::from_microsecond(hands.micros.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// Shows the same as this one does now and from then on only counts, while the machine's clock may be set: forward by an hour, or back.
    /// For waits and deadlines. What is written down has the time of the clock that people see.
    #[must_use]
    pub fn steady(&self) -> Self {
        match &self.0 {
            Source::System => Self(Source::Steady { began: Timestamp::now(), at: Instant::now() }),
            Source::Steady { .. } | Source::Manual(_) => self.clone(),
        }
    }

    /// By how much this clock is ahead of another.
    pub fn ahead_of(&self, other: &Self) -> SignedDuration {
        self.now().duration_since(other.now())
    }

    /// Something that nobody can foresee. A manual clock gives the same series every time it is made, no two alike.
    pub fn chance(&self) -> u128 {
        match &self.0 {
            Source::System | Source::Steady { .. } => rand::random(),
            Source::Manual(hands) => {
                let throw = hands.throws.fetch_add(1, Ordering::SeqCst);
                u128::from(scattered(2 * throw)) << 64 | u128::from(scattered(2 * throw + 1))
            }
        }
    }

    /// Turns a manual clock's hands and wakes everyone who waited for that moment. The system's clock is not ours to turn.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(hands) = &self.0 {
            let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
            hands.micros.fetch_add(micros, Ordering::SeqCst);
            hands.moved.send_replace(());
        }
    }

    /// Waits until the clock shows `then`.
    pub async fn until(&self, then: Timestamp) {
        match &self.0 {
            Source::System | Source::Steady { .. } => {
                let wait = then.duration_since(self.now());
                if let Ok(wait) = Duration::try_from(wait) {
                    tokio::time::sleep(wait).await;
                }
            }
            Source::Manual(hands) => {
                let mut moved = hands.moved.subscribe();
                // The sender lives in `hands`, which we hold, so waiting can't fail.
                while self.now() < then && moved.changed().await.is_ok() {}
            }
        }
    }

    pub async fn sleep(&self, wait: Duration) {
        self.until(later(self.now(), wait)).await;
    }
}

fn later(moment: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    moment.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// Close numbers end far apart, and different ones never meet: the last step of SplitMix64.
fn scattered(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests;
