//! What a rule keeps for later: a mark on the packet, an entry in a set that goes by itself; and what it takes from chance and from
//! the flow that a packet belongs to.

use std::time::Duration;

use super::{Register, Rule};
use crate::message::{put, put_nested, put_text};

const META_PRIORITY: u32 = 2;
const META_MARK: u32 = 3;

/// What is done to an entry of a set that rules write.
#[derive(Clone, Copy)]
enum Change {
    Add = 0,
    Refresh = 1,
    Remove = 2,
}

impl Rule {
    /// Keeps a number below `limit`, another one each time.
    pub fn keep_chance(self, limit: u32, at: Register) -> Self {
        const RANDOM: u32 = 1;
        self.expression("numgen", |data| {
            put(data, 1, &at.number());
            put(data, 2, &limit.to_be_bytes());
            put(data, 3, &RANDOM.to_be_bytes());
            put(data, 4, &0u32.to_be_bytes());
        })
    }

    /// Sets bits of the packet's mark, for rules that it meets later.
    pub fn mark(self, bits: u32) -> Self {
        self.change_mark(!bits, bits)
    }

    pub fn unmark(self, bits: u32) -> Self {
        self.change_mark(!bits, 0)
    }

    pub fn is_marked(self, bits: u32) -> Self {
        self.meta(META_MARK, Register(0)).bits(Register(0), &bits.to_ne_bytes(), &[0; 4]).compare(
            Register(0),
            false,
            &[0; 4],
        )
    }

    fn change_mark(self, kept: u32, turned: u32) -> Self {
        self.meta(META_MARK, Register(0))
            .bits(Register(0), &kept.to_ne_bytes(), &turned.to_ne_bytes())
            .expression("meta", |data| {
                put(data, 2, &META_MARK.to_be_bytes());
                put(data, 3, &Register(0).number());
            })
    }

    /// Puts a number aside with the packet, where a later rule finds it: the place that is for its priority, which nobody has looked at
    /// yet. A key that came straight out of a map would be beyond what the program `nft` can show.
    pub fn put_aside(self, from: Register) -> Self {
        self.expression("meta", |data| {
            put(data, 2, &META_PRIORITY.to_be_bytes());
            put(data, 3, &from.number());
        })
    }

    pub fn put_nothing_aside(self) -> Self {
        self.expression("immediate", |data| {
            put(data, 1, &Register(0).number());
            put_nested(data, 2, |value| put(value, 1, &[0; 4]));
        })
        .put_aside(Register(0))
    }

    pub fn keep_what_is_aside(self, at: Register) -> Self {
        self.meta(META_PRIORITY, at)
    }

    /// Its flow was sent to another address than it asked for.
    pub fn was_sent_elsewhere(self) -> Self {
        const STATUS: u32 = 2;
        const TARGET_CHANGED: u32 = 1 << 5;
        self.expression("ct", |data| {
            put(data, 1, &Register(0).number());
            put(data, 2, &STATUS.to_be_bytes());
        })
        .bits(Register(0), &TARGET_CHANGED.to_ne_bytes(), &[0; 4])
        .compare(Register(0), false, &[0; 4])
    }

    /// Enters what is kept into a map for a while. The rule ends here if the map is full.
    pub fn remember(self, map: &str, key: Register, value: Register, life: Duration) -> Self {
        self.write(map, Change::Add, key, value, Some(life))
    }

    /// Lets an entry live on.
    pub fn refresh(self, map: &str, key: Register, value: Register, life: Duration) -> Self {
        self.write(map, Change::Refresh, key, value, Some(life))
    }

    pub fn forget(self, map: &str, key: Register, value: Register) -> Self {
        self.write(map, Change::Remove, key, value, None)
    }

    fn write(
        self,
        map: &str,
        change: Change,
        key: Register,
        value: Register,
        life: Option<Duration>,
    ) -> Self {
        self.expression("dynset", |data| {
            put_text(data, 1, map);
            put(data, 3, &(change as u32).to_be_bytes());
            put(data, 4, &key.number());
            put(data, 5, &value.number());
            if let Some(life) = life {
                let millis = u64::try_from(life.as_millis()).unwrap_or(u64::MAX);
                put(data, 6, &millis.to_be_bytes());
            }
        })
    }
}
