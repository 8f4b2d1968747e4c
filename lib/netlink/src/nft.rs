//! nftables: tables of chains of rules, and sets that rules look things up in. A batch takes effect as a whole or not at all.
//! Bare numbers of attributes are those of the kernel's `nf_tables.h`, in the order in which it lists them.

mod doubt;
mod read;
mod removal;
mod rule;
mod set;
mod watch;

use crate::message::{APPEND, CREATE, Message, put};
use crate::socket::{NetlinkError, Socket};

pub use self::doubt::Doubt;
pub use self::read::{SeenChain, SeenSet};
pub use self::rule::{Family, Register, Rule};
pub use self::set::{Element, Lists, Set, Value};
pub use self::watch::Watch;

const SUBSYSTEM: u16 = 10 << 8;
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;

const NEW_TABLE: u16 = 0;
const DELETE_TABLE: u16 = 2;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;

/// Both families in one table.
const BOTH: u8 = 1;

/// Where in a packet's way a chain stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Arriving = 0,
    /// Where those end that are for this machine itself.
    Here = 1,
    /// On the way from one link to another.
    Through = 2,
    FromHere = 3,
    Leaving = 4,
}

/// What a chain may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Filter,
    /// Asked once for each connection.
    Translate,
}

/// One column of a set's keys or values; each takes whole words of four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    V4,
    V6,
    Protocol,
    Port,
    /// A number in the machine's own order.
    Word,
}

impl Column {
    /// The number by which the program `nft` knows how to show it, and its length.
    fn shown(self) -> (u32, u32) {
        match self {
            Column::V4 => (7, 4),
            Column::V6 => (8, 16),
            Column::Protocol => (12, 4),
            Column::Port => (13, 4),
            Column::Word => (19, 4),
        }
    }

    /// Bytes that count of those that it takes.
    fn width(self) -> u32 {
        match self {
            Column::V4 | Column::Word => 4,
            Column::V6 => 16,
            Column::Protocol => 1,
            Column::Port => 2,
        }
    }
}

/// Everything to be done at once in one table.
#[derive(Debug)]
pub struct Batch {
    table: String,
    messages: Vec<Message>,
}

impl Batch {
    pub fn of(table: &str) -> Self {
        Self { table: table.to_owned(), messages: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Makes the table unless it is there.
    pub fn table(&mut self) -> &mut Self {
        self.message("make", NEW_TABLE, CREATE);
        self
    }

    /// Removes the table with all that is in it.
    pub fn without_table(&mut self) -> &mut Self {
        self.message("remove", DELETE_TABLE, 0);
        self
    }

    /// A chain that other chains send packets to.
    pub fn chain(&mut self, name: &str) -> &mut Self {
        self.message(&format!("make the chain {name} of"), NEW_CHAIN, CREATE).text(3, name);
        self
    }

    /// A chain that packets meet on their way.
    pub fn chain_at(&mut self, name: &str, work: Work, hook: Hook, priority: i32) -> &mut Self {
        let message = self.message(&format!("make the chain {name} of"), NEW_CHAIN, CREATE);
        message.text(3, name).nested(4, |inside| {
            put(inside, 1, &(hook as u32).to_be_bytes());
            put(inside, 2, &priority.to_be_bytes());
        });
        message.text(
            7,
            match work {
                Work::Filter => "filter",
                Work::Translate => "nat",
            },
        );
        self
    }

    pub fn rule(&mut self, chain: &str, rule: &Rule) -> &mut Self {
        let message = self.message(&format!("add a rule to the chain {chain} of"), NEW_RULE, CREATE | APPEND);
        message.text(2, chain).nested(4, |inside| inside.extend(rule.bytes()));
        // The program `nft` shows it as the rule's comment.
        let signature = rule.signature();
        let length = u8::try_from(signature.len() + 1).unwrap_or(u8::MAX);
        message.attribute(7, &[&[0, length], signature.as_bytes(), &[0]].concat());
        self
    }

    /// A set of keys; with columns for values, a map.
    pub fn set(&mut self, name: &str, keys: &[Column], values: &[Column]) -> &mut Self {
        let set = Set::of(name, keys);
        self.make(&if values.is_empty() { set } else { set.to(values) })
    }

    pub fn element(&mut self, set: &str, key: &[u8], value: Option<&[u8]>) -> &mut Self {
        let value = value.map_or(Value::None, |value| Value::Bytes(value.into()));
        self.elements(set, [&Element { key: key.into(), last: None, value }])
    }

    /// Refused with `NOENT` if it is not there.
    pub fn without_element(&mut self, set: &str, key: &[u8]) -> &mut Self {
        self.without_elements(set, [&Element { key: key.into(), last: None, value: Value::None }])
    }

    /// Each begins with the table's name.
    fn message(&mut self, what: &str, kind: u16, flags: u16) -> &mut Message {
        let what = format!("{what} the table {}", self.table);
        let mut message = Message::new(what, SUBSYSTEM | kind, flags, &[BOTH, 0, 0, 0]);
        message.text(1, &self.table);
        self.messages.push_mut(message)
    }
}

impl Socket {
    /// Does all of it or nothing; this socket must be one for netfilter.
    pub fn apply(&mut self, batch: &mut Batch) -> Result<(), NetlinkError> {
        if batch.is_empty() {
            return Ok(());
        }
        let edge = |kind| Message::new("change the rules for packets", kind, 0, &[0, 0, 0, 10]);
        self.tell_at_once(edge(BEGIN), &mut batch.messages, edge(END))
    }
}
