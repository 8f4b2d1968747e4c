//! Which tables of packet rules there are, whoever made them.

use crate::message::{DUMP, Message, attributes};
use crate::socket::{NetlinkError, Socket};

const SUBSYSTEM: u16 = 10 << 8;
const BOTH_FAMILIES: u8 = 1;
const GET: u16 = 1;
const NAME: u16 = 1;

impl Socket {
    /// The names of all tables for both families; this socket must be one for netfilter.
    pub fn tables(&mut self) -> Result<Vec<String>, NetlinkError> {
        let question = Message::new("list the tables", SUBSYSTEM | GET, DUMP, &[BOTH_FAMILIES, 0, 0, 0]);
        self.ask(question, |body| {
            attributes(body.get(4..)?).find(|attribute| attribute.kind == NAME).map(|name| name.name())
        })
    }
}
