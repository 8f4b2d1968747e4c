use super::*;

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

/// `name size age-in-minutes used-minutes-ago` or `-`; a star at the end stays.
fn held(text: &str) -> Held {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ago = |minutes: &str| noon() - SignedDuration::from_mins(minutes.parse().unwrap());
    Held {
        id: words[0].to_owned(),
        size: words[1].parse().unwrap(),
        first_seen: ago(words[2]),
        last_used: Some(words[3]).filter(|word| *word != "-").map(ago),
        stays: words.get(4) == Some(&"*"),
    }
}

#[test]
fn what_was_not_used_for_the_longest_time_goes_first() {
    let usual = ImageRules::default();
    let dated = ImageRules { oldest: Some(SignedDuration::from_hours(1)), ..ImageRules::default() };
    let images = ["a 10 90 5", "b 10 90 70", "c 10 90 -", "d 10 90 80 *", "e 10 1 -"];
    for (case, rules, available, go) in [
        ("there is room", &usual, 16, ""),
        ("just full", &usual, 15, "c"),
        ("more is wanted", &usual, 5, "c b"),
        ("all that may go", &usual, 0, "c b"),
        ("nothing is free at all", &ImageRules { low: 10, ..usual.clone() }, 0, "c b a"),
        ("old ones go although there is room", &dated, 50, "c b"),
        (
            "the young one is old enough",
            &ImageRules { youngest: SignedDuration::ZERO, low: 0, ..usual.clone() },
            0,
            "c e b a",
        ),
    ] {
        let begun = noon() - SignedDuration::from_hours(2);
        let disk = Disk { capacity: 100, available };
        let choice = choose(images.map(held).into(), disk, rules, begun, noon());
        assert_eq!(choice.go.join(" "), go, "{case}");
    }
    // Whoever has not looked for long enough does not know what is old.
    let begun = noon() - SignedDuration::from_mins(30);
    let disk = Disk { capacity: 100, available: 50 };
    assert_eq!(choose(images.map(held).into(), disk, &dated, begun, noon()), Choice::default());
}

#[test]
fn an_image_is_in_use_under_any_of_its_names() {
    let image = Image {
        id: "sha256:1".to_owned(),
        repo_tags: vec!["r.io/a:1".to_owned()],
        repo_digests: vec!["r.io/a@sha256:2".to_owned()],
        ..Image::default()
    };
    for (name, used) in
        [("sha256:1", true), ("r.io/a:1", true), ("r.io/a@sha256:2", true), ("r.io/b:1", false)]
    {
        let container = Container { image_ref: name.to_owned(), ..Container::default() };
        assert_eq!(is_of(&container, &image), used, "{name}");
    }
}
