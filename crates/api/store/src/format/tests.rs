use super::*;
use crate::apply::apply;
use crate::seal::Sealer;
use crate::snapshot::State;
use crate::{Draft, Expect, Txn};

const HEADER: FileHeader =
    FileHeader { kind: FileKind::Segment, sequence: 7, revision: Revision::new(40), salt: 0xfeed };

#[test]
fn a_header_reads_back_and_any_flipped_bit_is_noticed() {
    let bytes = HEADER.encode();
    assert_eq!(FileHeader::decode(FileKind::Segment, &bytes), Ok(HEADER));
    assert_eq!(FileHeader::decode(FileKind::Snapshot, &bytes), Err(Damage::Header));
    for bit in 0..FILE_HEADER * 8 {
        let mut damaged = bytes;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(FileHeader::decode(FileKind::Segment, &damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn a_record_reads_back_and_any_flipped_bit_is_noticed() {
    let (mut made, mut record) = (State::default(), unsealed());
    let puts = Txn::new().put("/a/b/c", Expect::Any, Draft::with_revision_at("<>", 1)).put(
        "/a/b/d",
        Expect::Any,
        Draft::new(""),
    );
    for (revision, txn) in [(41, puts), (43, Txn::new().delete("/a/b/d", Expect::Any))] {
        let revision = Revision::new(revision);
        let events = apply(&mut made, &txn, revision).unwrap().events;
        step::encode_txn(&mut record, revision, &events, &Sealer::default()).unwrap();
    }
    seal(&mut record, HEADER.salt, HEADER.sequence, Revision::new(43));
    let whole = |record: &[u8]| {
        let header = RecordHeader::decode(record.first_chunk()?)?;
        let body = record.get(RECORD_HEADER..RECORD_HEADER + header.len)?;
        header.matches(body, HEADER.salt).then(|| (header, body.to_vec()))
    };
    let (header, body) = whole(&record).unwrap();
    assert_eq!(header.size(), record.len() as u64);
    let mut read = State::default();
    let mut events = Vec::new();
    step::replay(&mut read, &body, &Sealer::default(), |some| events.push(some.len())).unwrap();
    assert_eq!((read.revision, read.bytes, events), (Revision::new(43), 4, vec![2, 1]));
    assert!(read.map == made.map);
    step::replay(&mut read, &body, &Sealer::default(), |_| panic!("a second time")).unwrap();

    for bit in 0..(RECORD_HEADER + header.len) * 8 {
        let mut damaged = record.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(whole(&damaged).is_none(), "bit {bit}");
    }
}

#[test]
fn no_bytes_make_replay_panic() {
    use proptest::prelude::*;
    proptest!(|(body in proptest::collection::vec(prop_oneof![0u8..5, any::<u8>()], 0..200))| {
        let _ = step::replay(&mut State::default(), &body, &Sealer::default(), |_| ());
    });
}
