use std::os::unix::fs::PermissionsExt;

use super::{Keys, SealError, Shut};

#[test]
fn what_is_sealed_opens_under_its_name_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    assert!(Keys::read(&path).unwrap().is_none());
    let keys = Keys::read_or_make(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let sealed = keys.seal("a", b"hunter2").unwrap();
    assert!(!sealed.windows(7).any(|part| part == b"hunter2"));
    assert_ne!(sealed, keys.seal("a", b"hunter2").unwrap(), "never twice the same");
    let again = Keys::read(&path).unwrap().unwrap();
    assert_eq!(again.open("a", &sealed).unwrap(), b"hunter2");
    assert_eq!(again.open("b", &sealed), Err(Shut::Changed));
    for at in 8..sealed.len() {
        let mut bent = sealed.clone();
        bent[at] ^= 1;
        assert_eq!(again.open("a", &bent), Err(Shut::Changed), "byte {at}");
    }
    assert_eq!(again.open("a", &sealed[..10]), Err(Shut::Changed));
    let other = Keys::read_or_make(&folder.path().join("other")).unwrap();
    assert_eq!(other.open("a", &sealed), Err(Shut::NoKey));
    assert!(!format!("{keys:?}").contains(&std::fs::read_to_string(&path).unwrap().trim()[..16]));
}

#[test]
fn an_old_key_opens_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let keys = Keys::read_or_make(&path).unwrap();
    let (sealed, name) = (keys.seal("a", b"x").unwrap(), keys.name().to_owned());
    let keys = keys.rotated(&path).unwrap();
    assert_ne!(keys.name(), name);
    assert!(keys.is_old(&sealed));
    assert_eq!(keys.open("a", &sealed).unwrap(), b"x");
    let anew = keys.seal("a", b"x").unwrap();
    assert!(!keys.is_old(&anew));
    keys.without_old(&path).unwrap();
    let keys = Keys::read(&path).unwrap().unwrap();
    assert_eq!((keys.open("a", &sealed), keys.open("a", &anew).is_ok()), (Err(Shut::NoKey), true));
}

#[test]
fn a_wrong_file_is_refused_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    for (text, line) in
        [("rubbish", 1), (&*format!("# ours\n{}\nzz", "0".repeat(64)), 3), (&"g".repeat(64), 1)]
    {
        std::fs::write(&path, text).unwrap();
        assert!(
            matches!(Keys::read(&path), Err(SealError::Line { line: found, .. }) if found == line),
            "{text}"
        );
    }
    std::fs::write(&path, "\n# none\n").unwrap();
    assert!(matches!(Keys::read(&path), Err(SealError::Empty { .. })));
}
