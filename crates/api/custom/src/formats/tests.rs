//! Values that fit their format and values that don't, as a stock server judges them.

use super::Format;

#[test]
fn formats_judge_texts() {
    for (format, good, bad) in [
        ("date-time", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05Z"),
        ("date-time", "2024-01-02t03:04:05.123+01:00", "2024-13-02T03:04:05Z"),
        ("datetime", "2024-01-02T23:59:59z", "2024-01-02T24:00:00Z"),
        ("date", "2024-02-29", "2023-02-29"),
        ("duration", "1h30m", "soon"),
        ("duration", "3 days 2 hours", "3"),
        ("uuid", "123E4567e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-42661417400"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("email", "a.b@example.com", "a..b@example.com"),
        ("email", "Somebody <a@example.com>", "example.com"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv4", "010.0.0.1", "10.0.0"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("mac", "01:23:45:67:89:ab", "01:23:45:67:89"),
        ("mac", "0123.4567.89ab", "0123.4567"),
        ("byte", "aGk=", "a"),
        ("hostname", "example.com", "-example.com"),
        ("hostname", "host", "ex_ample"),
        ("uri", "https://example.com/a?b", "example.com"),
        ("uri", "/a/b", "https://exa mple.com/"),
        ("isbn10", "0-321-75104-3", "0-321-75104-4"),
        ("isbn13", "978-0321751041", "978-0321751042"),
        ("creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"),
        ("ssn", "111-11-1111", "111111111"),
        ("hexcolor", "#FFF", "#FFFF"),
        ("rgbcolor", "rgb(0, 1,255)", "rgb(0,1,256)"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901"),
        ("k8s-short-name", "a-b", "A"),
        ("k8s-long-name", "a.b-c", "a..b"),
    ] {
        let format = Format::parse(format, None).unwrap_or_else(|| panic!("{format} is no format"));
        assert!(format.fits(good), "{good} should be a {}", format.name());
        assert!(!format.fits(bad), "{bad} should be no {}", format.name());
    }
}
