//! What a Service's doors and pools are as entries of our sets: bytes, as rules keep them.

use std::net::IpAddr;

use kedge_netlink::nft::{Element, Value};

use crate::changes::Place;
use crate::family::{Family, octets};
use crate::layout::{Chain, DISCARD, REFUSE, Role, near, wide};
use crate::wanted::{Door, Empty, Front, Pool, PoolId, Reach, Target, Wanted, Way};

/// All entries of one Service but those that several may have.
pub(crate) fn entries(wanted: &Wanted, mut each: impl FnMut(Place, Value)) {
    for address in &wanted.addresses {
        let family = Family::of(*address);
        each(Place::new(Role::Addresses, family, octets(*address)), Value::None);
    }
    wanted.fronts.iter().for_each(|front| of_front(front, &mut each));
    wanted.pools.iter().for_each(|pool| of_pool(pool, &mut each));
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

fn of_front(front: &Front, each: &mut impl FnMut(Place, Value)) {
    let Door { family, at, .. } = front.door;
    let [doors, fronts, fars] = match at {
        Some(_) => [Role::Doors, Role::Front, Role::Far],
        None => [Role::Nodes, Role::Node, Role::FarNode],
    };
    let key = door_key(&front.door);
    let mut put = |role, value| each(Place::new(role, family, key.clone()), value);
    let pool = |id: &PoolId| Value::Bytes(pool_key(id).into());
    match &front.way {
        Way::Inside(id) => put(fronts, pool(id)),
        Way::Outside(id) => {
            put(doors, Value::Goto(wide(family).into()));
            put(fronts, pool(id));
        }
        Way::Near { wide, near: id } => {
            put(doors, Value::Goto(near(family).into()));
            put(fronts, pool(wide));
            put(fars, pool(id));
        }
    }
    if let Some(ranges) = &front.only_from {
        put(Role::Guarded, Value::None);
        for range in ranges {
            let end = |address: IpAddr| [key.clone(), octets(address)].concat();
            each(Place::range(Role::Allowed, family, end(range.first()), end(range.last())), Value::None);
        }
    }
}

fn of_pool(pool: &Pool, each: &mut impl FnMut(Place, Value)) {
    let family = Family::of(pool.id.address);
    let key = pool_key(&pool.id);
    let way = match (chain(pool), pool.if_empty) {
        (Some(chain), _) => chain.name(),
        (None, Empty::Refuse) => REFUSE.to_owned(),
        (None, Empty::Discard) => DISCARD.to_owned(),
    };
    each(Place::new(Role::Way, family, key.clone()), Value::Goto(way.into()));
    for (slot, target) in (0u32..).zip(&pool.targets) {
        let target = target_bytes(target);
        if pool.stays.is_some() {
            let alive = [key.clone(), target.clone()].concat();
            each(Place::new(Role::Alive, family, alive), Value::None);
        }
        let slot = [slot.to_ne_bytes().to_vec(), key.clone()].concat();
        each(Place::new(Role::Ends, family, slot), Value::Bytes(target.into()));
    }
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

fn pool_key(id: &PoolId) -> Vec<u8> {
    let word = u32::from(id.protocol) << 24 | (id.reach as u32) << 16 | u32::from(id.port);
    [octets(id.address), word.to_ne_bytes().to_vec()].concat()
}

fn target_bytes(target: &Target) -> Vec<u8> {
    [octets(target.address), port_word(target.port)].concat()
}

/// The pool, slot and endpoint that an entry of `Ends` says.
pub(crate) fn read_end(family: Family, element: &Element) -> Option<(PoolId, u32, Target)> {
    let slot = u32::from_ne_bytes(*element.key.first_chunk()?);
    let (address, word) = address_of(family, element.key.get(4..)?)?;
    let word = u32::from_ne_bytes(*word.first_chunk()?);
    let [protocol, reach, ..] = word.to_be_bytes();
    let reach = [Reach::Wide, Reach::Inner, Reach::Near].into_iter().find(|known| *known as u8 == reach)?;
    let id = PoolId { address, protocol, port: (word & 0xffff) as u16, reach };
    let Value::Bytes(value) = &element.value else { return None };
    let (address, port) = address_of(family, value)?;
    Some((id, slot, Target { address, port: u16::from_be_bytes(*port.first_chunk()?) }))
}

fn address_of(family: Family, bytes: &[u8]) -> Option<(IpAddr, &[u8])> {
    match family {
        Family::V4 => bytes.split_first_chunk::<4>().map(|(address, rest)| (IpAddr::from(*address), rest)),
        Family::V6 => bytes.split_first_chunk::<16>().map(|(address, rest)| (IpAddr::from(*address), rest)),
    }
}
