use super::*;

#[test]
fn reads_and_writes_ranges() {
    for (text, end, expected) in [
        ("", 5, ""),
        ("0", 5, "0"),
        ("0,1", 5, "0,1"),
        ("0,1,2", 5, "0-2"),
        ("0-2,3", 9, "0-3"),
        ("1,3-5,7", 9, "1,3-5,7"),
        ("1,3-5,7", 5, "1,3,4"),
        ("1,3-5,7", 0, ""),
        ("5-3,x,2-y,,1", 9, "1"),
    ] {
        assert_eq!(Indexes::parse(text, end).to_string(), expected, "{text} below {end}");
    }
}

#[test]
fn knows_what_it_holds() {
    let set = Indexes::parse("1,3-5", 10);
    assert_eq!((0..8).filter(|index| set.has(*index)).collect::<Vec<_>>(), [1, 3, 4, 5]);
    assert_eq!(set.len(), 4);
    assert_eq!(set.missing(8).collect::<Vec<_>>(), [0, 2, 6, 7]);
    assert_eq!(set.missing(3).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(Indexes::default().missing(3).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(set.with([2, 9]).to_string(), "1-5,9");
    assert_eq!(set.and(&Indexes::parse("0,4-7", 10)).to_string(), "0,1,3-7");
    for (other, shared) in [("1", 1), ("0-9", 4), ("4,6", 1), ("7", 0), ("", 0)] {
        assert_eq!(set.shared_with(&Indexes::parse(other, 10)), shared, "{other}");
    }
}
