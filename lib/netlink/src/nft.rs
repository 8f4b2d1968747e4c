//! nftables: tables of chains of rules, and sets that rules look things up in. A batch takes effect as a whole or not at all.
//! Bare numbers of attributes are those of the kernel's `nf_tables.h`, in the order in which it lists them.

mod rule;

use crate::message::{APPEND, CREATE, Message, put, put_nested};
use crate::socket::{NetlinkError, Socket};

pub use self::rule::{Family, Register, Rule};

const SUBSYSTEM: u16 = 10 << 8;
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;

const NEW_TABLE: u16 = 0;
const DELETE_TABLE: u16 = 2;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
const NEW_SET: u16 = 9;
const NEW_ELEMENT: u16 = 12;
const DELETE_ELEMENT: u16 = 14;

/// Both families in one table.
const BOTH: u8 = 1;
const IS_MAP: u32 = 8;

/// Where in a packet's way a chain stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Arriving = 0,
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
}

impl Column {
    /// The number by which the program `nft` knows how to show it, and its length.
    fn shown(self) -> (u32, u32) {
        match self {
            Column::V4 => (7, 4),
            Column::V6 => (8, 16),
            Column::Protocol => (12, 4),
            Column::Port => (13, 4),
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
        self
    }

    /// A set of keys; with columns for values, a map.
    pub fn set(&mut self, name: &str, keys: &[Column], values: &[Column]) -> &mut Self {
        // The kernel wants a number of its own for each set of a batch.
        let number = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        let message = self.message(&format!("make the set {name} of"), NEW_SET, CREATE);
        let (kind, length) = row(keys);
        message.text(2, name);
        message.attribute(3, &(if values.is_empty() { 0 } else { IS_MAP }).to_be_bytes());
        message.attribute(4, &kind.to_be_bytes()).attribute(5, &length.to_be_bytes());
        if !values.is_empty() {
            let (kind, length) = row(values);
            message.attribute(6, &kind.to_be_bytes()).attribute(7, &length.to_be_bytes());
        }
        message.attribute(10, &number.to_be_bytes());
        self
    }

    pub fn element(&mut self, set: &str, key: &[u8], value: Option<&[u8]>) -> &mut Self {
        self.one(&format!("add to the set {set} of"), NEW_ELEMENT, CREATE, set, key, value)
    }

    /// Refused with `NOENT` if it is not there.
    pub fn without_element(&mut self, set: &str, key: &[u8]) -> &mut Self {
        self.one(&format!("remove from the set {set} of"), DELETE_ELEMENT, 0, set, key, None)
    }

    fn one(
        &mut self,
        what: &str,
        kind: u16,
        flags: u16,
        set: &str,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> &mut Self {
        let message = self.message(what, kind, flags);
        message.text(2, set).nested(3, |list| {
            put_nested(list, 1, |element| {
                put_nested(element, 1, |data| put(data, 1, key));
                if let Some(value) = value {
                    put_nested(element, 2, |data| put(data, 1, value));
                }
            });
        });
        self
    }

    /// Each begins with the table's name.
    fn message(&mut self, what: &str, kind: u16, flags: u16) -> &mut Message {
        let what = format!("{what} the table {}", self.table);
        let mut message = Message::new(what, SUBSYSTEM | kind, flags, &[BOTH, 0, 0, 0]);
        message.text(1, &self.table);
        self.messages.push_mut(message)
    }
}

fn row(columns: &[Column]) -> (u32, u32) {
    columns.iter().fold((0, 0), |(kind, length), column| {
        let (number, bytes) = column.shown();
        (kind << 6 | number, length + bytes)
    })
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
