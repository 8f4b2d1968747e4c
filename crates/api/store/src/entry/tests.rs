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
fn a_memo_is_made_once() {
    let entry = Entry::fill(&Draft::new("abc"), Revision::ZERO, Revision::ZERO);
    let first = entry.memo(|bytes| bytes.len());
    let second = entry.clone().memo(|_| -> usize { panic!("made twice") });
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(*entry.memo(|bytes| bytes.to_vec()), b"abc", "another type is made anew");
}
