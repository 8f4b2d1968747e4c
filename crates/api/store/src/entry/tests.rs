use super::*;

#[test]
fn the_revision_is_written_where_the_draft_says() {
    for (case, draft, revision, stored, deleted) in [
        ("no place", Draft::new("abc"), 7, "abc", "abc"),
        ("in the middle", Draft::with_revision_at("<>", 1), 7, "<7>", "<1000>"),
        ("at the start", Draft::with_revision_at("x", 0), 99, "99x", "1000x"),
        ("at the end", Draft::with_revision_at("x", 1), 10, "x10", "x1000"),
        ("empty", Draft::with_revision_at("", 0), 1, "1", "1000"),
    ] {
        let revision = Revision::new(revision);
        let entry = Entry::fill(&draft, revision, revision);
        assert_eq!(entry.bytes(), stored, "{case}");
        let last = entry.deleted_at(Revision::new(1000));
        assert_eq!(last.bytes(), deleted, "{case}");
        assert_eq!((last.created(), last.modified()), (revision, Revision::new(1000)), "{case}");
        assert_eq!(last.deleted_at(revision).bytes(), stored, "{case}: back again");
    }
}

#[test]
fn one_memo_of_each_type_is_kept() {
    let entry = Entry::fill(&Draft::new("abc"), Revision::ZERO, Revision::ZERO);
    assert_eq!(entry.recall::<usize>(), None);
    entry.remember(3usize);
    entry.clone().remember("text".to_owned());
    entry.remember(true);
    entry.remember(4usize);
    assert_eq!(entry.clone().recall::<usize>(), Some(&3), "the first of its type");
    assert_eq!(entry.recall::<String>().map(String::as_str), Some("text"));
    assert_eq!(entry.recall::<bool>(), Some(&true));
    assert_eq!(entry.recall::<u8>(), None);
}

#[test]
fn many_who_remember_at_once_agree() {
    let entry = Entry::fill(&Draft::new("abc"), Revision::ZERO, Revision::ZERO);
    std::thread::scope(|scope| {
        for turn in 0..8usize {
            let entry = &entry;
            scope.spawn(move || {
                entry.remember(turn);
                entry.remember(turn as u8);
                let seen = (entry.recall::<usize>().copied(), entry.recall::<u8>().copied());
                assert!(seen.0.is_some() && seen.1.is_some());
                assert_eq!((entry.recall::<usize>().copied(), entry.recall::<u8>().copied()), seen);
            });
        }
    });
}
