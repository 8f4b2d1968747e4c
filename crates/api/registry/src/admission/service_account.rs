//! Every pod runs as somebody: the namespace's `default` account where it names none.

use kedge_kinds::Status;
use serde_json::Value;

use super::{Plugin, View, forbidden};
use crate::object;

const MIRROR: &str = "kubernetes.io/config.mirror";

pub(super) struct ServiceAccount;

impl Plugin for ServiceAccount {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("", "Pod")
    }

    fn mutate(
        &self,
        view: &View<'_>,
        pod: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let named = object::text(pod, &["spec", "serviceAccountName"]).to_owned();
        // A mirror of a node's own pod is nobody: the node can't be given anyone's rights by it.
        if object::meta(pod, "annotations").is_some_and(|all| all.get(MIRROR).is_some()) {
            return match named.as_str() {
                "" => Ok(()),
                _ => Err(forbidden(&view.at.kind, pod, "a mirror pod may not reference service accounts")),
            };
        }
        let account = if named.is_empty() { "default" } else { &named };
        // The `default` account is on its way in a namespace that was made a moment ago.
        let namespace = view.at.namespace.as_deref().unwrap_or_default();
        if account != "default" && !view.has("serviceaccounts", &format!("{namespace}/{account}")) {
            let why = format!(
                "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
            );
            return Err(forbidden(&view.at.kind, pod, &why));
        }
        let spec = object::map_mut(pod, "spec");
        spec.insert("serviceAccountName".to_owned(), account.into());
        spec.insert("serviceAccount".to_owned(), account.into());
        Ok(())
    }
}
