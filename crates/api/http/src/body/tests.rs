use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use http_body::Body as _;

use super::*;

/// How often somebody was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn others_have_their_turn_while_a_long_answer_leaves() {
    for (others, expected) in [
        // The first piece leaves before more are made.
        (0, "1 - 2 3 4 5 6 7 8 9 - 10"),
        (3, "1 - 2 3 - 4 5 - 6 7 - 8 9 - 10"),
        (50, "1 - 2 - 3 - 4 - 5 - 6 - 7 - 8 - 9 - 10 -"),
    ] {
        let piece = || Bytes::from(vec![b'x'; LARGE / 2]);
        let _others: Vec<Body> =
            std::iter::repeat_with(|| Body::chunks(std::iter::repeat_with(piece).take(2)))
                .take(others)
                .collect();
        let made = Arc::new(AtomicUsize::new(0));
        let counted = made.clone();
        let chunks = (0..10).map(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            piece()
        });
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut body = Body::chunks(chunks);
        let mut sent = Vec::new();
        loop {
            sent.push(match Pin::new(&mut body).poll_frame(&mut context) {
                Poll::Ready(Some(_)) => made.load(Ordering::SeqCst).to_string(),
                Poll::Ready(None) => break,
                Poll::Pending => "-".to_owned(),
            });
        }
        assert_eq!(sent.join(" "), expected, "{others} others");
        let pauses = expected.matches('-').count();
        assert_eq!(woken.0.load(Ordering::SeqCst), pauses, "whoever is told to wait is told to come back");
    }
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
