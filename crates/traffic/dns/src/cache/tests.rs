use super::*;
use crate::testing::{missing, packet};
use crate::wire::{Query, Record, Reply, encode, kind};

fn question(name: &str) -> Question {
    Question {
        name: Name::parse(name).unwrap(),
        kind: kind::A,
        class: 1,
        signatures: false,
        unchecked: false,
    }
}

fn answer(name: &str, reply: &Reply) -> Arc<Foreign> {
    let query = Query::read(&packet(1, name, kind::A, None)).unwrap();
    Arc::new(Foreign::new(encode(&query, reply, 512)).unwrap())
}

fn address(name: &str, ttl: u32) -> Arc<Foreign> {
    let record = Record::address(&Name::parse(name).unwrap(), ttl, [192, 0, 2, 1].into());
    answer(name, &Reply { answers: vec![record], ..Reply::default() })
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn for_as_long_as_it_was_said() {
    for (case, held, life) in [
        ("an address", Ok(address("a.org", 30)), 30),
        ("one for a day", Ok(address("a.org", 86_400)), 3600),
        ("one for no time", Ok(address("a.org", 0)), 0),
        ("no such name", Ok(answer("a.org", &missing(60))), 60),
        ("none for a day", Ok(answer("a.org", &missing(86_400))), 300),
        ("nobody answers", Err(Failed), 1),
    ] {
        let cache = Cache::new(1 << 20);
        cache.put(question("a.org"), held, at(1000));
        for (second, there) in [(1000, life > 0), (1000 + life - 1, life > 0), (1000 + life, false)] {
            let found = cache.get(&question("a.org"), at(second));
            assert_eq!(found.is_some(), there, "{case} at {second}");
            if let Some(Ok((_, age))) = found {
                assert_eq!(i64::from(age), second - 1000, "{case}");
            }
        }
    }
}

#[test]
fn no_more_than_there_is_room_for_and_what_is_asked_for_stays() {
    let cache = Cache::new(100_000);
    cache.put(question("often.org"), Ok(address("often.org", 3600)), at(0));
    for number in 0..10_000 {
        let name = format!("n{number}.org");
        cache.put(question(&name), Ok(address(&name, 3600)), at(0));
        assert!(cache.get(&question("often.org"), at(1)).is_some(), "after {number}");
    }
    assert!(cache.len() < 1000, "{} are held", cache.len());
    assert!(cache.get(&question("n0.org"), at(1)).is_none());
}

#[test]
fn other_questions_have_other_answers() {
    let cache = Cache::new(1 << 20);
    cache.put(question("a.org"), Ok(address("a.org", 30)), at(0));
    let plain = question("a.org");
    for (case, other) in [
        ("signatures", Question { signatures: true, ..plain.clone() }),
        ("unchecked", Question { unchecked: true, ..plain.clone() }),
        ("kind", Question { kind: kind::AAAA, ..plain.clone() }),
        ("name", question("b.org")),
    ] {
        assert!(cache.get(&other, at(0)).is_none(), "{case}");
    }
    assert!(cache.get(&plain, at(0)).is_some());
}
