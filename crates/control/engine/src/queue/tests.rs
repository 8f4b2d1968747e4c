use super::*;

fn key(name: &str) -> Key {
    Key::new("n", name)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn drain(queue: &mut Queue, now: Timestamp) -> String {
    let mut names = Vec::new();
    while let Some(key) = queue.take(now) {
        names.push(key.name);
    }
    names.join(" ")
}

#[test]
fn each_is_due_once_in_the_order_of_coming() {
    let mut queue = Queue::default();
    for name in ["a", "b", "a", "c", "b"] {
        queue.add(key(name));
    }
    assert_eq!(drain(&mut queue, at(0)), "a b c");
}

#[test]
fn one_that_is_looked_at_waits_for_its_turn_to_end() {
    let mut queue = Queue::default();
    queue.add(key("a"));
    assert_eq!(queue.take(at(0)), Some(key("a")));
    queue.add(key("a"));
    assert_eq!(queue.take(at(0)), None, "never two turns for one object");
    queue.done(&key("a"));
    assert_eq!(queue.take(at(0)), Some(key("a")), "what woke it meanwhile is not lost");
    queue.done(&key("a"));
    assert!(queue.is_quiet());
}

#[test]
fn the_earliest_moment_counts() {
    let mut queue = Queue::default();
    queue.add_at(key("a"), at(10));
    queue.add_at(key("a"), at(5));
    queue.add_at(key("a"), at(20));
    queue.add_at(key("b"), at(7));
    assert_eq!(queue.next_moment(), Some(at(5)));
    assert_eq!(drain(&mut queue, at(4)), "");
    assert_eq!(drain(&mut queue, at(7)), "a b");
    assert_eq!(queue.next_moment(), None);
}

#[test]
fn failures_wait_longer_each_time_and_success_forgets_them() {
    let mut queue = Queue::default();
    queue.add(key("a"));
    let mut waits = Vec::new();
    for _ in 0..18 {
        let now = queue.next_moment().unwrap_or(at(0));
        assert_eq!(queue.take(now), Some(key("a")));
        // Being woken does not shorten the wait of something that fails.
        queue.add(key("a"));
        queue.failed(&key("a"), now);
        assert_eq!(queue.take(now), None);
        waits.push(queue.next_moment().unwrap().duration_since(now).as_millis());
    }
    assert_eq!(waits[..4], [5, 10, 20, 40]);
    assert_eq!(*waits.last().unwrap(), 300_000);
    let now = queue.next_moment().unwrap();
    queue.take(now);
    queue.done(&key("a"));
    queue.add(key("a"));
    queue.take(now);
    queue.failed(&key("a"), now);
    assert_eq!(queue.next_moment().unwrap().duration_since(now).as_millis(), 5);
}

#[test]
fn whoever_waits_for_a_moment_is_due_when_the_clock_was_set() {
    let mut queue = Queue::default();
    queue.add_at(key("late"), at(3600));
    queue.add(key("busy"));
    assert_eq!(queue.take(at(0)), Some(key("busy")));
    queue.failed(&key("busy"), at(0));
    queue.hasten();
    assert_eq!(queue.next_moment(), None);
    assert_eq!(drain(&mut queue, at(0)), "busy late");
}
