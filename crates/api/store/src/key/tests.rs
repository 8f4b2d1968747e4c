use super::*;

#[test]
fn keys_are_grouped_by_their_first_two_parts() {
    for (text, group) in [
        ("/registry/pods/default/web", Some("/registry/pods/")),
        ("/registry/pods/", Some("/registry/pods/")),
        ("/registry/pods", None),
        ("/registry/", None),
        ("", None),
        ("/é/ß/x", Some("/é/ß/")),
    ] {
        assert_eq!(group_of(text), group, "{text}");
    }
}

#[test]
fn behind_a_prefix_is_behind_all_that_start_with_it() {
    let last = char::MAX;
    for (prefix, end) in [
        ("/registry/pods/".to_owned(), Some("/registry/pods0".to_owned())),
        ("a".to_owned(), Some("b".to_owned())),
        ("\u{d7ff}".to_owned(), Some("\u{e000}".to_owned())),
        (format!("a{last}{last}"), Some("b".to_owned())),
        (last.to_string(), None),
        (String::new(), None),
    ] {
        assert_eq!(behind(&prefix), end, "{prefix:?}");
        if let Some(end) = end {
            assert!(format!("{prefix}{last}{last}") < end);
        }
    }
}
