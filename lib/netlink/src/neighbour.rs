//! Who is where on a link: the hardware address of an address, and for a link that carries packets to other machines, the machine
//! behind a hardware address. Only what was written down, not what the kernel learned.

use std::net::IpAddr;

use crate::link::Mac;
use crate::message::{CREATE, DUMP, Message, REPLACE, attributes};
use crate::route::{address, family, octets};
use crate::socket::{NetlinkError, Socket};

const NEW: u16 = 28;
const DELETE: u16 = 29;
const GET: u16 = 30;

const FIXED: usize = 12;
const TARGET: u16 = 1;
const HARDWARE: u16 = 2;

/// The family of what bridges know.
const BRIDGES: u8 = 7;
/// It stays until it is taken away, and nobody is asked whether it is still true.
const PERMANENT: u16 = 0x80;
const UNASKED: u16 = 0x40;
/// The link itself keeps it, not a bridge that it is a port of.
const OWN: u8 = 0x02;

/// An address on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub link: u32,
    pub address: IpAddr,
    pub mac: Mac,
}

/// The machine that frames for a hardware address are carried to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    pub link: u32,
    pub mac: Mac,
    pub machine: IpAddr,
}

/// Writes it down, in the place of what was known of the same address.
pub fn set(neighbour: &Neighbour) -> Message {
    let Neighbour { link, address, mac } = neighbour;
    let what = format!("note that {address} is on link {link}");
    let mut message =
        Message::new(what, NEW, CREATE | REPLACE, &fixed(family(*address), *link, PERMANENT, 0));
    message.attribute(TARGET, &octets(*address)).attribute(HARDWARE, mac);
    message
}

pub fn remove(neighbour: &Neighbour) -> Message {
    let Neighbour { link, address, .. } = neighbour;
    let what = format!("forget that {address} is on link {link}");
    let mut message = Message::new(what, DELETE, 0, &fixed(family(*address), *link, 0, 0));
    message.attribute(TARGET, &octets(*address));
    message
}

/// Writes it down, in the place of another machine for the same hardware address.
pub fn carry(carrier: &Carrier) -> Message {
    let Carrier { link, mac, machine } = carrier;
    let what = format!("have link {link} carry frames to {machine}");
    let mut message =
        Message::new(what, NEW, CREATE | REPLACE, &fixed(BRIDGES, *link, PERMANENT | UNASKED, OWN));
    message.attribute(HARDWARE, mac).attribute(TARGET, &octets(*machine));
    message
}

pub fn carry_no_longer(carrier: &Carrier) -> Message {
    let Carrier { link, mac, machine } = carrier;
    let what = format!("have link {link} no longer carry frames to {machine}");
    let mut message = Message::new(what, DELETE, 0, &fixed(BRIDGES, *link, 0, OWN));
    message.attribute(HARDWARE, mac).attribute(TARGET, &octets(*machine));
    message
}

impl Socket {
    /// What was written down for a link.
    pub fn neighbours(&mut self, link: u32) -> Result<Vec<Neighbour>, NetlinkError> {
        let mut all = Vec::new();
        for like in [IpAddr::from([0; 4]), IpAddr::from([0; 16])] {
            let question = Message::new("list the neighbours", GET, DUMP, &fixed(family(like), 0, 0, 0));
            all.extend(self.ask(question, |body| {
                let (address, mac) = read(body, link)?;
                Some(Neighbour { link, address, mac })
            })?);
        }
        Ok(all)
    }

    pub fn carriers(&mut self, link: u32) -> Result<Vec<Carrier>, NetlinkError> {
        let question = Message::new("list who carries frames", GET, DUMP, &fixed(BRIDGES, 0, 0, 0));
        self.ask(question, |body| {
            let (machine, mac) = read(body, link)?;
            Some(Carrier { link, mac, machine })
        })
    }
}

fn fixed(family: u8, link: u32, state: u16, flags: u8) -> [u8; FIXED] {
    let mut fixed = [0; FIXED];
    fixed[0] = family;
    fixed[4..8].copy_from_slice(&link.to_ne_bytes());
    fixed[8..10].copy_from_slice(&state.to_ne_bytes());
    fixed[10] = flags;
    fixed
}

fn read(body: &[u8], link: u32) -> Option<(IpAddr, Mac)> {
    let fixed = body.first_chunk::<FIXED>()?;
    let at = u32::from_ne_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
    let state = u16::from_ne_bytes([fixed[8], fixed[9]]);
    let find = |kind| attributes(&body[FIXED..]).find(|attribute| attribute.kind == kind);
    let target = address(find(TARGET)?.value)?;
    let mac = *find(HARDWARE)?.value.first_chunk()?;
    (at == link && state & PERMANENT != 0).then_some((target, mac))
}
