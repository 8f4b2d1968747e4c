//! What a Service's doors and pools are as entries of our sets: bytes, as rules keep them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use kedge_netlink::nft::{Element, Value};

use crate::changes::Place;
use crate::family::{Family, octets};
use crate::layout::{Chain, DISCARD, Gate, REFUSE, Role, near, wide};
use crate::wanted::{Door, Empty, Front, Pool, PoolId, Reach, Target, Wanted, Way};

/// Numbers of endpoints have this bit, slots have not.
const NUMBERED: u32 = 1 << 31;

/// Where slots are: behind a door as a gate knows it.
pub(crate) type Behind = (Gate, Family, Box<[u8]>);

/// All entries of one Service but those that several may have.
pub(crate) fn entries(wanted: &Wanted, mut each: impl FnMut(Place, Value)) {
    for address in &wanted.addresses {
        let family = Family::of(*address);
        each(Place::new(Role::Addresses, family, octets(*address)), Value::None);
    }
    wanted.fronts.iter().for_each(|front| of_front(front, wanted, &mut each));
}

/// Where a pool's slots are found in the kernel, if there is a door to it.
pub(crate) fn behind(wanted: &Wanted, pool: &PoolId) -> Option<Behind> {
    let doors = wanted.fronts.iter().flat_map(|front| gates(front).map(move |gate| (front, gate)));
    let (front, (gate, _)) = doors.into_iter().find(|(_, (_, id))| id == pool)?;
    Some((gate, front.door.family, door_key(&front.door).into()))
}

/// The gates at which a door is known, and the pool behind each.
fn gates(front: &Front) -> impl Iterator<Item = (Gate, PoolId)> {
    let [most, far] = match front.door.at {
        Some(_) => [Gate::Front, Gate::Far],
        None => [Gate::Node, Gate::FarNode],
    };
    let (first, second) = match front.way {
        Way::Inside(id) | Way::Outside(id) => ((most, id), None),
        Way::Near { wide, near } => ((most, wide), Some((far, near))),
    };
    std::iter::once(first).chain(second)
}

/// Who may call himself.
pub(crate) fn own(address: IpAddr) -> Place {
    let address = octets(address);
    let family = if address.len() == 4 { Family::V4 } else { Family::V6 };
    Place::new(Role::Itself, family, [address.clone(), address].concat())
}

/// The chain in which a pool's endpoint is chosen, if it has any.
pub(crate) fn chain(pool: &Pool) -> Option<Chain> {
    let count = u32::try_from(pool.targets.len()).ok().filter(|count| *count > 0)?;
    let is_near = pool.id.reach == Reach::Near;
    Some(Chain { family: Family::of(pool.id.address), is_near, count, stays: pool.stays })
}

fn of_front(front: &Front, wanted: &Wanted, each: &mut impl FnMut(Place, Value)) {
    let Door { family, at, .. } = front.door;
    let key = door_key(&front.door);
    let led = match front.way {
        Way::Inside(_) => None,
        Way::Outside(_) => Some(wide(family)),
        Way::Near { .. } => Some(near(family)),
    };
    if let Some(chain) = led {
        let doors = if at.is_some() { Role::Doors } else { Role::Nodes };
        each(Place::new(doors, family, key.clone()), Value::Goto(chain.into()));
    }
    for (gate, id) in gates(front) {
        if let Some(pool) = wanted.pools.iter().find(|pool| pool.id == id) {
            of_pool(pool, gate, &key, each);
        }
    }
    if let Some(ranges) = &front.only_from {
        each(Place::new(Role::Guarded, family, key.clone()), Value::None);
        for range in ranges {
            let end = |address: IpAddr| [key.clone(), octets(address)].concat();
            each(Place::range(Role::Allowed, family, end(range.first()), end(range.last())), Value::None);
        }
    }
}

fn of_pool(pool: &Pool, gate: Gate, door: &[u8], each: &mut impl FnMut(Place, Value)) {
    let family = Family::of(pool.id.address);
    let way = match (chain(pool), pool.if_empty) {
        (Some(chain), _) => chain.name(),
        (None, Empty::Refuse) => REFUSE.to_owned(),
        (None, Empty::Discard) => DISCARD.to_owned(),
    };
    each(Place::new(Role::Gate(gate), family, door.to_vec()), Value::Goto(way.into()));
    let mut put = |role, word: u32, value: Vec<u8>| {
        let key = [&word.to_ne_bytes()[..], door].concat();
        each(Place::new(role, family, key), Value::Bytes(value.into()));
    };
    for (slot, target) in (0u32..).zip(&pool.targets) {
        put(Role::Ends(gate), slot, target_bytes(target));
    }
    if pool.stays.is_some() {
        for ((slot, target), number) in (0u32..).zip(&pool.targets).zip(numbers(&pool.targets)) {
            put(Role::Ends(gate), number, target_bytes(target));
            put(Role::Ids(gate), slot, number.to_ne_bytes().to_vec());
        }
    }
}

/// A number for each endpoint, whoever its neighbours are: clients are remembered with it.
fn numbers(targets: &[Target]) -> Vec<u32> {
    let mut taken = BTreeMap::new();
    // In an order of their own, so that slots have no say where two would have the same.
    for target in targets.iter().collect::<BTreeSet<_>>() {
        let mut number = hash(&target_bytes(target)) | NUMBERED;
        while taken.contains_key(&number) {
            number = number.wrapping_add(1) | NUMBERED;
        }
        taken.insert(number, *target);
    }
    let by_target: BTreeMap<Target, u32> =
        taken.into_iter().map(|(number, target)| (target, number)).collect();
    targets.iter().filter_map(|target| by_target.get(target).copied()).collect()
}

fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Each column takes whole words.
fn door_key(door: &Door) -> Vec<u8> {
    let address = door.at.map(octets).unwrap_or_default();
    [address, vec![door.protocol, 0, 0, 0], port_word(door.port)].concat()
}

fn port_word(port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    vec![high, low, 0, 0]
}

fn target_bytes(target: &Target) -> Vec<u8> {
    [octets(target.address), port_word(target.port)].concat()
}

/// The door, slot and endpoint that an entry of `Ends` says; none if it is about a number.
pub(crate) fn read_end(family: Family, element: &Element) -> Option<(Box<[u8]>, u32, Target)> {
    let (slot, door) = element.key.split_first_chunk()?;
    let slot = Some(u32::from_ne_bytes(*slot)).filter(|slot| slot & NUMBERED == 0)?;
    let Value::Bytes(value) = &element.value else { return None };
    let (address, port) = address_of(family, value)?;
    Some((door.into(), slot, Target { address, port: u16::from_be_bytes(*port.first_chunk()?) }))
}

fn address_of(family: Family, bytes: &[u8]) -> Option<(IpAddr, &[u8])> {
    match family {
        Family::V4 => bytes.split_first_chunk::<4>().map(|(address, rest)| (IpAddr::from(*address), rest)),
        Family::V6 => bytes.split_first_chunk::<16>().map(|(address, rest)| (IpAddr::from(*address), rest)),
    }
}
