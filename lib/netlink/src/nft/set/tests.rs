use super::*;
use crate::message::{Attribute, attributes};

fn inside(part: Attribute<'_>, kind: u16) -> Vec<Attribute<'_>> {
    attributes(part.value).filter(|part| part.kind == kind).collect()
}

/// How many elements each message of a batch has.
fn lists(batch: &Batch) -> Vec<usize> {
    let list = |message: &Message| {
        let body = attributes(&message.bytes[crate::message::HEADER + 4..]);
        body.filter(|part| part.kind == 3).map(|part| inside(part, 1).len()).sum()
    };
    batch.messages.iter().map(list).collect()
}

#[test]
fn long_lists_are_cut() {
    let element = |number: u32| Element {
        key: number.to_be_bytes().into(),
        last: None,
        value: Value::Bytes([0; 8].into()),
    };
    for (case, count) in [("none", 0u32), ("one", 1), ("some", 1_000), ("many", 20_000)] {
        let elements: Vec<Element> = (0..count).map(element).collect();
        let mut batch = Batch::of("t");
        batch.elements("s", &elements).without_elements("s", &elements);
        let mut side_by_side = Lists::default();
        elements.iter().for_each(|element| batch.list_one(&mut side_by_side, "s", element));
        batch.close(side_by_side);
        let lists = lists(&batch);
        assert_eq!(lists.iter().sum::<usize>(), 3 * elements.len(), "{case}");
        assert!(batch.messages.iter().all(|message| message.bytes.len() < usize::from(u16::MAX)), "{case}");
    }
}

#[test]
fn what_a_set_is() {
    use Column::{Port, Protocol, V4, Word};
    for (case, set, flags, lengths) in [
        ("keys", Set::of("s", &[V4, Port]), 0, (8, 0)),
        ("a map", Set::of("s", &[Word, V4]).to(&[V4, Port]), MAP, (8, 8)),
        ("verdicts", Set::of("s", &[V4]).to_verdicts(), MAP, (4, 0)),
        ("ranges", Set::of("s", &[V4, Protocol]).with_ranges(), 0x84, (8, 0)),
        ("written by rules", Set::of("s", &[V4]).to(&[Port]).written_by_rules(9), 0x38, (4, 4)),
    ] {
        assert_eq!((set.flags(), set.lengths()), (flags, lengths), "{case}");
    }
}
