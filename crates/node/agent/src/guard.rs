//! Who must know a pod's addresses before any of its containers runs. Knows nothing of what is done with them.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;

use crate::statics::is_static;

/// A pod that has its addresses now, and of which nothing runs yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub namespace: String,
    pub name: String,
    /// `None` for one from a file, which the API knows by another.
    pub uid: Option<String>,
    pub addresses: Vec<IpAddr>,
}

/// Asked before each start of a container; the container waits for the answer.
#[derive(Clone)]
pub struct Guard(Arc<dyn Fn(Arrival) -> BoxFuture<'static, ()> + Send + Sync>);

impl Guard {
    pub fn new(ask: impl Fn(Arrival) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// A pod without addresses of its own is its node.
    pub(crate) async fn admit(&self, pod: &Pod, addresses: &[String]) {
        let shares = pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
        let addresses: Vec<IpAddr> = addresses.iter().filter_map(|address| address.parse().ok()).collect();
        if shares || addresses.is_empty() {
            return;
        }
        let named = |name: &Option<String>| name.clone().unwrap_or_default();
        let arrival = Arrival {
            namespace: named(&pod.metadata.namespace),
            name: named(&pod.metadata.name),
            uid: pod.metadata.uid.clone().filter(|_| !is_static(pod)),
            addresses,
        };
        (self.0)(arrival).await;
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Guard")
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use parking_lot::Mutex;
    use serde_json::json;

    use super::*;

    #[test]
    fn who_is_told_of() {
        let told: Arc<Mutex<Vec<Arrival>>> = Arc::default();
        let guard = {
            let told = told.clone();
            Guard::new(move |arrival| {
                told.lock().push(arrival);
                std::future::ready(()).boxed()
            })
        };
        let ask = |pod: serde_json::Value, addresses: &[&str]| {
            let addresses: Vec<String> = addresses.iter().map(|address| (*address).to_owned()).collect();
            let pod: Pod = serde_json::from_value(pod).unwrap();
            guard.admit(&pod, &addresses).now_or_never().unwrap();
            told.lock().pop().map(|arrival| (arrival.name, arrival.uid, arrival.addresses.len()))
        };
        let meta = json!({"namespace": "x", "name": "a", "uid": "1"});
        for (case, pod, addresses, expected) in [
            ("a pod", json!({"metadata": meta}), &["10.0.0.2", "fd00::2"][..], Some((Some("1"), 2))),
            ("none yet", json!({"metadata": meta}), &[][..], None),
            (
                "it is its node",
                json!({"metadata": meta, "spec": {"hostNetwork": true, "containers": []}}),
                &["192.0.2.1"][..],
                None,
            ),
            (
                "one from a file",
                json!({"metadata": {"namespace": "x", "name": "a", "uid": "1", "annotations": {"kubernetes.io/config.source": "file"}}}),
                &["10.0.0.2"][..],
                Some((None, 1)),
            ),
        ] {
            let expected = expected.map(|(uid, count)| ("a".to_owned(), uid.map(str::to_owned), count));
            assert_eq!(ask(pod, addresses), expected, "{case}");
        }
    }
}
