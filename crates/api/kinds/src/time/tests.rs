use super::*;

#[test]
fn is_written_in_utc_and_to_its_precision() {
    use Precision::{Micros, Seconds};
    for (given, precision, written) in [
        ("2024-05-01T10:00:00Z", Seconds, "2024-05-01T10:00:00Z"),
        ("2024-05-01T10:00:00+02:00", Seconds, "2024-05-01T08:00:00Z"),
        ("2024-05-01T10:00:00.987654321Z", Seconds, "2024-05-01T10:00:00Z"),
        ("2024-02-29T23:59:59-00:30", Seconds, "2024-03-01T00:29:59Z"),
        ("2024-05-01T10:00:00.5Z", Micros, "2024-05-01T10:00:00.500000Z"),
        ("2024-05-01T10:00:00.123456789Z", Micros, "2024-05-01T10:00:00.123456Z"),
        ("2024-05-01T10:00:00.000000Z", Micros, "2024-05-01T10:00:00.000000Z"),
        ("0001-01-01T00:00:00Z", Seconds, "0001-01-01T00:00:00Z"),
    ] {
        let answer = canonical(given, precision).unwrap().unwrap_or_else(|| given.to_owned());
        assert_eq!(answer, written, "{given}");
    }
}

#[test]
fn says_what_is_wrong_in_gos_words() {
    for (given, message) in [
        (
            "yesterday",
            r#"parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006""#,
        ),
        ("2024-05-01", r#"parsing time "2024-05-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#),
        ("2024-13-01T00:00:00Z", r#"parsing time "2024-13-01T00:00:00Z": month out of range"#),
        ("2023-02-29T00:00:00Z", r#"parsing time "2023-02-29T00:00:00Z": day out of range"#),
        (
            "2024-05-01T10:00:00",
            r#"parsing time "2024-05-01T10:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
        ),
        ("2024-05-01T10:00:00Zz", r#"parsing time "2024-05-01T10:00:00Zz": extra text: "z""#),
        (
            "2024-05-01T10:00:00ä",
            r#"parsing time "2024-05-01T10:00:00ä" as "2006-01-02T15:04:05Z07:00": cannot parse "ä" as "Z07:00""#,
        ),
    ] {
        assert_eq!(canonical(given, Precision::Seconds).unwrap_err().to_string(), message);
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}") {
        let _ = canonical(&text, Precision::Seconds);
        let _ = canonical(&text, Precision::Micros);
    }
}
