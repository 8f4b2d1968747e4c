//! Gives memory back when a burst is over. The allocator returns what is free only while it is asked for more, and the kernel holds on to
//! code that ran once: on a server that has become quiet neither happens by itself.

use std::cell::Cell;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kedge_clock::Clock;
use tokio::runtime::Handle;

use crate::pages;

const LOOK: Duration = Duration::from_secs(1);
/// Who works less than this between two looks has nothing to do; in hundredths of a second, as the kernel counts.
const QUIET: u64 = 5;

/// Whoever has little to do every other second would only get back what it gave.
const SELDOM: u32 = 10;

/// Looks on without end. Starting up is the first burst.
pub(crate) async fn after_bursts(clock: Clock) {
    let (mut before, mut looked) = (used(), Looked { burst: true, since: SELDOM });
    loop {
        clock.sleep(LOOK).await;
        let now = used();
        if looked.again(now.saturating_sub(before)) {
            give_back();
        }
        before = now;
    }
}

/// What was seen so far.
struct Looked {
    /// There was one that nothing was given back after.
    burst: bool,
    /// How many looks ago something was.
    since: u32,
}

impl Looked {
    /// Whether it is time to give back, if so much work was done since the last look.
    fn again(&mut self, work: u64) -> bool {
        self.burst |= work > QUIET;
        self.since = self.since.saturating_add(1);
        let over = self.burst && work <= QUIET && self.since >= SELDOM;
        if over {
            *self = Self { burst: false, since: 0 };
        }
        over
    }
}

/// How long processors have worked for us. Where it cannot be read, nothing ever happens.
fn used() -> u64 {
    fs::read_to_string("/proc/self/stat").ok().and_then(|stat| ticks(&stat)).unwrap_or_default()
}

/// In user and in kernel mode. The program's name stands before in brackets and may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// How often everybody was asked to give back.
static ASKED: AtomicU32 = AtomicU32::new(0);

fn give_back() {
    ASKED.fetch_add(1, Ordering::Relaxed);
    collect();
    pages::release_code();
    // Threads that sleep are woken to give back theirs: see `when_idle`.
    for _ in 0..Handle::current().metrics().num_workers() {
        tokio::spawn(tokio::task::yield_now());
    }
}

/// To be called by every thread of the runtime when it has nothing to do: each has memory of its own, which no other can give back.
pub(crate) fn when_idle() {
    thread_local!(static GAVE: Cell<u32> = const { Cell::new(0) });
    let asked = ASKED.load(Ordering::Relaxed);
    if GAVE.replace(asked) != asked {
        collect();
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
    use super::*;

    #[test]
    fn work_is_read_as_the_kernel_writes_it() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 31 11 0 0 20 0 9 0 100 1000 10";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks("7 (x) S 1"), None);
        assert!(ticks(&fs::read_to_string("/proc/self/stat").unwrap()).is_some());
    }

    #[test]
    fn it_is_time_when_a_burst_is_over_and_not_too_often() {
        let mut looked = Looked { burst: true, since: SELDOM };
        let mut when = |work: &[u64]| -> Vec<usize> {
            work.iter().enumerate().filter(|(_, work)| looked.again(**work)).map(|(at, _)| at).collect()
        };
        assert_eq!(when(&[90, 40, 1, 0, 0]), [2], "after the start, once");
        assert!(when(&[0; 20]).is_empty(), "nothing happened since");
        assert_eq!(when(&[100, 100, 0, 0]), [2]);
        assert_eq!(when(&[50, 0, 50, 0, 50, 0, 0, 0, 0]), [8], "not before it is long ago");
    }

    #[test]
    fn each_thread_gives_back_once() {
        when_idle();
        ASKED.fetch_add(1, Ordering::Relaxed);
        when_idle();
        when_idle();
        assert!(vec![1u8; 1 << 20].iter().all(|byte| *byte == 1), "what is in use stays");
    }
}
