//! Takes single chains and sets out of a table.

use super::Batch;

const DELETE_CHAIN: u16 = 5;
const DELETE_SET: u16 = 11;

impl Batch {
    /// Removes a chain with its rules. Refused with `BUSY` while anything leads to it.
    pub fn without_chain(&mut self, name: &str) -> &mut Self {
        self.message(&format!("remove the chain {name} of"), DELETE_CHAIN, 0).text(3, name);
        self
    }

    /// Removes a set with all that is in it. Refused with `BUSY` while a rule looks into it.
    pub fn without_set(&mut self, name: &str) -> &mut Self {
        self.message(&format!("remove the set {name} of"), DELETE_SET, 0).text(2, name);
        self
    }
}
