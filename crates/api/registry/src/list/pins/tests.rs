use kedge_store::Store;

use super::*;

#[tokio::test]
async fn what_nobody_comes_back_for_is_let_go() {
    let clock = Clock::manual(Timestamp::UNIX_EPOCH);
    let pins = Arc::new(Pins::default());
    Pins::sweep(&pins, clock.clone(), |pins| pins);
    pins.keep(Store::memory().snapshot(), clock.now(), true);
    for _ in 0..1000 {
        clock.advance(Duration::from_secs(30));
        tokio::task::yield_now().await;
        if pins.0.lock().is_empty() {
            return;
        }
    }
    panic!("still untrue: the snapshot is let go");
}

#[test]
fn the_last_page_of_the_last_list_lets_go() {
    let (pins, snapshot) = (Pins::default(), Store::memory().snapshot());
    let (now, revision) = (Timestamp::UNIX_EPOCH, snapshot.revision());
    let held = |pins: &Pins| pins.find(revision, now).is_some();
    for (case, begins) in [("one list", true), ("its second page", false), ("another list", true)] {
        pins.keep(snapshot.clone(), now, begins);
        assert!(held(&pins), "{case}");
    }
    pins.release(revision);
    assert!(held(&pins), "another list is not done");
    pins.release(revision);
    assert!(!held(&pins), "nobody comes back");
    pins.release(revision);
}

#[test]
fn a_list_that_is_read_on_is_kept_for_longer() {
    for (case, begins, after, held) in [
        ("a first page", [true].as_slice(), 20, true),
        ("a first page that nobody came back for", &[true], 40, false),
        ("a second page", &[true, false], 280, true),
        ("a second page that was the last one asked for", &[true, false], 400, false),
        ("another list of the same moment", &[true, false, true], 280, true),
    ] {
        let (pins, snapshot) = (Pins::default(), Store::memory().snapshot());
        for begins in begins {
            pins.keep(snapshot.clone(), Timestamp::UNIX_EPOCH, *begins);
        }
        let then = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(after);
        assert_eq!(pins.find(snapshot.revision(), then).is_some(), held, "{case}");
    }
}
