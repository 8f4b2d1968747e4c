//! One rule: conditions, what is looked up, and what then happens. Written in the kernel's own small language.

mod judge;
mod keep;

use crate::message::{put, put_nested, put_text};

/// A family of addresses, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4 = 2,
    V6 = 10,
}

impl Family {
    fn length(self) -> u32 {
        if self == Family::V4 { 4 } else { 16 }
    }

    fn source(self) -> u32 {
        if self == Family::V4 { 12 } else { 8 }
    }

    fn target(self) -> u32 {
        if self == Family::V4 { 16 } else { 24 }
    }
}

/// One word of four bytes that a rule keeps something in; longer things go on in the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(pub u32);

impl Register {
    const FIRST: u32 = 8;

    fn number(self) -> [u8; 4] {
        (Self::FIRST + self.0).to_be_bytes()
    }
}

const VERDICT: u32 = 0;
const DROP: i32 = 0;
const ACCEPT: i32 = 1;
const JUMP: i32 = -3;
pub(super) const GOTO: i32 = -4;
const RETURN: i32 = -5;

const META_OUT: u32 = 7;
const META_FAMILY: u32 = 15;
const META_PROTOCOL: u32 = 16;
const META_IN_GROUP: u32 = 21;
const META_OUT_GROUP: u32 = 22;

const NETWORK: u32 = 1;
const TRANSPORT: u32 = 2;

#[derive(Clone, Debug, Default)]
pub struct Rule {
    bytes: Vec<u8>,
}

impl Rule {
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Short for all that it says; the kernel keeps it beside the rule, so that who reads it back knows which one it is.
    pub fn signature(&self) -> String {
        const START: u64 = 0xcbf2_9ce4_8422_2325;
        const STEP: u64 = 0x0100_0000_01b3;
        let hash = self.bytes.iter().fold(START, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(STEP));
        format!("{hash:016x}")
    }

    pub fn family(self, family: Family) -> Self {
        self.meta(META_FAMILY, Register(0)).compare(Register(0), true, &[family as u8])
    }

    /// It came by a link of this group.
    pub fn came_by_group(self, group: u32) -> Self {
        self.meta(META_IN_GROUP, Register(0)).compare(Register(0), true, &group.to_ne_bytes())
    }

    /// It leaves by this link.
    pub fn leaves_by(self, link: &str) -> Self {
        self.meta(META_OUT, Register(0)).compare(Register(0), true, &link_name(link))
    }

    /// It leaves by a link of this group.
    pub fn leaves_by_group(self, group: u32) -> Self {
        self.meta(META_OUT_GROUP, Register(0)).compare(Register(0), true, &group.to_ne_bytes())
    }

    pub fn protocol(self, number: u8) -> Self {
        self.meta(META_PROTOCOL, Register(0)).compare(Register(0), true, &[number])
    }

    /// The first byte of what is inside is this: the kind of an ICMP message.
    pub fn begins_with(self, byte: u8) -> Self {
        self.payload(TRANSPORT, 0, 1, Register(0)).compare(Register(0), true, &[byte])
    }

    /// The source is, or is not, in a range.
    pub fn from(self, family: Family, is: bool, address: &[u8], mask: &[u8]) -> Self {
        self.range(family.source(), family.length(), is, address, mask)
    }

    pub fn to(self, family: Family, is: bool, address: &[u8], mask: &[u8]) -> Self {
        self.range(family.target(), family.length(), is, address, mask)
    }

    /// The target is one of this machine's own addresses.
    pub fn to_this_machine(self) -> Self {
        const OF_TARGET: u32 = 2;
        self.address_is_ours(OF_TARGET)
    }

    /// The source is one of this machine's own addresses.
    pub fn from_this_machine(self) -> Self {
        const OF_SOURCE: u32 = 1;
        self.address_is_ours(OF_SOURCE)
    }

    fn address_is_ours(self, which: u32) -> Self {
        const KIND_OF_ADDRESS: u32 = 3;
        const LOCAL: u32 = 2;
        self.expression("fib", |data| {
            put(data, 1, &Register(0).number());
            put(data, 2, &KIND_OF_ADDRESS.to_be_bytes());
            put(data, 3, &which.to_be_bytes());
        })
        // The kernel writes this one down in its own order of bytes.
        .compare(Register(0), true, &LOCAL.to_ne_bytes())
    }

    pub fn keep_source(self, family: Family, at: Register) -> Self {
        self.payload(NETWORK, family.source(), family.length(), at)
    }

    pub fn keep_target(self, family: Family, at: Register) -> Self {
        self.payload(NETWORK, family.target(), family.length(), at)
    }

    pub fn keep_protocol(self, at: Register) -> Self {
        self.meta(META_PROTOCOL, at)
    }

    pub fn keep_target_port(self, at: Register) -> Self {
        self.payload(TRANSPORT, 2, 2, at)
    }

    /// What is kept from here on is a key of the set.
    pub fn known_to(self, set: &str, key: Register) -> Self {
        self.lookup(set, key, None)
    }

    /// Finds the key that is kept in a map, and keeps its value.
    pub fn translated_by(self, map: &str, key: Register, value: Register) -> Self {
        self.lookup(map, key, Some(value))
    }

    /// Does what the map says of the key that is kept; goes on with the next rule if it says nothing.
    pub fn decided_by(self, map: &str, key: Register) -> Self {
        self.expression("lookup", |data| {
            put_text(data, 1, map);
            put(data, 2, &key.number());
            put(data, 3, &VERDICT.to_be_bytes());
        })
    }

    /// Sends it to another address and port.
    pub fn send_to(self, family: Family, address: Register, port: Register) -> Self {
        const TARGET: u32 = 1;
        self.expression("nat", |data| {
            put(data, 1, &TARGET.to_be_bytes());
            put(data, 2, &(family as u32).to_be_bytes());
            put(data, 3, &address.number());
            put(data, 5, &port.number());
        })
    }

    /// Lets it come from the address of the link by which it leaves.
    pub fn masquerade(self) -> Self {
        self.expression("masq", |_| {})
    }

    /// The same, by a port that nobody guesses and no other flow just took.
    pub fn masquerade_at_random(self) -> Self {
        const FULLY_RANDOM: u32 = 0x10;
        self.expression("masq", |data| put(data, 1, &FULLY_RANDOM.to_be_bytes()))
    }

    pub fn drop(self) -> Self {
        self.verdict(DROP, None)
    }

    pub fn accept(self) -> Self {
        self.verdict(ACCEPT, None)
    }

    /// Tells the sender that nobody is at this port.
    pub fn refuse(self) -> Self {
        const IN_EITHER_FAMILY: u32 = 2;
        const PORT_UNREACHABLE: u8 = 1;
        self.reject(IN_EITHER_FAMILY, PORT_UNREACHABLE)
    }

    /// The same in TCP's own way; only for packets of TCP.
    pub fn reset(self) -> Self {
        const BY_RESET: u32 = 1;
        self.reject(BY_RESET, 0)
    }

    fn reject(self, how: u32, code: u8) -> Self {
        self.expression("reject", |data| {
            put(data, 1, &how.to_be_bytes());
            put(data, 2, &[code]);
        })
    }

    /// Goes on after the other chain with the next rule.
    pub fn jump(self, chain: &str) -> Self {
        self.verdict(JUMP, Some(chain))
    }

    /// Does not come back here from the other chain.
    pub fn goto(self, chain: &str) -> Self {
        self.verdict(GOTO, Some(chain))
    }

    /// Back to where this chain was jumped to from.
    pub fn give_back(self) -> Self {
        self.verdict(RETURN, None)
    }

    fn verdict(self, code: i32, chain: Option<&str>) -> Self {
        self.expression("immediate", |data| {
            put(data, 1, &VERDICT.to_be_bytes());
            put_nested(data, 2, |data| {
                put_nested(data, 2, |verdict| {
                    put(verdict, 1, &code.to_be_bytes());
                    if let Some(chain) = chain {
                        put_text(verdict, 2, chain);
                    }
                });
            });
        })
    }

    fn range(self, offset: u32, length: u32, is: bool, address: &[u8], mask: &[u8]) -> Self {
        let masked: Vec<u8> = address.iter().zip(mask).map(|(byte, mask)| byte & mask).collect();
        self.payload(NETWORK, offset, length, Register(0))
            .bits(Register(0), mask, &vec![0; mask.len()])
            .compare(Register(0), is, &masked)
    }

    /// Keeps the bits that are set in `mask`, then turns those that are set in `turned`.
    fn bits(self, at: Register, mask: &[u8], turned: &[u8]) -> Self {
        let length = u32::try_from(mask.len()).unwrap_or(u32::MAX);
        self.expression("bitwise", |data| {
            put(data, 1, &at.number());
            put(data, 2, &at.number());
            put(data, 3, &length.to_be_bytes());
            put_nested(data, 4, |value| put(value, 1, mask));
            put_nested(data, 5, |value| put(value, 1, turned));
        })
    }

    fn meta(self, key: u32, at: Register) -> Self {
        self.expression("meta", |data| {
            put(data, 1, &at.number());
            put(data, 2, &key.to_be_bytes());
        })
    }

    fn payload(self, base: u32, offset: u32, length: u32, at: Register) -> Self {
        self.expression("payload", |data| {
            put(data, 1, &at.number());
            put(data, 2, &base.to_be_bytes());
            put(data, 3, &offset.to_be_bytes());
            put(data, 4, &length.to_be_bytes());
        })
    }

    fn compare(self, at: Register, is: bool, value: &[u8]) -> Self {
        self.expression("cmp", |data| {
            put(data, 1, &at.number());
            put(data, 2, &u32::from(!is).to_be_bytes());
            put_nested(data, 3, |data| put(data, 1, value));
        })
    }

    fn lookup(self, set: &str, key: Register, value: Option<Register>) -> Self {
        self.expression("lookup", |data| {
            put_text(data, 1, set);
            put(data, 2, &key.number());
            if let Some(value) = value {
                put(data, 3, &value.number());
            }
        })
    }

    fn expression(mut self, name: &str, fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        put_nested(&mut self.bytes, 1, |element| {
            put_text(element, 1, name);
            put_nested(element, 2, fill);
        });
        self
    }
}

/// Padded, so that a longer name with the same beginning is another one.
fn link_name(name: &str) -> [u8; 16] {
    let mut padded = [0; 16];
    padded.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    padded
}
