use super::*;

#[test]
fn attributes_are_padded_and_nest() {
    let mut message = Message::new("try", 7, CREATE, &[1, 2, 3]);
    message.text(1, "ab").nested(2, |inside| put(inside, 3, &[9]));
    let bytes = message.seal(5, 1).to_vec();
    assert_eq!(bytes.len() % 4, 0);
    assert_eq!(bytes[0..4], u32::try_from(bytes.len()).unwrap().to_ne_bytes());
    assert_eq!(bytes[4..6], 7u16.to_ne_bytes());
    assert_eq!(bytes[6..8], (CREATE | 1).to_ne_bytes());
    assert_eq!(bytes[8..12], 5u32.to_ne_bytes());
    assert_eq!(bytes[16..20], [1, 2, 3, 0]);
    let read: Vec<_> = attributes(&bytes[20..]).collect();
    assert_eq!(read[0], Attribute { kind: 1, value: b"ab\0" });
    assert_eq!(read[0].name(), "ab");
    assert_eq!(read[1].kind, 2);
    assert_eq!(attributes(read[1].value).collect::<Vec<_>>(), [Attribute { kind: 3, value: &[9] }]);
}

#[test]
fn what_is_cut_off_is_not_read() {
    for (case, bytes, read) in [
        ("nothing", &[][..], 0),
        ("half a header", &[8, 0, 1][..], 0),
        ("shorter than its header", &[3, 0, 1, 0, 0, 0, 0, 0][..], 0),
        ("longer than what is there", &[12, 0, 1, 0, 1, 2, 3, 4][..], 0),
        ("the last one unpadded", &[5, 0, 1, 0, 7][..], 1),
        ("a whole one and a half", &[5, 0, 1, 0, 7, 0, 0, 0, 9, 0][..], 1),
    ] {
        assert_eq!(attributes(bytes).count(), read, "{case}");
    }
}
