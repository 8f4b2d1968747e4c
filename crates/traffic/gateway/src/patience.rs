//! How long somebody is waited for.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that goes with a connection from request to request: to put off one that runs costs next to nothing, to make one does not.
#[derive(Default)]
pub(crate) struct Patience(Option<Pin<Box<Sleep>>>);

impl Patience {
    /// What comes of the work; nothing, if it has not come by then.
    pub(crate) async fn until<T>(&mut self, end: Instant, work: impl Future<Output = T>) -> Option<T> {
        let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(end)));
        timer.as_mut().reset(end);
        let mut work = pin!(work);
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => timer.as_mut().poll(context).map(|()| None),
        })
        .await
    }
}
