//! May they: the administrators everything, nodes what their pods need, everybody what their roles grant. The one place
//! where these are put together; refusing in words is `api`'s.

use kedge_registry::{Attributes, Authorizer, Decision, User};
use kedge_store::Store;

use crate::nodes::{self, Nodes};
use crate::rbac::{Ask, Rbac, What, is_master};

pub(crate) struct Access {
    pub(crate) rbac: Rbac,
    nodes: Nodes,
}

impl Access {
    pub(crate) fn new(store: &Store) -> Self {
        Self { rbac: Rbac::new(store.clone()), nodes: Nodes::new(store.clone()) }
    }

    /// `fields` is the request's field selector. The error says why not, where there is something to say.
    pub(crate) fn check(&self, user: &User, ask: &Ask<'_>, fields: &str) -> Result<(), String> {
        if is_master(user) {
            return Ok(());
        }
        let why = match self.nodes.decide(&self.rbac, user, ask, fields) {
            Some(Ok(())) => return Ok(()),
            Some(Err(why)) => why,
            None => String::new(),
        };
        if self.rbac.allows(user, ask) { Ok(()) } else { Err(why) }
    }

    /// The same with the reason for a yes, which takes longer.
    pub(crate) fn explain(&self, user: &User, ask: &Ask<'_>, fields: &str) -> Decision {
        match self.check(user, ask, fields) {
            Err(reason) => Decision { allowed: false, reason },
            Ok(()) if is_master(user) => Decision { allowed: true, reason: String::new() },
            Ok(()) => Decision { allowed: true, reason: self.rbac.why(user, ask).unwrap_or_default() },
        }
    }

    /// What cannot be listed of what the user may, in words; empty if all can.
    pub(crate) fn unlisted(user: &User) -> &'static str {
        match nodes::identity(user) {
            Some(_) => "node authorizer does not support user rule resolution",
            None => "",
        }
    }
}

impl Authorizer for Access {
    fn decide(&self, user: &User, attributes: &Attributes<'_>) -> Decision {
        let Attributes { verb, path, group, resource, subresource, namespace, name } = *attributes;
        let what = match path {
            "" => What::Resource { group, resource, subresource, namespace, name },
            path => What::Path(path),
        };
        self.explain(user, &Ask { verb, what }, "")
    }
}
