//! All servers of a cluster in one kubeconfig: listed in an extension, which other clients pass over, beside the one address that
//! they know. Asks nobody for anything; whoever takes a connection is taken to live.

use std::time::Duration;

use kube::config::{Cluster, Kubeconfig};
use tokio::net::TcpStream;

use crate::servers::Place;

/// What the extension of a cluster is called; it has a list `servers` of addresses like `https://10.0.0.1:6443`.
pub const EXTENSION: &str = "kedge.dev/servers";

/// How long one server has to take a connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// All servers that a cluster's entry lists, its own address first. Nothing if it has no list.
pub fn listed(cluster: &Cluster) -> Vec<Place> {
    let extensions = cluster.extensions.iter().flatten();
    let list =
        extensions.filter(|one| one.name == EXTENSION).find_map(|one| one.extension["servers"].as_array());
    let Some(list) = list else { return Vec::new() };
    let urls = cluster.server.as_deref().into_iter().chain(list.iter().filter_map(|url| url.as_str()));
    let mut places: Vec<Place> = Vec::new();
    for place in urls.filter_map(|url| url.parse().ok()) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The same kubeconfig, with each cluster's address that of a server that takes connections now. One without a list stays as it is,
/// and so does one of whose servers none answers.
pub async fn answering(mut kubeconfig: Kubeconfig) -> Kubeconfig {
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        for place in listed(cluster) {
            let dialled = TcpStream::connect((place.host.as_str(), place.port));
            if matches!(tokio::time::timeout(PATIENCE, dialled).await, Ok(Ok(_))) {
                cluster.server = Some(place.to_string());
                break;
            }
        }
    }
    kubeconfig
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::config::{NamedCluster, NamedExtension};
    use serde_json::json;

    fn cluster(server: &str, servers: &[&str]) -> Cluster {
        let extension = NamedExtension { name: EXTENSION.to_owned(), extension: json!({"servers": servers}) };
        Cluster { server: Some(server.to_owned()), extensions: Some(vec![extension]), ..Cluster::default() }
    }

    #[tokio::test]
    async fn the_next_server_is_taken_where_one_is_away() {
        let alive = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let alive = format!("https://{}", alive.local_addr().unwrap());
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let gone = format!("https://{gone}");
        let plain = Cluster { server: Some(gone.clone()), ..Cluster::default() };
        for (case, cluster, taken) in [
            ("its own lives", cluster(&alive, &[&gone, &alive]), &alive),
            ("its own is gone", cluster(&gone, &[&gone, "nonsense", &alive]), &alive),
            ("all are gone", cluster(&gone, &[&gone]), &gone),
            ("no list", plain, &gone),
        ] {
            let named =
                NamedCluster { name: "c".to_owned(), cluster: Some(cluster), ..NamedCluster::default() };
            let given = Kubeconfig { clusters: vec![named], ..Kubeconfig::default() };
            let found = answering(given).await.clusters.remove(0).cluster.unwrap().server;
            assert_eq!(found.as_ref(), Some(taken), "{case}");
        }
    }
}
