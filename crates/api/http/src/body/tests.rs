use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use http_body::Body as _;

use super::*;
use crate::turn::InHand;

/// How often somebody was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// How a long answer leaves: the number of pieces made so far for each that leaves, a dash for each pause.
fn left(count: usize) -> String {
    left_as(count, |body| body)
}

fn left_as(count: usize, change: fn(Body) -> Body) -> String {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let chunks = (0..count).map(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        piece()
    });
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let mut body = change(Body::chunks(chunks));
    let mut sent = Vec::new();
    loop {
        sent.push(match Pin::new(&mut body).poll_frame(&mut context) {
            Poll::Ready(Some(_)) => made.load(Ordering::SeqCst).to_string(),
            Poll::Ready(None) => break,
            Poll::Pending => "-".to_owned(),
        });
    }
    let pauses = sent.iter().filter(|sent| *sent == "-").count();
    assert_eq!(woken.0.load(Ordering::SeqCst), pauses, "whoever is told to wait is told to come back");
    sent.join(" ")
}

fn piece() -> Bytes {
    Bytes::from(vec![b'x'; LARGE / 2])
}

#[test]
fn others_have_their_turn_while_a_long_answer_leaves() {
    for (others, expected) in [
        // The first piece leaves before more are made.
        (0, "1 - 2 3 4 5 6 7 8 9 - 10"),
        (3, "1 - 2 3 - 4 5 - 6 7 - 8 9 - 10"),
        (50, "1 - 2 - 3 - 4 - 5 - 6 - 7 - 8 - 9 - 10 -"),
    ] {
        let _others: Vec<Body> =
            std::iter::repeat_with(|| Body::chunks(std::iter::repeat_with(piece).take(2)))
                .take(others)
                .collect();
        assert_eq!(left(10), expected, "{others} others");
    }
}

#[test]
fn others_have_their_turn_while_a_long_answer_is_compressed() {
    // After the first and after every other one that goes in; all of them come to a single piece.
    assert_eq!(left_as(10, |body| body.compressed().0), "- - - - - 10");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_alone_pauses_seldom_if_another_thread_is_there() {
    let plain = |count: usize| (1..=count).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(left(10), plain(10), "nobody else");
    assert_eq!(left(70), format!("{} - 65 66 67 68 69 70", plain(64)), "nobody is known to wait");
    let request = InHand::new();
    assert_eq!(left(10), "1 - 2 3 4 5 6 7 8 9 - 10", "a request has no answer yet");
    drop(request);
    let _other = Body::chunks(std::iter::repeat_with(piece).take(2));
    assert_eq!(left(6), "1 - 2 3 4 5 - 6", "another long answer");
}

#[test]
fn all_of_a_long_answer_can_be_had_at_once() {
    for count in [1, 3, 10] {
        let chunks = (0..count).map(|_| Bytes::from(vec![b'x'; LARGE / 2]));
        assert_eq!(Body::chunks(chunks).gathered().len(), count * (LARGE / 2));
    }
}

#[test]
fn what_is_short_is_not_compressed() {
    for (count, expected) in [(0, false), (1, false), (2, false), (3, true), (10, true)] {
        let chunks = (0..count).map(|_| Bytes::from(vec![b'x'; LARGE / 2]));
        let (body, is_compressed) = Body::chunks(chunks).compressed();
        assert_eq!(is_compressed, expected, "{count} chunks");
        if !expected {
            assert_eq!(body.gathered().len(), count * (LARGE / 2));
        }
    }
}
