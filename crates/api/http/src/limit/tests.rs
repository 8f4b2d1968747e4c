use super::*;

#[tokio::test]
async fn a_few_wait_and_the_rest_are_sent_away() {
    let limits = Arc::new(Limits::new(1, 1));
    let first = limits.enter(true).await.unwrap();
    assert!(limits.enter(false).await.is_ok(), "reads do not wait for writes");

    let waiters: Vec<_> = (0..QUEUE)
        .map(|_| {
            let limits = limits.clone();
            tokio::spawn(async move { limits.enter(true).await.map(drop).map_err(|status| status.code) })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(
        limits.enter(true).await.map(drop).map_err(|status| status.code),
        Err(429),
        "the queue is full"
    );
    drop(first);
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), Ok(()), "whoever waited gets in");
    }
}
