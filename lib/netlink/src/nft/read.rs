//! What the kernel has in a table: the chains, rules, sets and what is in them.

use super::rule::GOTO;
use super::set::{Element, Set, Value};
use super::{BOTH, SUBSYSTEM};
use crate::message::{Attribute, DUMP, Message, attributes};
use crate::socket::{NetlinkError, Socket};

const GET_CHAIN: u16 = 4;
const GET_RULE: u16 = 7;
const GET_SET: u16 = 10;
const GET_ELEMENT: u16 = 13;

/// A chain as it is in the kernel, with the signatures of its rules in their order. Those of others have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenChain {
    pub name: String,
    /// Where packets meet it and at which priority.
    pub hook: Option<(u32, i32)>,
    pub rules: Vec<Option<String>>,
}

/// A set as it is in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenSet {
    pub name: String,
    flags: u32,
    lengths: (u32, u32),
}

impl SeenSet {
    /// Whether it is what making that one makes.
    pub fn is_like(&self, set: &Set) -> bool {
        // Of values that are verdicts the kernel tells a length or not, as it likes.
        let (key, value) = set.lengths();
        let same_values = value == 0 || self.lengths.1 == value;
        self.name == set.name && self.flags == set.flags() && self.lengths.0 == key && same_values
    }
}

impl Socket {
    /// Empty if there is no such table. This socket must be one for netfilter, as for all of these.
    pub fn chains(&mut self, table: &str) -> Result<Vec<SeenChain>, NetlinkError> {
        let mut chains = self.ask(question("list the chains", GET_CHAIN), |body| {
            let is_of_table = body.first() == Some(&BOTH) && find(body, 1)?.name() == table;
            is_of_table.then(|| read_chain(body)).flatten()
        })?;
        let mut question = question("list the rules", GET_RULE);
        question.text(1, table);
        let rules = self.ask(question, |body| {
            let is_of_table = body.first() == Some(&BOTH) && find(body, 1)?.name() == table;
            is_of_table.then(|| Some((find(body, 2)?.name(), signature(body)))).flatten()
        })?;
        for (chain, rule) in rules {
            if let Some(chain) = chains.iter_mut().find(|known| known.name == chain) {
                chain.rules.push(rule);
            }
        }
        Ok(chains)
    }

    /// Empty if there is no such table.
    pub fn sets(&mut self, table: &str) -> Result<Vec<SeenSet>, NetlinkError> {
        self.ask(question("list the sets", GET_SET), |body| {
            let is_of_table = body.first() == Some(&BOTH) && find(body, 1)?.name() == table;
            is_of_table.then(|| read_set(body)).flatten()
        })
    }

    /// Refused with `NOENT` if there is no such set.
    pub fn elements(&mut self, table: &str, set: &str) -> Result<Vec<Element>, NetlinkError> {
        let mut question =
            question(&format!("list what is in the set {set} of the table {table}"), GET_ELEMENT);
        question.text(1, table).text(2, set);
        let lists = self.ask(question, |body| {
            let list = find(body, 3)?;
            Some(attributes(list.value).filter_map(|element| read_element(element.value)).collect::<Vec<_>>())
        })?;
        Ok(lists.into_iter().flatten().collect())
    }
}

fn question(what: &str, kind: u16) -> Message {
    Message::new(what, SUBSYSTEM | kind, DUMP, &[BOTH, 0, 0, 0])
}

fn find(body: &[u8], kind: u16) -> Option<Attribute<'_>> {
    attributes(body.get(4..)?).find(|part| part.kind == kind)
}

fn inside(part: Attribute<'_>, kind: u16) -> Option<Attribute<'_>> {
    attributes(part.value).find(|part| part.kind == kind)
}

/// Numbers here are in the network's order.
fn number(part: Attribute<'_>) -> Option<u32> {
    part.value.first_chunk().copied().map(u32::from_be_bytes)
}

fn read_chain(body: &[u8]) -> Option<SeenChain> {
    let hook = find(body, 4).and_then(|hook| {
        let priority = number(inside(hook, 2)?)?;
        Some((number(inside(hook, 1)?)?, i32::from_be_bytes(priority.to_be_bytes())))
    });
    Some(SeenChain { name: find(body, 3)?.name(), hook, rules: Vec::new() })
}

/// What stands beside a rule is a list of kinds, lengths and values; a text is of the kind zero.
fn signature(body: &[u8]) -> Option<String> {
    let beside = find(body, 7)?.value;
    let [0, length, text @ ..] = beside else { return None };
    let text = text.get(..usize::from(*length).checked_sub(1)?)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn read_set(body: &[u8]) -> Option<SeenSet> {
    let found = |kind| find(body, kind).and_then(number).unwrap_or_default();
    Some(SeenSet { name: find(body, 2)?.name(), flags: found(3), lengths: (found(5), found(7)) })
}

fn read_element(element: &[u8]) -> Option<Element> {
    let part = |kind| attributes(element).find(|part| part.kind == kind);
    let bytes = |data: Attribute<'_>| inside(data, 1).map(|value| Box::from(value.value));
    let value = match part(2) {
        None => Value::None,
        Some(data) => match inside(data, 2) {
            None => Value::Bytes(bytes(data)?),
            Some(verdict) => {
                let code =
                    inside(verdict, 1).and_then(number).map(|code| i32::from_be_bytes(code.to_be_bytes()));
                // Verdicts that we never write are no value of ours.
                let chain = inside(verdict, 2).filter(|_| code == Some(GOTO));
                chain.map_or(Value::None, |chain| Value::Goto(chain.name().into()))
            }
        },
    };
    Some(Element { key: bytes(part(1)?)?, last: part(10).and_then(bytes), value })
}
