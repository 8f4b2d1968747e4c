use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

/// The next few moments of a line, on the clock of the place.
fn coming(line: &str, place: &str, after: &str, count: usize) -> Vec<String> {
    let (schedule, zone) = (Schedule::parse(line).unwrap(), zone(place));
    let mut moment = at(after);
    let mut found = Vec::new();
    while found.len() < count {
        let Some(next) = schedule.after(moment, &zone) else { break };
        assert!(next > moment, "{line}");
        found.push(next.to_zoned(zone.clone()).strftime("%m-%d %H:%M %:z").to_string());
        moment = next;
    }
    found
}

#[test]
fn names_the_moments_that_cron_names() {
    // The first of January 2030 is a Tuesday.
    let noon = "2030-01-01T12:00:00Z";
    for (line, after, expected) in [
        ("* * * * *", noon, &["01-01 12:01 +00:00", "01-01 12:02 +00:00"][..]),
        ("* * * * *", "2030-01-01T12:00:30.5Z", &["01-01 12:01 +00:00"]),
        ("*/20 * * * *", noon, &["01-01 12:20 +00:00", "01-01 12:40 +00:00", "01-01 13:00 +00:00"]),
        ("5/20 * * * *", noon, &["01-01 12:05 +00:00", "01-01 12:25 +00:00", "01-01 12:45 +00:00"]),
        ("0 9-17/4 * * mon-fri", noon, &["01-01 13:00 +00:00", "01-01 17:00 +00:00", "01-02 09:00 +00:00"]),
        ("0 0 ? * SAT,sun", noon, &["01-05 00:00 +00:00", "01-06 00:00 +00:00"]),
        // Both kinds of day are restricted: either will do.
        ("0 0 13 * 5", noon, &["01-04 00:00 +00:00", "01-11 00:00 +00:00", "01-13 00:00 +00:00"]),
        // A thinned-out star restricts, too.
        ("0 0 */10 * 5", noon, &["01-04 00:00 +00:00", "01-11 00:00 +00:00", "01-18 00:00 +00:00"]),
        ("0 0 31 * *", noon, &["01-31 00:00 +00:00", "03-31 00:00 +00:00"]),
        ("0 0 29 feb *", noon, &["02-29 00:00 +00:00"]),
        ("@hourly", noon, &["01-01 13:00 +00:00", "01-01 14:00 +00:00"]),
        ("@midnight", noon, &["01-02 00:00 +00:00"]),
        ("@weekly", noon, &["01-06 00:00 +00:00", "01-13 00:00 +00:00"]),
        ("@monthly", noon, &["02-01 00:00 +00:00"]),
        ("@yearly", noon, &["01-01 00:00 +00:00"]),
        ("@every 1h30m", noon, &["01-01 13:30 +00:00", "01-01 15:00 +00:00"]),
        ("TZ=Asia/Tokyo 0 3 * * *", noon, &["01-02 03:00 +00:00"]),
        ("0 0 30 2 *", noon, &[]),
        (", * * * *", noon, &[]),
    ] {
        assert_eq!(coming(line, "UTC", after, expected.len().max(1)), expected, "{line}");
    }
}

#[test]
fn follows_the_clocks_of_a_place() {
    for (case, line, place, after, expected) in [
        (
            "an hour that is skipped",
            "30 2 * * *",
            "America/New_York",
            "2030-03-09T12:00:00Z",
            &["03-11 02:30 -04:00"][..],
        ),
        (
            "an hour that comes twice",
            "30 1 * * *",
            "America/New_York",
            "2030-11-02T12:00:00Z",
            &["11-03 01:30 -04:00", "11-03 01:30 -05:00", "11-04 01:30 -05:00"],
        ),
        (
            "an ordinary line on such a day",
            "0 */6 * * *",
            "Europe/Berlin",
            "2030-03-30T22:00:00Z",
            &["03-31 00:00 +01:00", "03-31 06:00 +02:00", "03-31 12:00 +02:00"],
        ),
        (
            "a day without midnight",
            "0 1 * * *",
            "America/Santiago",
            "2030-09-07T12:00:00Z",
            &["09-08 01:00 -03:00"],
        ),
        (
            "half an hour is skipped",
            "15,45 2 * * *",
            "Australia/Lord_Howe",
            "2030-10-05T12:00:00Z",
            &["10-06 02:45 +11:00", "10-07 02:15 +11:00"],
        ),
        ("an odd offset", "0 12 * * *", "Asia/Kathmandu", "2030-01-01T12:00:00Z", &["01-02 12:00 +05:45"]),
    ] {
        assert_eq!(coming(line, place, after, expected.len()), expected, "{case}");
    }
}

#[test]
fn finds_the_latest_moment() {
    for (line, since, until, expected) in [
        ("* * * * *", "2020-01-01T00:00:00Z", "2030-01-01T12:00:30Z", Some("2030-01-01T12:00:00Z")),
        ("* * * * *", "2030-01-01T12:00:00Z", "2030-01-01T12:00:30Z", None),
        ("0 * * * *", "2029-12-31T00:00:00Z", "2030-01-01T12:00:00Z", Some("2030-01-01T12:00:00Z")),
        ("*/15 0 1 jan *", "2029-01-01T00:00:00Z", "2030-03-01T12:00:00Z", Some("2030-01-01T00:45:00Z")),
        ("0 0 29 2 *", "2027-12-31T00:00:00Z", "2030-01-01T12:00:00Z", Some("2028-02-29T00:00:00Z")),
        ("0 0 30 2 *", "2027-12-31T00:00:00Z", "2030-01-01T12:00:00Z", None),
        ("@every 7m", "2030-01-01T11:00:00Z", "2030-01-01T12:00:00Z", Some("2030-01-01T11:56:00Z")),
        ("@every 2h", "2030-01-01T11:00:00Z", "2030-01-01T12:00:00Z", None),
    ] {
        let schedule = Schedule::parse(line).unwrap();
        let found = schedule.latest(at(since), at(until), &TimeZone::UTC);
        assert_eq!(found, expected.map(at), "{line} since {since}");
    }
}

#[test]
fn says_what_is_wrong_with_a_line() {
    for (line, expected) in [
        ("", "expected exactly 5 fields, found 0: []"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("TZ=UTC", "expected exactly 5 fields, found 0: []"),
        ("@reboot", "unrecognized descriptor: @reboot"),
        ("@every soon", "failed to parse duration @every soon: time: invalid duration \"soon\""),
        ("@every ", "failed to parse duration @every : time: invalid duration \"\""),
        ("@every 5", "failed to parse duration @every 5: time: invalid duration \"5\""),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/2 * * * *", "too many slashes: */2/2"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
        ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
    ] {
        let error = Schedule::parse(line).unwrap_err().to_string();
        assert_eq!(error, expected, "{line:?}");
    }
}
