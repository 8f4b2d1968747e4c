use super::*;

#[test]
fn the_places_of_a_range() {
    for (range, shown, gateway, places, last) in [
        ("10.244.1.9/24", "10.244.1.0/24", "10.244.1.1", 253, "10.244.1.254"),
        ("10.0.0.0/30", "10.0.0.0/30", "10.0.0.1", 1, "10.0.0.2"),
        ("fd00:7::/64", "fd00:7::/64", "fd00:7::1", u64::MAX - 2, "fd00:7::ffff:ffff:ffff:fffe"),
        ("fd00::/126", "fd00::/126", "fd00::1", 2, "fd00::3"),
    ] {
        let range: Range = range.parse().unwrap();
        assert_eq!(range.to_string(), shown);
        assert_eq!(range.gateway().to_string(), gateway, "{shown}");
        assert_eq!(range.places().end - range.places().start, places, "{shown}");
        assert_eq!(range.at(range.places().end - 1).to_string(), last, "{shown}");
    }
    for small in ["10.0.0.0/31", "10.0.0.1/32", "fd00::/127", "fd00::/128"] {
        assert!(small.parse::<Range>().unwrap().places().is_empty(), "{small}");
    }
}

#[test]
fn what_is_in_a_range() {
    for (range, address, is_in) in [
        ("10.244.1.0/24", "10.244.1.255", true),
        ("10.244.1.0/24", "10.244.2.0", false),
        ("10.244.1.0/24", "fd00::1", false),
        ("0.0.0.0/0", "192.0.2.1", true),
        ("fd00::/64", "fd00::1:2:3:4", true),
        ("fd00::/64", "fd00:0:0:1::", false),
        ("::/0", "10.0.0.1", false),
    ] {
        let (range, address): (Range, IpAddr) = (range.parse().unwrap(), address.parse().unwrap());
        assert_eq!(range.contains(address), is_in, "{address} in {range}");
    }
}

#[test]
fn the_mask_of_a_range() {
    for (range, mask) in [
        ("10.0.0.0/8", vec![255, 0, 0, 0]),
        ("10.0.0.0/20", vec![255, 255, 240, 0]),
        ("10.0.0.0/32", vec![255; 4]),
        ("0.0.0.0/0", vec![0; 4]),
        ("fd00::/12", [vec![255, 240], vec![0; 14]].concat()),
    ] {
        assert_eq!(range.parse::<Range>().unwrap().mask(), mask, "{range}");
    }
}

#[test]
fn what_is_no_range() {
    for wrong in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "x/8", "::/129", "10.0.0.0/8/8"] {
        assert!(wrong.parse::<Range>().is_err(), "{wrong}");
    }
}

#[test]
fn addresses_of_a_range_by_their_place() {
    for (range, place, address) in [
        ("10.96.0.0/16", 1, "10.96.0.1"),
        ("10.96.3.7/12", 10, "10.96.0.10"),
        ("fd00::/108", 1, "fd00::1"),
        ("0.0.0.0/0", 1, "0.0.0.1"),
    ] {
        assert_eq!(range.parse::<Range>().unwrap().at(place).to_string(), address, "{range}");
    }
    for wrong in ["", "10.0.0.0", "10.0.0.0/33", "x/8", "::/129"] {
        assert!(wrong.parse::<Range>().is_err(), "{wrong}");
    }
}

#[test]
fn where_ranges_begin_and_end() {
    for (text, first, last) in [
        ("10.244.7.1/16", "10.244.0.0", "10.244.255.255"),
        ("192.0.2.9/32", "192.0.2.9", "192.0.2.9"),
        ("0.0.0.0/0", "0.0.0.0", "255.255.255.255"),
        ("fd00::5/64", "fd00::", "fd00::ffff:ffff:ffff:ffff"),
        ("::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ] {
        let range: Range = text.parse().unwrap();
        assert_eq!(
            (range.first().to_string(), range.last().to_string()),
            (first.to_owned(), last.to_owned())
        );
        assert_eq!(range.ends(), (number(range.first()), number(range.last())), "{text}");
    }
}

#[test]
fn pieces_of_a_range() {
    for (range, place, bits, piece) in [
        ("10.244.0.0/16", 0, 24, Some("10.244.0.0/24")),
        ("10.244.0.0/16", 3, 24, Some("10.244.3.0/24")),
        ("10.244.0.0/16", 3, 33, None),
        ("fd00::/48", 1, 64, Some("fd00:0:0:1::/64")),
    ] {
        let found = range.parse::<Range>().unwrap().piece(place, bits);
        assert_eq!(found.map(|found| found.to_string()).as_deref(), piece, "{place} of {range}");
    }
}
