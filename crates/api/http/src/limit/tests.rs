use super::*;

async fn enter(limits: &Limits, writes: bool, user: &str) -> Result<(), u16> {
    let share = limits.share(writes, user).await.map_err(|status| status.code)?;
    share.enter().await.map(drop).map_err(|status| status.code)
}

#[tokio::test]
async fn a_few_wait_and_the_rest_are_sent_away() {
    let limits = Arc::new(Limits::new(1, 1));
    let share = limits.share(true, "ann").await.unwrap();
    let first = share.enter().await.unwrap();
    assert_eq!(enter(&limits, false, "ann").await, Ok(()), "reads do not wait for writes");

    let waiters: Vec<_> = (0..QUEUE)
        .map(|number| {
            let limits = limits.clone();
            tokio::spawn(async move { enter(&limits, true, &format!("user {number}")).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(enter(&limits, true, "bob").await, Err(429), "the queue is full");
    drop((first, share));
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), Ok(()), "whoever waited gets in");
    }
}

#[tokio::test]
async fn one_user_leaves_room_for_others() {
    let limits = Arc::new(Limits::new(8, 8));
    let held = [limits.share(true, "bob").await.unwrap(), limits.share(true, "bob").await.unwrap()];
    let more: Vec<_> = (0..2 * QUEUE)
        .map(|_| {
            let limits = limits.clone();
            tokio::spawn(async move { enter(&limits, true, "bob").await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(enter(&limits, true, "bob").await, Err(429));
    assert_eq!(enter(&limits, true, "ann").await, Ok(()));
    drop(held);
    for one in more {
        assert_eq!(one.await.unwrap(), Ok(()));
    }
    assert!(limits.writes.users.lock().is_empty(), "nobody is remembered");
}
