//! Objects described for people, as kubectl's users know it: one pure function from an object, what belongs to it, its events and the
//! time to a page of text. Asks no server; who calls has gathered everything.

pub(crate) mod access;
mod amounts;
mod autoscaler;
mod batch;
mod config;
mod containers;
pub(crate) mod events;
mod generic;
mod ingress;
mod namespace;
mod network_policy;
mod node;
mod page;
mod pod;
mod policy;
mod services;
pub(crate) mod shown;
mod signing;
mod storage;
#[cfg(test)]
mod tests;
mod volumes;
mod workloads;

pub(crate) use ingress::services_of;
use page::Page;
use serde_json::Value;
use shown::{Now, entries, pairs, plain, text};

/// What is told besides the object itself. What could not be read is told as it is known; what does not belong to the kind is empty.
#[derive(Default)]
pub(crate) struct Related {
    /// Pods that the object selects or carries; `None` if the user may not see them.
    pub(crate) pods: Option<Vec<Value>>,
    pub(crate) replica_sets: Vec<Value>,
    /// EndpointSlices of a service, or of all services that an ingress names.
    pub(crate) slices: Vec<Value>,
    /// Services that an ingress names; an error stands for one that could not be read.
    pub(crate) services: Vec<(String, Result<Value, String>)>,
    pub(crate) quotas: Vec<Value>,
    pub(crate) limits: Vec<Value>,
    pub(crate) lease: Option<Result<Value, String>>,
    /// Devices that only this node has.
    pub(crate) devices: Vec<Value>,
}

/// The whole page. No events at all are asked for with `--show-events=false`; none found is told.
pub(crate) fn describe(object: &Value, related: &Related, events: Option<&[Value]>, now: &Now) -> String {
    let mut page = Page::default();
    let given = Given { object, related, now };
    let told = with_hand(&mut page, &given);
    if told == Told::Unknown {
        generic::describe(&mut page, object);
    }
    if let (Some(events), true) = (events, told != Told::WithoutEvents) {
        events::describe(&mut page, events, now);
    }
    page.finish()
}

/// A controller's template alone, its columns apart by tabs, as those who show revisions print it.
pub(crate) fn template(template: &Value, now: &Now) -> String {
    let mut page = Page::default();
    pod::template(&mut page, template, now);
    page.apart()
}

/// The objects and the time that a page is made of.
struct Given<'g> {
    object: &'g Value,
    related: &'g Related,
    now: &'g Now,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    WithEvents,
    /// Nobody reports events on this kind.
    WithoutEvents,
    Unknown,
}

/// Kinds that have a page of their own.
fn with_hand(page: &mut Page, given: &Given<'_>) -> Told {
    let (group, kind) = (group(given.object), text(&given.object["kind"]));
    let silent: Option<fn(&mut Page, &Given<'_>)> = match (group, kind) {
        ("", "LimitRange") => Some(namespace::limit_range),
        ("", "Namespace") => Some(namespace::namespace),
        ("", "ResourceQuota") => Some(namespace::quota),
        ("", "Secret") => Some(config::secret),
        ("networking.k8s.io", "NetworkPolicy") => Some(network_policy::policy),
        ("rbac.authorization.k8s.io", "ClusterRole" | "Role") => Some(access::role),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => Some(access::binding),
        _ => None,
    };
    if let Some(tell) = silent {
        tell(page, given);
        return Told::WithoutEvents;
    }
    let tell: fn(&mut Page, &Given<'_>) = match (group, kind) {
        ("", "ConfigMap") => config::config_map,
        ("", "Endpoints") => services::endpoints,
        ("", "Node") => node::node,
        ("", "PersistentVolume") => storage::volume,
        ("", "PersistentVolumeClaim") => storage::claim,
        ("", "Pod") => pod::pod,
        ("", "ReplicationController") => workloads::replication_controller,
        ("", "Service") => services::service,
        ("", "ServiceAccount") => config::service_account,
        ("apps", "DaemonSet") => workloads::daemon_set,
        ("apps", "Deployment") => workloads::deployment,
        ("apps", "ReplicaSet") => workloads::replica_set,
        ("apps", "StatefulSet") => workloads::stateful_set,
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::autoscaler,
        ("batch", "CronJob") => batch::cron_job,
        ("batch", "Job") => batch::job,
        ("certificates.k8s.io", "CertificateSigningRequest") => signing::request,
        ("discovery.k8s.io", "EndpointSlice") => services::slice,
        ("networking.k8s.io", "IPAddress") => ingress::address,
        ("networking.k8s.io", "Ingress") => ingress::ingress,
        ("networking.k8s.io", "IngressClass") => ingress::class,
        ("networking.k8s.io", "ServiceCIDR") => ingress::service_cidr,
        ("policy", "PodDisruptionBudget") => policy::budget,
        ("scheduling.k8s.io", "PriorityClass") => policy::priority_class,
        ("storage.k8s.io", "CSINode") => storage::csi_node,
        ("storage.k8s.io", "StorageClass") => storage::class,
        ("storage.k8s.io", "VolumeAttributesClass") => storage::attributes_class,
        _ => return Told::Unknown,
    };
    tell(page, given);
    Told::WithEvents
}

pub(crate) fn group(object: &Value) -> &str {
    text(&object["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
}

fn name(page: &mut Page, object: &Value) {
    page.field(0, "Name", text(&object["metadata"]["name"]));
}

fn name_and_namespace(page: &mut Page, object: &Value) {
    name(page, object);
    page.field(0, "Namespace", text(&object["metadata"]["namespace"]));
}

fn labels_and_annotations(page: &mut Page, object: &Value) {
    page.list(0, "Labels", pairs(&object["metadata"]["labels"]));
    annotations(page, 0, &object["metadata"]["annotations"]);
}

/// Longer ones begin on a line of their own and are cut.
const LONGEST_ANNOTATION: usize = 140;

fn annotations(page: &mut Page, level: usize, annotations: &Value) {
    let mut lines = Vec::new();
    for (key, value) in entries(annotations) {
        if key == "kubectl.kubernetes.io/last-applied-configuration" {
            continue;
        }
        let value = plain(value);
        let value = value.strip_suffix('\n').unwrap_or(&value);
        if value.len() + key.len() + 2 > LONGEST_ANNOTATION || value.contains('\n') {
            lines.push(format!("{key}:"));
            lines.extend(value.split('\n').map(|line| format!("  {}", shortened(line))));
        } else {
            lines.push(format!("{key}: {value}"));
        }
    }
    page.list(level, "Annotations", lines);
}

fn shortened(line: &str) -> String {
    let longest = LONGEST_ANNOTATION - 2;
    if line.len() <= longest {
        return line.to_owned();
    }
    format!("{}...", &line[..line.floor_char_boundary(longest)])
}
