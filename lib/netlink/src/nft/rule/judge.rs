//! What a rule that judges asks of a packet: whether it belongs to what was allowed before, and where it wants to go.

use super::{Register, Rule};
use crate::message::{put, put_nested};

impl Rule {
    /// It is part of a flow that has been answered, or tells of trouble with one.
    pub fn goes_on(self) -> Self {
        const STATE: u32 = 0;
        const ANSWERED: u32 = 1 << 1;
        const RELATED: u32 = 1 << 2;
        self.expression("ct", |data| {
            put(data, 1, &Register(0).number());
            put(data, 2, &STATE.to_be_bytes());
        })
        .bits(Register(0), &(ANSWERED | RELATED).to_ne_bytes(), &[0; 4])
        .compare(Register(0), false, &[0; 4])
    }

    /// The port that it wants is one of these, both ends included; only for packets with ports.
    pub fn target_port_from(self, first: u16, last: u16) -> Self {
        const INSIDE: u32 = 0;
        let rule = self.keep_target_port(Register(0));
        if first == last {
            return rule.compare(Register(0), true, &first.to_be_bytes());
        }
        rule.expression("range", |data| {
            put(data, 1, &Register(0).number());
            put(data, 2, &INSIDE.to_be_bytes());
            put_nested(data, 3, |value| put(value, 1, &first.to_be_bytes()));
            put_nested(data, 4, |value| put(value, 1, &last.to_be_bytes()));
        })
    }
}
