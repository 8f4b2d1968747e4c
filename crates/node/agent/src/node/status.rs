//! What the node's object says of the node, put together from what is known of it. Decides and does nothing else.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ContainerImage, DaemonEndpoint, NodeAddress, NodeDaemonEndpoints, NodeFeatures, NodeRuntimeHandler,
    NodeRuntimeHandlerFeatures, NodeStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use kedge_runtime::wire::{Image, RuntimeFeatures, RuntimeHandler};

use super::facts::{Facts, written};
use crate::board::Notes;
use crate::spec::env::Place;

/// Of the largest images so many are told of, and of each so many names.
const MOST_IMAGES: usize = 50;
const MOST_NAMES: usize = 5;

/// What nodes of this version can do that those of the version before could not, in the order of their names. The scheduler puts
/// pods that need one of these on nodes that say so, and nowhere else.
const DECLARED: [&str; 4] = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
];

/// What the runtime can, and the images that it has.
#[derive(Clone, Debug, Default)]
pub(super) struct Inventory {
    pub(super) handlers: Vec<RuntimeHandler>,
    pub(super) features: Option<RuntimeFeatures>,
    pub(super) images: Vec<ContainerImage>,
}

/// The status but for its conditions. What others wrote into it stays.
pub(super) fn status(
    before: NodeStatus,
    facts: &Facts,
    place: &Place,
    notes: &Notes,
    inventory: &Inventory,
) -> NodeStatus {
    let reached = notes.addresses.as_ref().unwrap_or(&place.node_ips);
    let addresses = reached.iter().map(|ip| ("InternalIP", ip.clone()));
    let addresses = addresses.chain([("Hostname", place.node.clone())]);
    let addresses = addresses.map(|(type_, address)| NodeAddress { type_: type_.to_owned(), address });
    let foreign = foreign(before.capacity.as_ref());
    let kept_back = foreign.iter().map(|(name, amount)| {
        let allocatable = before.allocatable.as_ref().and_then(|all| all.get(name));
        (name.clone(), allocatable.unwrap_or(amount).clone())
    });
    let allocatable = written(&facts.allocatable).into_iter().chain(kept_back).collect();
    let endpoint = notes.port.map(|port| DaemonEndpoint { port: port.into() });
    NodeStatus {
        addresses: Some(addresses.collect()),
        capacity: Some(written(&facts.capacity).into_iter().chain(foreign).collect()),
        allocatable: Some(allocatable),
        node_info: Some(facts.info.clone()),
        daemon_endpoints: endpoint
            .map(|endpoint| NodeDaemonEndpoints { kubelet_endpoint: Some(endpoint) })
            .or(before.daemon_endpoints),
        images: Some(inventory.images.clone()),
        runtime_handlers: (!inventory.handlers.is_empty())
            .then(|| inventory.handlers.iter().map(handler).collect()),
        features: inventory.features.map(|features| NodeFeatures {
            supplemental_groups_policy: Some(features.supplemental_groups_policy),
        }),
        declared_features: Some(DECLARED.map(str::to_owned).into()),
        ..before
    }
}

/// Resources that somebody else put onto the node.
fn foreign(capacity: Option<&BTreeMap<String, Written>>) -> BTreeMap<String, Written> {
    let all = capacity.into_iter().flatten().filter(|(name, _)| name.contains('/'));
    all.map(|(name, amount)| (name.clone(), amount.clone())).collect()
}

fn handler(handler: &RuntimeHandler) -> NodeRuntimeHandler {
    let features = handler.features.unwrap_or_default();
    NodeRuntimeHandler {
        name: Some(handler.name.clone()),
        features: Some(NodeRuntimeHandlerFeatures {
            recursive_read_only_mounts: Some(features.recursive_read_only_mounts),
            user_namespaces: Some(features.user_namespaces),
        }),
    }
}

/// The largest first; two of one size always in the same order, as a list that only changed its order is no news.
pub(super) fn images(mut all: Vec<Image>) -> Vec<ContainerImage> {
    all.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.id.cmp(&b.id)));
    let told = all.into_iter().take(MOST_IMAGES).map(|mut image| {
        image.repo_digests.sort();
        image.repo_tags.sort();
        let names = image.repo_digests.into_iter().chain(image.repo_tags).take(MOST_NAMES);
        ContainerImage {
            names: Some(names.collect()),
            size_bytes: Some(i64::try_from(image.size).unwrap_or(i64::MAX)),
        }
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::node::facts::Told;

    #[test]
    fn the_largest_images_are_told_of() {
        let image = |number: u64| Image {
            id: format!("i{number}"),
            repo_tags: vec![format!("t{number}")],
            repo_digests: (0..6).map(|digest| format!("d{digest}")).collect(),
            size: number,
            ..Image::default()
        };
        let told = images((0..60).map(image).collect());
        assert_eq!(told.len(), 50);
        assert_eq!(told[0].size_bytes, Some(59));
        assert_eq!(told[0].names.as_ref().map(Vec::len), Some(5));
    }

    #[test]
    fn what_others_wrote_stays() {
        let facts = Facts::read("n", Path::new("/"), &Told::default(), String::new(), String::new());
        let amount = |text: &str| Written(text.to_owned());
        let before = NodeStatus {
            capacity: Some(BTreeMap::from([
                ("example.com/dongle".to_owned(), amount("4")),
                ("cpu".to_owned(), amount("9999")),
            ])),
            phase: Some("kept".to_owned()),
            ..NodeStatus::default()
        };
        let place =
            Place { node: "n".to_owned(), node_ips: vec!["192.0.2.1".to_owned()], pod_ips: Vec::new() };
        let notes = Notes { port: Some(10250), ..Notes::default() };
        let moved = Notes { addresses: Some(vec!["192.0.2.7".to_owned()]), ..notes.clone() };
        let told = status(before.clone(), &facts, &place, &moved, &Inventory::default());
        assert_eq!(told.addresses.unwrap()[0].address, "192.0.2.7", "where it is now");
        let told = status(before, &facts, &place, &notes, &Inventory::default());
        let capacity = told.capacity.unwrap();
        assert_eq!(capacity["example.com/dongle"].0, "4");
        assert_ne!(capacity["cpu"].0, "9999");
        assert_eq!(told.allocatable.unwrap()["example.com/dongle"].0, "4");
        assert_eq!(told.phase.as_deref(), Some("kept"));
        let declared = told.declared_features.unwrap();
        assert!(
            declared.is_sorted() && declared.contains(&"RestartAllContainersOnContainerExits".to_owned())
        );
        assert_eq!(told.daemon_endpoints.unwrap().kubelet_endpoint.unwrap().port, 10250);
        let addresses: Vec<_> =
            told.addresses.unwrap().into_iter().map(|one| format!("{} {}", one.type_, one.address)).collect();
        assert_eq!(addresses, ["InternalIP 192.0.2.1", "Hostname n"]);
    }
}
