//! Patterns of Go that our engine would read otherwise.

use super::{Pattern, fault};

#[test]
fn patterns_mean_what_they_mean_in_go() {
    for (pattern, yes, no) in [
        ("^[a-z]+$", "abc", "aBc"),
        (r"^\d+$", "12", "\u{0661}"),
        (r"^[\w.]+$", "a_b.c", "é"),
        (r"^[[a]$", "[", "b"),
        ("^[a&&b]+$", "a&b", "c"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        ("^a{,2}$", "a{,2}", "aa"),
        ("^a{2}$", "aa", "a"),
        (r"^[\S]$", "x", " "),
        (r"\bcat\b", "a cat", "concat"),
        (r"^[^\d]+$", "ab", "a1"),
        ("^[[:alpha:]]+$", "ab", "a1"),
        (r"^[]]$", "]", "["),
        (r"^\<x\>$", "<x>", "x"),
    ] {
        let compiled = Pattern::new(pattern);
        assert_eq!(compiled.matches(yes), Ok(true), "{pattern} should match {yes}");
        assert_eq!(compiled.matches(no), Ok(false), "{pattern} should not match {no}");
    }
}

#[test]
fn faults_are_named_as_go_names_them() {
    for (pattern, said) in [
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
        ("a(b", "error parsing regexp: missing closing ): `a(b`"),
        ("a)b", "error parsing regexp: unexpected ): `a)b`"),
        ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
        ("a(?!b)", "error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
        (r"\y", r"error parsing regexp: invalid escape sequence: `\y`"),
    ] {
        assert_eq!(fault(pattern).as_deref(), Some(said));
    }
    assert_eq!(fault("^ok$"), None);
}
