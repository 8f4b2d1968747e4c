//! What carrying traffic needs to know of the cluster: Services, their endpoints, pods, namespaces and nodes, each read with the few
//! fields that count. The world holds tens of thousands of them on every node. Decides nothing.

mod endpoints;
mod few;
mod lenient;
mod node;
mod pod;
mod service;

pub use self::endpoints::{Endpoint, Slice, SlicePort};
pub use self::few::Few;
pub use self::node::Node;
pub use self::pod::{Namespace, Pod};
pub use self::service::{Class, Protocol, Service, ServicePort};

/// A lean reading of a kind stands for that kind.
macro_rules! stands {
    ($lean:ty as $kind:ty) => {
        impl kube::Resource for $lean {
            type DynamicType = ();
            type Scope = <$kind as kube::Resource>::Scope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::kind(&())
            }

            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::group(&())
            }

            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::version(&())
            }

            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::plural(&())
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
use stands;

/// The same, and the world can hold it.
macro_rules! reads {
    ($lean:ty as $kind:ty) => {
        crate::stands!($lean as $kind);
        kedge_client::watched!($lean);
    };
}
use reads;
