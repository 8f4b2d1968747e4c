//! Which of the runtime's ways of running a pod its class asks for.

use k8s_openapi::api::node::v1::RuntimeClass;
use kube::Api;

use super::Work;

#[derive(Debug, thiserror::Error)]
pub(super) enum ClassError {
    #[error("failed to get sandbox runtime: runtimeclass.node.k8s.io {name:?} not found")]
    Unknown { name: String },
    #[error("failed to get sandbox runtime: cannot ask for the RuntimeClass {name:?}: {source}")]
    Unread { name: String, source: Box<kube::Error> },
}

/// The runtime's own choice is the empty one.
pub(super) async fn handler(work: &Work) -> Result<String, ClassError> {
    let class = work.pod.spec.as_ref().and_then(|spec| spec.runtime_class_name.as_deref());
    let Some(name) = class.filter(|name| !name.is_empty()) else { return Ok(String::new()) };
    let classes = Api::<RuntimeClass>::all(work.tools.client.clone());
    match classes.get_opt(name).await {
        Ok(Some(class)) => Ok(class.handler),
        Ok(None) => Err(ClassError::Unknown { name: name.to_owned() }),
        Err(source) => Err(ClassError::Unread { name: name.to_owned(), source: Box::new(source) }),
    }
}
