//! Which of the runtime's ways of running a pod its class asks for, and whether it can do so with users that are the pod's own.

use k8s_openapi::api::node::v1::RuntimeClass;
use kedge_client::Objects;
use kedge_runtime::RuntimeError;

use super::Work;
use crate::spec::security::has_own_users;
use crate::users::{self, Users, UsersError};

#[derive(Debug, thiserror::Error)]
pub(super) enum ClassError {
    #[error("failed to get sandbox runtime: runtimeclass.node.k8s.io {name:?} not found")]
    Unknown { name: String },
    #[error("failed to get sandbox runtime: cannot ask for the RuntimeClass {name:?}: {source}")]
    Unread { name: String, source: Box<kube::Error> },
    #[error(transparent)]
    Users(#[from] UsersError),
    #[error("can't set `spec.hostUsers: false`: {0}")]
    Silent(#[from] RuntimeError),
}

/// How a pod is run.
pub(super) struct Way {
    /// The runtime's own choice is the empty one.
    pub(super) handler: String,
    /// Set aside for it if it wants its own. It never gets the node's in their place.
    pub(super) users: Option<Users>,
}

pub(super) async fn way(work: &Work) -> Result<Way, ClassError> {
    let handler = handler(work).await?;
    if !has_own_users(&work.pod) {
        return Ok(Way { handler, users: None });
    }
    let handlers = work.tools.runtime.status().await?.runtime_handlers;
    users::supported(&handlers, &handler)?;
    users::let_pass(&work.tools.folders.above_containers())?;
    let users = work.tools.ranges.give(&work.tools.folders, work.uid())?;
    Ok(Way { handler, users: Some(users) })
}

async fn handler(work: &Work) -> Result<String, ClassError> {
    let class = work.pod.spec.as_ref().and_then(|spec| spec.runtime_class_name.as_deref());
    let Some(name) = class.filter(|name| !name.is_empty()) else { return Ok(String::new()) };
    let classes = Objects::<RuntimeClass>::all(&work.tools.client);
    match classes.find(name).await {
        Ok(Some(class)) => Ok(class.handler),
        Ok(None) => Err(ClassError::Unknown { name: name.to_owned() }),
        Err(source) => Err(ClassError::Unread { name: name.to_owned(), source: Box::new(source) }),
    }
}
