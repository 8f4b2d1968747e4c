use kedge_client::Key;

use super::*;

fn note(message: &str) -> Note {
    let resource =
        Resource { group: String::new(), version: "v1".into(), kind: "Pod".into(), plural: "pods".into() };
    let about = Target { resource, key: Key::new("n", "a"), uid: "u".into(), revision: "1".into() };
    Note { about, part: String::new(), severity: Severity::Normal, reason: "Tried", message: message.into() }
}

fn minute(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

#[test]
fn repeats_are_counted_for_a_while() {
    let mut memory = Memory::default();
    let Fate::New(name) = memory.fate(&note("x"), minute(0)) else { panic!("the first is new") };
    assert_eq!(memory.fate(&note("x"), minute(9)), Fate::Again { name: name.clone(), count: 2 });
    assert!(matches!(memory.fate(&note("y"), minute(9)), Fate::New(other) if other != name));
    assert!(matches!(memory.fate(&note("x"), minute(30)), Fate::New(other) if other != name));
}

#[test]
fn nobody_hears_more_than_enough_about_one_object() {
    let mut memory = Memory::default();
    let mut told = |count: usize, now: Timestamp| {
        (0..count).filter(|n| memory.fate(&note(&format!("{now} {n}")), now) != Fate::TooMuch).count()
    };
    assert_eq!(told(100, minute(0)), 25);
    assert_eq!(told(10, minute(4)), 0);
    assert_eq!(told(10, minute(12)), 2);
    assert_eq!(told(100, minute(1000)), 25);
}
