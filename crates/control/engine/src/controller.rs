//! What a controller is: which objects it looks after, what wakes it, and a plan. It decides and does nothing else: no
//! client, no clock, no `await`.

use jiff::Timestamp;
use kedge_client::world::Watched;
use kedge_client::{Key, NotReady, Seen, World};

use crate::action::Action;
use crate::carry::Refusal;

pub trait Controller: Send + Sync + 'static {
    /// The kind whose objects it looks after, one at a time.
    type Root: Watched;

    /// For events, counters and logs: `replicaset-controller`.
    const NAME: &'static str;

    /// Watches every kind that `plan` reads.
    fn watch(&self, world: &World);

    /// Which of its objects a change concerns. An event only says what to look at again, never what to do.
    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        of_root::<Self::Root>(seen)
    }

    /// What to do about one object, given everything that is known. The same world gives the same plan, and a world in
    /// which the plan was carried out gives an empty one.
    fn plan(&self, root: &Self::Root, world: &World, now: Timestamp) -> Result<Plan, NotReady>;

    /// What to do when part of a plan was refused for good reasons, such as a quota. The plan itself is tried again later.
    fn refused(&self, _root: &Self::Root, _refusals: &[Refusal], _now: Timestamp) -> Vec<Action> {
        Vec::new()
    }
}

/// The object itself if it is a root, else the root that controls it or did until now.
pub fn of_root<Root: Watched>(seen: &Seen<'_>) -> Vec<Key> {
    if seen.is::<Root>() {
        return vec![seen.key.clone()];
    }
    let kind = Root::kind(&());
    let mine = seen.controllers().filter(|owner| owner.kind == *kind);
    mine.map(|owner| Key::new(seen.key.namespace.clone(), owner.name.clone())).collect()
}

/// Steps in order, and when to look again although nothing changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Neighbouring creations happen together, and so do neighbouring deletions; everything else one after the other. What
    /// fails ends the turn, so what stands behind may rely on what stands before; only a status is also written where a
    /// creation before it was refused.
    pub actions: Vec<Action>,
    pub look_again: Option<Timestamp>,
}

impl Plan {
    #[must_use]
    pub fn then(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.actions.extend(actions);
        self
    }

    /// The earliest of several moments counts.
    #[must_use]
    pub fn again_at(mut self, moment: Option<Timestamp>) -> Self {
        self.look_again = [self.look_again, moment].into_iter().flatten().min();
        self
    }
}

impl<A: IntoIterator<Item = Action>> From<A> for Plan {
    fn from(actions: A) -> Self {
        Self::default().then(actions)
    }
}
