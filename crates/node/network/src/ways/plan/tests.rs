use super::*;

fn member(name: &str, addresses: &[&str], ranges: &[&str]) -> Member {
    Member {
        name: name.to_owned(),
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        ranges: ranges.iter().map(|range| range.parse().unwrap()).collect(),
    }
}

fn seen(list: &[(&str, Place)]) -> Places {
    list.iter().map(|(address, place)| (address.parse().unwrap(), *place)).collect()
}

const NEAR: Place = Place::OnLink { link: 2, mtu: 1500 };
const FAR: Place = Place::Beyond { mtu: 1400 };

fn shown(plan: &Plan) -> Vec<String> {
    let way = |(range, way): (&Range, &Way)| match way {
        Way::Straight { to, link } => format!("{range} via {to} on {link}"),
        Way::Tunnel { to, .. } => format!("{range} in {to}"),
    };
    plan.ways.iter().map(way).chain(plan.lost.iter().map(|lost| format!("! {lost}"))).collect()
}

#[test]
fn which_way_leads_to_whom() {
    let me = || member("me", &["192.0.2.1", "2001:db8::1"], &["10.1.0.0/24", "fd01::/64"]);
    let other = |addresses: &[&str], ranges: &[&str]| vec![member("b", addresses, ranges)];
    for (case, backend, others, places, expected) in [
        ("nobody else", Backend::Vxlan, vec![], seen(&[]), vec![]),
        (
            "on the same link",
            Backend::Vxlan,
            other(&["192.0.2.2"], &["10.1.1.0/24"]),
            seen(&[("192.0.2.2", NEAR)]),
            vec!["10.1.1.0/24 via 192.0.2.2 on 2"],
        ),
        (
            "beyond",
            Backend::Vxlan,
            other(&["198.51.100.2"], &["10.1.1.0/24"]),
            seen(&[("198.51.100.2", FAR)]),
            vec!["10.1.1.0/24 in 198.51.100.2"],
        ),
        (
            "both families, of which one is near",
            Backend::Vxlan,
            other(&["198.51.100.2", "2001:db8::2"], &["10.1.1.0/24", "fd01:0:0:1::/64"]),
            seen(&[("198.51.100.2", FAR), ("2001:db8::2", NEAR)]),
            vec!["10.1.1.0/24 in 198.51.100.2", "fd01:0:0:1::/64 via 2001:db8::2 on 2"],
        ),
        (
            "pods of a family in which nodes have no address",
            Backend::Vxlan,
            other(&["192.0.2.2"], &["10.1.1.0/24", "fd01:0:0:1::/64"]),
            seen(&[("192.0.2.2", NEAR)]),
            vec!["10.1.1.0/24 via 192.0.2.2 on 2", "fd01:0:0:1::/64 in 192.0.2.2"],
        ),
        (
            "always in a tunnel",
            Backend::VxlanOnly,
            other(&["192.0.2.2"], &["10.1.1.0/24"]),
            seen(&[("192.0.2.2", NEAR)]),
            vec!["10.1.1.0/24 in 192.0.2.2"],
        ),
        (
            "never in a tunnel",
            Backend::Routes,
            other(&["198.51.100.2"], &["10.1.1.0/24"]),
            seen(&[("198.51.100.2", FAR)]),
            vec![
                "! pods of b in 10.1.1.0/24: it is on no link of this node, and --pod-network routes makes no tunnels",
            ],
        ),
        (
            "on the same machine",
            Backend::Vxlan,
            other(&["192.0.2.1"], &["10.1.1.0/24"]),
            seen(&[("192.0.2.1", Place::Here)]),
            vec![],
        ),
        (
            "nowhere",
            Backend::Vxlan,
            other(&["198.51.100.2"], &["10.1.1.0/24"]),
            seen(&[]),
            vec!["! pods of b in 10.1.1.0/24: no way leads to its address"],
        ),
        (
            "one that claims our range",
            Backend::Vxlan,
            other(&["192.0.2.2"], &["10.1.0.0/25"]),
            seen(&[("192.0.2.2", NEAR)]),
            vec!["! 10.1.0.0/25 of b is also ours (10.1.0.0/24)"],
        ),
        (
            "two that claim the same range",
            Backend::Vxlan,
            vec![
                member("b", &["192.0.2.2"], &["10.1.1.0/24"]),
                member("c", &["192.0.2.3"], &["10.1.1.0/24"]),
            ],
            seen(&[("192.0.2.2", NEAR), ("192.0.2.3", NEAR)]),
            vec!["10.1.1.0/24 via 192.0.2.2 on 2", "! 10.1.1.0/24 of c is also another node's"],
        ),
        (
            "one without ranges or addresses yet",
            Backend::Vxlan,
            vec![member("b", &["192.0.2.2"], &[]), member("c", &[], &["10.1.2.0/24"])],
            seen(&[("192.0.2.2", NEAR)]),
            vec!["! pods of c in 10.1.2.0/24: it has no address of the family in which tunnels are made"],
        ),
    ] {
        assert_eq!(shown(&plan(backend, &me(), &others, &places)), expected, "{case}");
    }
}

#[test]
fn packets_fit_into_every_way() {
    let v4 = member("me", &["192.0.2.1"], &["10.1.0.0/24"]);
    let v6 = member("me", &["2001:db8::1"], &["fd01::/64"]);
    let other = member("b", &["192.0.2.2", "2001:db8::2"], &["10.1.1.0/24"]);
    for (case, me, place, outward, expected) in [
        ("straight", &v4, NEAR, 1500, 1500),
        ("straight over a wide link, out by a narrow one", &v4, NEAR, 1400, 1400),
        ("in a tunnel", &v4, FAR, 1500, 1350),
        ("in a tunnel of the newer family", &v6, FAR, 1500, 1330),
        ("never less than what the newer family needs", &v4, Place::Beyond { mtu: 600 }, 1500, 1280),
    ] {
        let places = seen(&[("192.0.2.2", place), ("2001:db8::2", place)]);
        let plan = plan(Backend::Vxlan, me, std::slice::from_ref(&other), &places);
        assert_eq!(plan.mtu(me, outward), expected, "{case}");
    }
}

#[test]
fn only_what_differs_is_told() {
    let me = member("me", &["192.0.2.1"], &["10.1.0.0/24"]);
    let wanted = |others: &[Member], places: &Places| {
        Known::wanted(&plan(Backend::Vxlan, &me, others, places), Some(9), 77)
    };
    let far = seen(&[("198.51.100.2", FAR), ("198.51.100.3", FAR)]);
    let before = wanted(
        &[member("b", &["198.51.100.2"], &["10.1.1.0/24"]), member("c", &["198.51.100.3"], &["10.1.2.0/24"])],
        &far,
    );
    assert_eq!(before.len(), 6, "a route, a neighbour and a carrier for each");
    assert_eq!(before.without(&before).len() + before.not_replaced_by(&before).len(), 0);

    let moved = seen(&[("198.51.100.9", FAR), ("198.51.100.3", FAR)]);
    let after = wanted(
        &[member("b", &["198.51.100.9"], &["10.1.1.0/24"]), member("c", &["198.51.100.3"], &["10.1.2.0/24"])],
        &moved,
    );
    assert_eq!(after.without(&before).carriers.len(), 1, "a node that moved is carried to elsewhere");
    assert_eq!(after.without(&before).len() + before.not_replaced_by(&after).len(), 1);

    let near = seen(&[("198.51.100.2", NEAR), ("198.51.100.3", FAR)]);
    let after = wanted(
        &[member("b", &["198.51.100.2"], &["10.1.1.0/24"]), member("c", &["198.51.100.3"], &["10.1.2.0/24"])],
        &near,
    );
    assert_eq!(after.without(&before).routes.len(), 1, "a node that came near is reached straight");
    let stale = before.not_replaced_by(&after);
    assert_eq!((stale.routes.len(), stale.neighbours.len(), stale.carriers.len()), (0, 1, 1));

    let after = wanted(&[member("c", &["198.51.100.3"], &["10.1.2.0/24"])], &far);
    assert_eq!(before.not_replaced_by(&after).len(), 3, "a node that left leaves nothing");
}
