use super::*;

#[test]
fn reads_and_writes_as_go_does() {
    for (given, written) in [
        ("0", "0s"),
        ("1s", "1s"),
        ("90s", "1m30s"),
        ("1h", "1h0m0s"),
        ("1.5h", "1h30m0s"),
        ("-1.5h", "-1h30m0s"),
        ("100ms", "100ms"),
        ("1500ms", "1.5s"),
        ("1us", "1µs"),
        ("1.5us", "1.5µs"),
        ("2h45m30.5s", "2h45m30.5s"),
        (".5s", "500ms"),
        ("+3ns", "3ns"),
    ] {
        assert_eq!(write(parse(given).unwrap()), written, "{given}");
    }
}

#[test]
fn refuses_with_gos_messages() {
    for (given, message) in [
        ("", r#"time: invalid duration """#),
        ("3", r#"time: missing unit in duration "3""#),
        ("3x", r#"time: unknown unit "x" in duration "3x""#),
        (".s", r#"time: invalid duration ".s""#),
        ("99999999999h", r#"time: invalid duration "99999999999h""#),
    ] {
        assert_eq!(parse(given).unwrap_err().to_string(), message);
    }
}
