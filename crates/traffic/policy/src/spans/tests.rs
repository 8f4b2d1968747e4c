use super::*;

fn span(text: &str) -> Span {
    Span::of_range(text).unwrap()
}

fn shown(spans: &[Span]) -> String {
    let one = |span: &Span| format!("{}-{}", span.first, span.last);
    spans.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn ranges_become_spans() {
    for (text, expected) in [
        ("10.1.2.3/8", Some("10.0.0.0-10.255.255.255")),
        ("10.0.0.1/32", Some("10.0.0.1-10.0.0.1")),
        ("0.0.0.0/0", Some("0.0.0.0-255.255.255.255")),
        ("fd00::1/64", Some("fd00::-fd00::ffff:ffff:ffff:ffff")),
        ("::/0", Some("::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")),
        ("::1/128", Some("::1-::1")),
        ("10.0.0.0/33", None),
        ("10.0.0.0", None),
        ("::/129", None),
        ("pods/8", None),
    ] {
        assert_eq!(Span::of_range(text).map(|span| shown(&[span])).as_deref(), expected, "{text}");
    }
    assert!(span("0.0.0.0/0").is_everything() && span("::/0").is_everything());
    assert!(!span("0.0.0.0/1").is_everything());
    assert!(span("0.0.0.0/0").contains("1.2.3.4".parse().unwrap()));
    assert!(!span("0.0.0.0/0").contains("::1".parse().unwrap()), "the other family");
}

#[test]
fn exceptions_are_cut_out() {
    for (case, range, without, expected) in [
        ("nothing to cut", "10.0.0.0/30", vec![], "10.0.0.0-10.0.0.3"),
        ("the middle", "10.0.0.0/29", vec!["10.0.0.2/31"], "10.0.0.0-10.0.0.1 10.0.0.4-10.0.0.7"),
        ("the beginning", "10.0.0.0/30", vec!["10.0.0.0/31"], "10.0.0.2-10.0.0.3"),
        ("the end", "10.0.0.0/30", vec!["10.0.0.2/31"], "10.0.0.0-10.0.0.1"),
        ("all of it", "10.0.0.0/30", vec!["10.0.0.0/30"], ""),
        ("more than all of it", "10.0.0.0/30", vec!["10.0.0.0/8"], ""),
        (
            "two that overlap, in no order",
            "10.0.0.0/28",
            vec!["10.0.0.4/31", "10.0.0.4/30"],
            "10.0.0.0-10.0.0.3 10.0.0.8-10.0.0.15",
        ),
        ("one that is elsewhere", "10.0.0.0/30", vec!["10.0.1.0/24", "9.0.0.0/8"], "10.0.0.0-10.0.0.3"),
        ("one of the other family", "10.0.0.0/30", vec!["::/0"], "10.0.0.0-10.0.0.3"),
        ("to the very last", "::/0", vec!["8000::/1"], "::-7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("everything", "::/0", vec!["::/0"], ""),
    ] {
        let without: Vec<Span> = without.into_iter().map(span).collect();
        assert_eq!(shown(&outside(span(range), &without)), expected, "{case}");
    }
}

#[test]
fn neighbours_become_one() {
    let spans = ["10.0.0.0/31", "10.0.0.2/31", "10.0.0.1/32", "10.0.1.0/24", "fd00::/64"].map(span);
    assert_eq!(shown(&united(&spans, Family::V4)), "10.0.0.0-10.0.0.3 10.0.1.0-10.0.1.255");
    assert_eq!(shown(&united(&spans, Family::V6)), "fd00::-fd00::ffff:ffff:ffff:ffff");
    let halves = ["0.0.0.0/1", "128.0.0.0/1"].map(span);
    assert!(united(&halves, Family::V4)[0].is_everything());

    for (case, ports, expected) in [
        ("one", vec![(80, 80)], vec![(80, 80)]),
        ("neighbours", vec![(81, 90), (80, 80)], vec![(80, 90)]),
        ("apart", vec![(443, 443), (80, 80)], vec![(80, 80), (443, 443)]),
        ("all", vec![(0, 65535), (1, 2)], vec![(0, 65535)]),
        ("backwards", vec![(90, 80)], vec![]),
    ] {
        assert_eq!(united_ports(ports), expected, "{case}");
    }
}
