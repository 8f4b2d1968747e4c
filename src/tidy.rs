//! Gives memory back when a burst is over: the allocator returns what is free only while it is asked for more, which a server that has
//! become quiet doesn't do. After the first one, the start, the code that only it runs goes, too. Looks at nothing while nothing happens.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kedge_clock::Clock;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::pages;

const LOOK: Duration = Duration::from_secs(1);
/// Who works less than this between two looks has nothing to do, in microseconds. More than this in all was a burst.
const QUIET: u64 = 50_000;
/// Whoever has little to do every other second would only get back what it gave.
const SELDOM: Duration = Duration::from_secs(10);

/// How long the threads of the runtime have worked, in microseconds.
static WORKED: AtomicU64 = AtomicU64::new(0);
/// When they have worked so long, `BURST` is told.
static ENOUGH: AtomicU64 = AtomicU64::new(u64::MAX);
static BURST: Notify = Notify::const_new();

/// Looks on without end. Starting up is the first burst.
pub(crate) async fn after_bursts(clock: Clock) {
    let mut started = false;
    loop {
        quiet(&clock).await;
        let then = WORKED.load(Ordering::Relaxed);
        give_back();
        if !std::mem::replace(&mut started, true) {
            pages::release_code();
        }
        clock.sleep(SELDOM).await;
        worked_since(then).await;
    }
}

async fn quiet(clock: &Clock) {
    loop {
        let before = WORKED.load(Ordering::Relaxed);
        clock.sleep(LOOK).await;
        if WORKED.load(Ordering::Relaxed) - before <= QUIET {
            return;
        }
    }
}

/// Waits for a burst of work, counted from when so much had been worked.
async fn worked_since(then: u64) {
    let told = BURST.notified();
    ENOUGH.store(then + QUIET, Ordering::Relaxed);
    if WORKED.load(Ordering::Relaxed) <= then + QUIET {
        told.await;
    }
}

thread_local! {
    /// Since when this thread works.
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How often it gave back.
    static GAVE: Cell<u32> = const { Cell::new(0) };
}

/// To be called by every thread of the runtime when it has something to do.
pub(crate) fn when_woken() {
    SINCE.set(Some(Instant::now()));
}

/// To be called by every thread of the runtime when it has nothing to do: each has memory of its own, which no other can give back.
pub(crate) fn when_idle() {
    let asked = ASKED.load(Ordering::Relaxed);
    if GAVE.replace(asked) != asked {
        collect();
    }
    let Some(since) = SINCE.take() else { return };
    let took = u64::try_from(since.elapsed().as_micros()).unwrap_or(0);
    let worked = WORKED.fetch_add(took, Ordering::Relaxed) + took;
    let enough = ENOUGH.load(Ordering::Relaxed);
    if worked > enough && ENOUGH.swap(u64::MAX, Ordering::Relaxed) != u64::MAX {
        BURST.notify_one();
    }
}

/// How often everybody was asked to give back.
static ASKED: AtomicU32 = AtomicU32::new(0);

fn give_back() {
    ASKED.fetch_add(1, Ordering::Relaxed);
    collect();
    // Threads that sleep are woken to give back theirs: see `when_idle`.
    for _ in 0..Handle::current().metrics().num_workers() {
        tokio::spawn(tokio::task::yield_now());
    }
}

#[allow(unsafe_code, reason = "the allocator is written in C")]
fn collect() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: it takes no memory from anybody, only frees what is free already, and may be called by any thread at any time.
    unsafe { mi_collect(true) }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    async fn pass(clock: &Clock, seconds: usize) {
        for _ in 0..seconds {
            clock.advance(Duration::from_secs(1));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
    }

    fn work(micros: u64) {
        SINCE.set(Instant::now().checked_sub(Duration::from_micros(micros)));
        when_idle();
    }

    /// One story, because what it is about belongs to the whole process.
    #[tokio::test]
    async fn what_a_burst_used_is_given_back_once_it_is_over() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let gave = || ASKED.load(Ordering::Relaxed);
        let tidy = tokio::spawn(after_bursts(clock.clone()));
        pass(&clock, 3).await;
        assert_eq!(gave(), 1, "after the start");
        pass(&clock, 60).await;
        assert_eq!(gave(), 1, "nothing happened since");
        for _ in 0..30 {
            work(2 * QUIET);
            pass(&clock, 1).await;
        }
        assert_eq!(gave(), 1, "there is always something to do");
        pass(&clock, 5).await;
        assert_eq!(gave(), 2, "it is over");
        for _ in 0..4 {
            work(QUIET / 2);
            pass(&clock, 1).await;
        }
        assert_eq!(gave(), 2, "not so soon again");
        pass(&clock, 20).await;
        assert_eq!(gave(), 3, "many little things are much");
        tidy.abort();
        assert!(vec![1u8; 1 << 20].iter().all(|byte| *byte == 1), "what is in use stays");
    }
}
