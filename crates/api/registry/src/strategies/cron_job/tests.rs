use super::*;

#[test]
fn time_zones_are_known_ones() {
    for (zone, problem) in [
        ("Europe/Berlin", ""),
        ("Etc/UTC", ""),
        ("Moon/Base", "Invalid value: \"Moon/Base\": unknown time zone Moon/Base"),
        ("", "Invalid value: \"\": timeZone must be nil or non-empty string"),
    ] {
        let mut errors = Errors::default();
        time_zone(&mut errors, &Path::root("timeZone"), &zone.into());
        let said = errors.into_causes().into_iter().next().map(|cause| cause.message).unwrap_or_default();
        assert_eq!(said, problem, "{zone}");
    }
}
