use super::*;

async fn enter(limits: &Limits, user: &str) -> Result<(), u16> {
    limits.share(user).await.map(drop).map_err(|status| status.code)
}

#[tokio::test]
async fn one_user_leaves_room_for_others() {
    let limits = Arc::new(Limits::new(8));
    let held = [limits.share("bob").await.unwrap(), limits.share("bob").await.unwrap()];
    let more: Vec<_> = (0..2 * QUEUE)
        .map(|_| {
            let limits = limits.clone();
            tokio::spawn(async move { enter(&limits, "bob").await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(enter(&limits, "bob").await, Err(429), "a few wait and the rest are sent away");
    assert_eq!(enter(&limits, "ann").await, Ok(()));
    drop(held);
    for one in more {
        assert_eq!(one.await.unwrap(), Ok(()), "whoever waited gets in");
    }
    assert!(limits.users.lock().is_empty(), "nobody is remembered");
}
