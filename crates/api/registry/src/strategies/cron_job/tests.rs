use super::*;

#[test]
fn schedules_are_five_fields_or_a_word() {
    for (schedule, problem) in [
        ("*/5 * * * *", ""),
        ("0 0 1 1 *", ""),
        ("0 12 * JAN-MAR mon-fri", ""),
        ("1,2,3 0-5/2 ? * 6", ""),
        ("@hourly", ""),
        ("@every 1h30m", ""),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("every day", "expected exactly 5 fields, found 2: [every day]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/3 * * * *", "too many slashes: */2/3"),
        ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
    ] {
        assert_eq!(schedule::check(schedule).err().unwrap_or_default(), problem, "{schedule}");
    }
}

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
