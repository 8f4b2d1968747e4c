//! The servers that a kubeconfig lists: in an extension of the cluster's entry, which other clients pass over, beside the one address
//! that they know. Asks nobody.

use kube::config::{Cluster, KubeConfigOptions, Kubeconfig};

use super::{Place, Servers};

impl Servers {
    /// What the extension of a cluster is called; it has a list `servers` of addresses like `https://10.0.0.1:6443`.
    pub const EXTENSION: &str = "kedge.dev/servers";

    /// All servers that a cluster's entry lists, its own address first. Nothing if it has no list, or says how to get there otherwise.
    pub fn listed(cluster: &Cluster) -> Vec<Place> {
        let extensions = cluster.extensions.iter().flatten();
        let list = extensions
            .filter(|one| one.name == Self::EXTENSION)
            .find_map(|one| one.extension["servers"].as_array());
        let (Some(list), None) = (list, &cluster.proxy_url) else { return Vec::new() };
        let urls = cluster.server.as_deref().into_iter().chain(list.iter().filter_map(|url| url.as_str()));
        let mut places: Vec<Place> = Vec::new();
        for place in urls.filter_map(|url| url.parse().ok()) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// The same for the one cluster of a kubeconfig that is meant.
    pub fn meant(kubeconfig: &Kubeconfig, options: &KubeConfigOptions) -> Vec<Place> {
        let context = options.context.as_ref().or(kubeconfig.current_context.as_ref());
        let context = || {
            let named = kubeconfig.contexts.iter().find(|named| Some(&named.name) == context)?;
            Some(&named.context.as_ref()?.cluster)
        };
        let Some(cluster) = options.cluster.as_ref().or_else(context) else { return Vec::new() };
        let named = kubeconfig.clusters.iter().find(|named| named.name == *cluster);
        named.and_then(|named| named.cluster.as_ref()).map(Self::listed).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use kube::config::{Context, NamedCluster, NamedContext, NamedExtension};
    use serde_json::json;

    use super::*;

    fn cluster(name: &str, server: &str, servers: &[&str]) -> NamedCluster {
        let extension =
            NamedExtension { name: Servers::EXTENSION.to_owned(), extension: json!({"servers": servers}) };
        let extensions = (!servers.is_empty()).then(|| vec![extension]);
        let cluster = Cluster { server: Some(server.to_owned()), extensions, ..Cluster::default() };
        NamedCluster { name: name.to_owned(), cluster: Some(cluster), ..NamedCluster::default() }
    }

    fn context(name: &str, cluster: &str) -> NamedContext {
        let context = Context { cluster: cluster.to_owned(), ..Context::default() };
        NamedContext { name: name.to_owned(), context: Some(context), ..NamedContext::default() }
    }

    #[test]
    fn only_the_cluster_that_is_meant_counts() {
        let mut proxied = cluster("proxied", "https://10.0.2.1:6443", &["https://10.0.2.2:6443"]);
        proxied.cluster.as_mut().unwrap().proxy_url = Some("http://10.0.9.9".to_owned());
        let kubeconfig = Kubeconfig {
            clusters: vec![
                cluster("many", "https://10.0.0.1:6443", &["https://10.0.0.1:6443", "?", "https://10.0.0.2"]),
                cluster("one", "https://10.0.1.1:6443", &[]),
                proxied,
            ],
            contexts: vec![context("here", "many"), context("there", "one"), context("nowhere", "?")],
            current_context: Some("here".to_owned()),
            ..Kubeconfig::default()
        };
        let both = "https://10.0.0.1:6443 https://10.0.0.2:6443";
        for (context, cluster, found) in [
            (None, None, both),
            (Some("there"), None, ""),
            (Some("there"), Some("many"), both),
            (None, Some("one"), ""),
            (None, Some("proxied"), ""),
            (Some("nowhere"), None, ""),
            (Some("unknown"), None, ""),
        ] {
            let options = KubeConfigOptions {
                context: context.map(str::to_owned),
                cluster: cluster.map(str::to_owned),
                ..KubeConfigOptions::default()
            };
            let places: Vec<String> =
                Servers::meant(&kubeconfig, &options).iter().map(ToString::to_string).collect();
            assert_eq!(places.join(" "), found, "{context:?} {cluster:?}");
        }
    }
}
