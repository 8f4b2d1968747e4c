use std::net::Ipv4Addr;

use super::*;
use crate::testing::{packet, shown};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

#[test]
fn names_and_their_ends() {
    let long = "a".repeat(63);
    for (text, fine) in [
        ("web.default", true),
        ("web.default.", true),
        ("", true),
        (".", true),
        ("a..b", false),
        (&format!("{long}.x"), true),
        (&format!("{long}a.x"), false),
        (&[&*long; 3].join("."), true),
        (&[&*long; 4].join("."), false),
    ] {
        assert_eq!(Name::parse(text).is_some(), fine, "{text:?}");
    }
    for (whole, end, before) in [
        ("web.default.svc", "svc", Some("web.default")),
        ("WEB.svc", "Svc", Some("web")),
        ("websvc", "svc", None),
        ("svc", "svc", Some("")),
        ("a.b", "", Some("a.b")),
        ("c", "b.c", None),
    ] {
        let expected = before.map(|before| name(before).octets().to_vec());
        assert_eq!(name(whole).before(&name(end)).map(<[u8]>::to_vec), expected, "{whole} before {end}");
    }
    assert_eq!(name("web").below(b"\x01a").unwrap().to_string(), "a.web.");
    assert_eq!(Name::root().below(b"\x01a").unwrap().to_string(), "a.");
    assert!(name(&[&*long; 3].join(".")).below(name(&long).octets()).is_none());
}

#[test]
fn what_is_no_question() {
    let good = packet(7, "web.default", kind::A, Some(4096));
    let changed = |at: usize, octet: u8| {
        let mut packet = good.clone();
        packet[at] = octet;
        packet
    };
    let malformed = Some(Bad::Malformed { id: 7, flags: 0x0100 });
    let twice = {
        let mut packet = changed(11, 2);
        packet.extend_from_slice(&good[good.len() - 11..]);
        packet
    };
    for (case, packet, bad) in [
        ("a good one", good.clone(), None),
        ("nothing", vec![], Some(Bad::NoQuery)),
        ("half a header", good[..11].to_vec(), Some(Bad::NoQuery)),
        ("an answer", changed(2, 0x81), Some(Bad::NoQuery)),
        ("a notification", changed(2, 0x20), Some(Bad::OtherWork { id: 7, flags: 0x2000 })),
        ("no question", changed(5, 0), malformed),
        ("two questions", changed(5, 2), malformed),
        ("half a question", good[..20].to_vec(), malformed),
        ("half an extension", good[..good.len() - 1].to_vec(), malformed),
        ("two extensions", twice, malformed),
        ("a record that is not there", changed(7, 1), malformed),
        (
            "a name that points to itself",
            {
                let mut packet = good.clone();
                packet[12..14].copy_from_slice(&[0xc0, 12]);
                packet
            },
            malformed,
        ),
        ("a label of an unknown sort", changed(12, 0x43), malformed),
    ] {
        assert_eq!(Query::read(&packet).err(), bad, "{case}");
    }
    assert_eq!(bare(Bad::NoQuery), None);
    assert_eq!(
        bare(Bad::Malformed { id: 7, flags: 0x0100 }).unwrap(),
        [0, 7, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn the_question_comes_back_as_it_was_asked() {
    let query = Query::read(&packet(9, "WeB.default", kind::A, None)).unwrap();
    let reply = Reply {
        answers: vec![Record::address(&name("web.default"), 5, Ipv4Addr::new(10, 0, 0, 1).into())],
        ..Reply::default()
    };
    let answer = encode(&query, &reply, 512);
    assert_eq!(&answer[..2], [0, 9]);
    assert_eq!(&answer[13..16], b"WeB");
    assert_eq!(shown(&answer), "0 A 10.0.0.1");
    // The owner is two octets: the question's name is not repeated.
    assert_eq!(answer.len(), 12 + 13 + 4 + 16);
    assert_eq!(answer[29..31], [0xc0, 12]);
}

#[test]
fn as_much_as_there_is_room_for() {
    let owner = name("many.default");
    let record = |last| Record::address(&owner, 5, Ipv4Addr::new(10, 0, 0, last).into());
    let many = Reply { answers: (0..100).map(record).collect(), ..Reply::default() };
    let few =
        Reply { answers: vec![record(1)], additional: (0..100).map(record).collect(), ..Reply::default() };
    for (case, reply, size, room, cut) in [
        ("says nothing of sizes", &many, None, 512, true),
        ("takes much, but not in one piece", &many, Some(4096), 1232, true),
        ("takes less than everybody must", &many, Some(10), 512, true),
        ("only what was not asked for is missing", &few, None, 512, false),
    ] {
        let query = Query::read(&packet(1, "many.default", kind::A, size)).unwrap();
        assert_eq!(query.room(), room, "{case}");
        let answer = encode(&query, reply, query.room());
        assert!(answer.len() <= room && answer.len() > room - 30, "{case}: {}", answer.len());
        let found = skim(&answer).unwrap();
        assert_eq!(found.is_truncated(), cut, "{case}");
        let extended = found.places.iter().filter(|place| place.kind == kind::OPT).count();
        assert_eq!(extended, usize::from(size.is_some()), "{case}");
        let kept = Foreign::new(encode(&query, reply, 60_000)).unwrap().encode(&query, 0, room);
        assert!(kept.len() <= room && kept.len() > room - 30, "{case}: {}", kept.len());
        assert_eq!(skim(&kept).unwrap().is_truncated(), cut, "{case}");
    }
}

#[test]
fn what_others_say_grows_older() {
    let query = Query::read(&packet(1, "example.org", kind::A, None)).unwrap();
    let (owner, to) = (name("example.org"), name("www.example.org"));
    let answers = vec![
        Record::new(&owner, 60, Data::Cname(to.clone())),
        Record::address(&to, 30, Ipv4Addr::LOCALHOST.into()),
    ];
    let foreign = Foreign::new(encode(&query, &Reply { answers, ..Reply::default() }, 512)).unwrap();
    assert_eq!(foreign.lifetime(), Some(30));
    let again = Query::read(&packet(2, "EXAMPLE.org", kind::A, Some(1232))).unwrap();
    let answer = foreign.encode(&again, 20, 1232);
    let found = skim(&answer).unwrap();
    assert_eq!((found.id, &answer[13..20]), (2, &b"EXAMPLE"[..]));
    assert_eq!(found.places.iter().map(|place| place.ttl).take(2).collect::<Vec<_>>(), [40, 10]);
    assert_eq!(shown(&answer), "0 CNAME www.example.org. A 127.0.0.1");
    let records = foreign.records(Section::Answer, 70);
    assert_eq!(records[0].data, Data::Cname(to));
    assert_eq!(records[1].ttl, 0, "never less than nothing");
}

#[test]
fn how_long_something_is_not_there() {
    let query = Query::read(&packet(1, "example.org", kind::A, None)).unwrap();
    for (case, reply, lifetime) in [
        ("no such name", crate::testing::missing(42), Some(42)),
        ("nothing of the kind", Reply { code: Code::Fine, ..crate::testing::missing(42) }, Some(42)),
        ("without a word of how long", Reply::of(Code::NoSuchName), None),
        ("a failure", Reply { code: Code::Failed, ..crate::testing::missing(42) }, None),
    ] {
        let foreign = Foreign::new(encode(&query, &reply, 512)).unwrap();
        assert_eq!(foreign.lifetime(), lifetime, "{case}");
    }
}

#[test]
fn names_that_go_in_circles_or_nowhere() {
    let header = [0, 1, 0x80, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    for (case, body) in [
        ("to itself", vec![0xc0, 12, 0, 1, 0, 1]),
        ("forwards", vec![0xc0, 40, 0, 1, 0, 1]),
        ("out of the message", vec![1, b'a', 0xff, 0xff]),
        ("too long a record", vec![1, b'a', 0, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 1]),
    ] {
        assert_eq!(skim(&[&header[..], &body].concat()), None, "{case}");
    }
}

/// Every one of them in a hundred ways a little wrong: nothing panics, and what is made of it is sound.
#[test]
fn what_is_a_little_wrong() {
    let query = Query::read(&packet(1, "www.example.org", kind::A, None)).unwrap();
    let owner = name("www.example.org");
    let answers = vec![
        Record::new(&owner, 60, Data::Cname(name("a.example.org"))),
        Record::address(&name("a.example.org"), 60, Ipv4Addr::LOCALHOST.into()),
    ];
    let reply = Reply { answers, ..crate::testing::missing(5) };
    let seeds = [packet(1, "web.default.svc", kind::SRV, Some(1232)), encode(&query, &reply, 512)];
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    let mut throw = |below: usize| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        (chance % below as u64) as usize
    };
    let mut sound = 0;
    for round in 0..40_000 {
        let mut message = seeds[round % 2].clone();
        for _ in 0..=throw(3) {
            let at = throw(message.len());
            match throw(4) {
                0 => message[at] = throw(256) as u8,
                1 => message[at] ^= 1 << throw(8),
                2 => message.truncate(at.max(1)),
                _ => message.insert(at, [0, 0xc0, 12, 0xff][throw(4)]),
            }
        }
        if let Ok(query) = Query::read(&message) {
            let answer = encode(&query, &reply, query.room());
            assert!(answer.len() <= query.room() && skim(&answer).unwrap().name == query.name, "{message:?}");
        }
        if let Some(foreign) = Foreign::new(message.clone()) {
            let question =
                [&[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &message[12..foreign.skim().begin]].concat();
            let query = Query::read(&question).unwrap();
            let answer = foreign.encode(&query, 7, query.room());
            let found = skim(&answer).unwrap();
            assert!(answer.len() <= query.room() && found.name == query.name, "{message:?}");
            let _ = (
                foreign.lifetime(),
                foreign.records(Section::Answer, 1),
                foreign.records(Section::Authority, 1),
            );
            sound += 1;
        }
    }
    assert!(sound > 1000, "only {sound} were near enough to be read");
}
