use std::collections::{BTreeMap, BTreeSet};

use kedge_netlink::nft::Family;

use super::*;
use crate::wanted::{Doors, Line, Peers, Set};

/// `pods` and who of them is isolated by a chain that lets the peers in.
fn wanted(isolated: &[&str], peers: &[(&str, &[&str])]) -> Wanted {
    let address = |text: &&str| text.parse::<IpAddr>().unwrap();
    let sets: BTreeMap<Name, Arc<Set>> = peers
        .iter()
        .map(|(name, members)| {
            let elements = members.iter().map(|member| Element::Address(address(member))).collect();
            (Name::of(name, &()), Arc::new(Set { shape: Shape::Addresses(Family::V4), elements }))
        })
        .collect();
    let lines: BTreeSet<Line> = sets
        .keys()
        .map(|name| Line::Peers { who: Peers::Addresses(name.clone()), doors: Doors::All })
        .collect();
    let chain = Name::of("in4", &lines);
    Wanted {
        isolated: isolated.iter().map(|pod| ((Direction::In, address(pod)), chain.clone())).collect(),
        chains: BTreeMap::from([(
            chain,
            Arc::new(Chain { direction: Direction::In, family: Family::V4, lines }),
        )]),
        sets,
    }
}

fn told(from: &Wanted, to: &Wanted) -> Vec<String> {
    let kind = |name: &Name| name.as_str().split_once('-').unwrap().0.to_owned();
    let list = |elements: &[&Element]| {
        let one = |element: &&Element| match element {
            Element::Address(address) => address.to_string(),
            other => format!("{other:?}"),
        };
        elements.iter().map(one).collect::<Vec<_>>().join(",")
    };
    steps(from, to)
        .iter()
        .map(|step| match step {
            Step::MakeSet(name, _) => format!("+set {}", kind(name)),
            Step::Put(name, _, elements) => format!("{}+{}", kind(name), list(elements)),
            Step::Take(name, _, elements) => format!("{}-{}", kind(name), list(elements)),
            Step::MakeChain(name, _) => format!("+chain {}", kind(name)),
            Step::Own(addresses) => format!("own{addresses:?}"),
            Step::Disown(addresses) => format!("disown{addresses:?}"),
            Step::Release(_, address) => format!("-{address}"),
            Step::Isolate(_, address, _) => format!("+{address}"),
            Step::RemoveChain(name) => format!("-chain {}", kind(name)),
            Step::RemoveSet(name) => format!("-set {}", kind(name)),
        })
        .collect()
}

#[test]
fn only_what_differs() {
    let nothing = Wanted::default();
    let one = wanted(&["10.0.0.1"], &[("p", &["10.0.0.2", "10.0.0.3"])]);
    for (case, from, to, expected) in [
        ("nothing", &one, &one, &[][..]),
        (
            "everything is new",
            &nothing,
            &one,
            &["+set p", "p+10.0.0.2,10.0.0.3", "+chain in4", "own[10.0.0.1]", "+10.0.0.1"][..],
        ),
        (
            "everything goes, what names others first",
            &one,
            &nothing,
            &["disown[10.0.0.1]", "-10.0.0.1", "-chain in4", "-set p"][..],
        ),
        (
            "a peer comes and one goes",
            &one,
            &wanted(&["10.0.0.1"], &[("p", &["10.0.0.3", "10.0.0.4"])]),
            &["p-10.0.0.2", "p+10.0.0.4"][..],
        ),
        (
            "one more is isolated",
            &one,
            &wanted(&["10.0.0.1", "10.0.0.9"], &[("p", &["10.0.0.2", "10.0.0.3"])]),
            &["own[10.0.0.9]", "+10.0.0.9"][..],
        ),
        (
            "another chain for the same pod",
            &one,
            &wanted(&["10.0.0.1"], &[("p", &["10.0.0.2", "10.0.0.3"]), ("q", &[])]),
            &["+set q", "+chain in4", "-10.0.0.1", "+10.0.0.1", "-chain in4"][..],
        ),
    ] {
        assert_eq!(told(from, to), expected, "{case}");
    }
}
