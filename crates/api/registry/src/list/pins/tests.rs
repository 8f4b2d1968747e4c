use kedge_store::Store;

use super::*;

#[tokio::test]
async fn what_nobody_comes_back_for_is_let_go() {
    let clock = Clock::manual(Timestamp::UNIX_EPOCH);
    let pins = Arc::new(Pins::default());
    Pins::sweep(&pins, clock.clone(), |pins| pins);
    pins.keep(Store::memory().snapshot(), clock.now());
    for _ in 0..1000 {
        clock.advance(Duration::from_secs(30));
        tokio::task::yield_now().await;
        if pins.0.lock().is_empty() {
            return;
        }
    }
    panic!("still untrue: the snapshot is let go");
}
