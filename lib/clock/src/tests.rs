use super::*;

#[tokio::test]
async fn a_sleeper_wakes_when_the_hands_pass_its_moment_and_not_before() {
    let clock = Clock::manual(Timestamp::UNIX_EPOCH);
    let sleeper = tokio::spawn({
        let clock = clock.clone();
        async move { clock.until(Timestamp::from_second(10).unwrap()).await }
    });
    clock.advance(Duration::from_secs(9));
    tokio::task::yield_now().await;
    assert!(!sleeper.is_finished(), "woke at second 9");
    clock.advance(Duration::from_secs(1));
    sleeper.await.unwrap();
    assert_eq!(clock.now(), Timestamp::from_second(10).unwrap());
}

#[test]
fn throws_of_a_manual_clock_come_again_and_differ() {
    let throws = || -> Vec<u128> {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        (0..1000).map(|_| clock.chance()).collect()
    };
    assert_eq!(throws(), throws());
    let different: std::collections::HashSet<u128> = throws().into_iter().collect();
    assert_eq!(different.len(), 1000);
}

#[tokio::test]
async fn a_steady_clock_shows_what_its_own_clock_shows_and_counts_on() {
    let (system, manual) = (Clock::system(), Clock::manual(Timestamp::UNIX_EPOCH));
    let steady = system.steady();
    let before = steady.now();
    steady.sleep(Duration::from_millis(20)).await;
    assert!(steady.now().duration_since(before) >= SignedDuration::from_millis(19), "it counts");
    assert!(system.ahead_of(&steady).abs() < SignedDuration::from_secs(60), "nobody set the clock meanwhile");
    let steady = manual.steady();
    manual.advance(Duration::from_secs(5));
    assert_eq!(steady.now(), manual.now(), "hands that are turned are shared");
    assert_eq!(manual.ahead_of(&steady), SignedDuration::ZERO);
}
