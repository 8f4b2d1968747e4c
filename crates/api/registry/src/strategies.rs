//! Which rules hold for which kind. One small file per kind or family; this one only finds it.
//! Knows no storage, no clock and no other object than the one at hand.

mod admission;
mod amounts;
mod api_service;
mod autoscaler;
mod certificate;
mod claim;
mod config_map;
mod container_devices;
mod cron_job;
mod custom;
mod custom_definition;
mod daemon_set;
mod deployment;
mod endpoints;
mod event;
mod fields;
mod flow;
mod ingress;
mod job;
mod lease;
mod limit_range;
pub(crate) mod names;
mod namespace;
mod network_policy;
mod node;
pub(crate) mod pod;
mod priority_class;
mod quota;
mod replica_set;
mod role;
mod secret;
mod service;
mod service_account;
mod stateful_set;
mod storage;
#[cfg(test)]
mod tests;
mod volume;
mod workload;

use kedge_kinds::Kind;

use crate::strategy::Strategy;

/// A built-in kind without rules of its own.
struct Plain;

impl Strategy for Plain {}

/// The rules of a kind. All versions of a kind share them: objects are in the stored version when they get here. Only a
/// custom kind has rules for each of its versions, and its objects are in that of the request.
pub fn strategy(kind: &Kind) -> &dyn Strategy {
    if kind.rules.is_some() {
        return kind;
    }
    match &*kind.gv.group {
        "" => core(&kind.kind),
        "admissionregistration.k8s.io" => admission::strategy(&kind.kind),
        "apiextensions.k8s.io" => &custom_definition::CustomDefinitions,
        "apiregistration.k8s.io" => &api_service::ApiServices,
        "apps" => apps(&kind.kind),
        "autoscaling" => &autoscaler::Autoscalers,
        "batch" if &*kind.kind == "CronJob" => &cron_job::CronJobs,
        "batch" => &job::Jobs,
        "certificates.k8s.io" => &certificate::SigningRequests,
        "coordination.k8s.io" => &lease::Leases,
        "discovery.k8s.io" => &endpoints::EndpointSlices,
        "events.k8s.io" => &event::Events,
        "flowcontrol.apiserver.k8s.io" if &*kind.kind == "FlowSchema" => &flow::FlowSchemas,
        "flowcontrol.apiserver.k8s.io" => &flow::PriorityLevels,
        "networking.k8s.io" => networking(&kind.kind),
        "node.k8s.io" => &node::RuntimeClasses,
        "policy" => &pod::budget::Budgets,
        "rbac.authorization.k8s.io" => role::strategy(&kind.kind),
        "resource.k8s.io" => container_devices::strategy(&kind.kind),
        "scheduling.k8s.io" => &priority_class::PriorityClasses,
        "storage.k8s.io" => storage::strategy(&kind.kind),
        "authentication.k8s.io" | "authorization.k8s.io" => &Plain,
        _ => &custom::Bare,
    }
}

fn core(kind: &str) -> &'static dyn Strategy {
    match kind {
        "ConfigMap" => &config_map::ConfigMaps,
        "Endpoints" => &endpoints::Endpoints,
        "Event" => &event::Events,
        "LimitRange" => &limit_range::LimitRanges,
        "Namespace" => &namespace::Namespaces,
        "Node" => &node::Nodes,
        "PersistentVolume" => &volume::Volumes,
        "PersistentVolumeClaim" => &claim::Claims,
        "Pod" => &pod::Pods,
        "PodTemplate" => &pod::template::Templates,
        "ReplicationController" => &replica_set::ReplicationControllers,
        "ResourceQuota" => &quota::Quotas,
        "Secret" => &secret::Secrets,
        "Service" => &service::Services,
        "ServiceAccount" => &service_account::ServiceAccounts,
        _ => &Plain,
    }
}

fn apps(kind: &str) -> &'static dyn Strategy {
    match kind {
        "DaemonSet" => &daemon_set::DaemonSets,
        "Deployment" => &deployment::Deployments,
        "ReplicaSet" => &replica_set::ReplicaSets,
        "StatefulSet" => &stateful_set::StatefulSets,
        _ => &stateful_set::Revisions,
    }
}

fn networking(kind: &str) -> &'static dyn Strategy {
    match kind {
        "Ingress" => &ingress::Ingresses,
        "IngressClass" => &ingress::IngressClasses,
        "NetworkPolicy" => &network_policy::NetworkPolicies,
        "IPAddress" => &service::addresses::Addresses,
        _ => &service::addresses::Ranges,
    }
}
