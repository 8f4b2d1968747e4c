//! What all nodes must know alike of their cluster. A server knows it from its settings and publishes it; a further node reads it
//! there, so that nobody has to say it twice.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kedge_client::{Client, Objects};
use kedge_clock::Clock;
use kedge_network::{Backend, Range};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::settings::Settings;

const NAMESPACE: &str = "kube-public";
const NAME: &str = "kedge-cluster";
const SERVICES: Range = Range::v4(Ipv4Addr::new(10, 96, 0, 0), 16);
const PODS: Range = Range::v4(Ipv4Addr::new(10, 244, 0, 0), 16);
const DOMAIN: &str = "cluster.local";
/// Which of the services' addresses is that of the names.
const DNS: u64 = 10;
/// After it could not be published.
const AGAIN: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Cluster {
    /// Where pods get their addresses from, one for each family.
    #[serde(rename = "cluster-cidr")]
    pub(crate) pods: Vec<Range>,
    /// Where services do.
    #[serde(rename = "service-cidr")]
    pub(crate) services: Vec<Range>,
    /// What all names in the cluster end in.
    #[serde(rename = "cluster-domain")]
    pub(crate) domain: String,
    /// How packets get from node to node.
    #[serde(default)]
    pub(crate) pod_network: Backend,
    #[serde(default = "usual_port")]
    pub(crate) vxlan_port: u16,
    /// Where pods ask for names if it is not at a DNS of ours; with nothing in it, where their nodes do.
    #[serde(rename = "cluster-dns", default, skip_serializing_if = "Option::is_none")]
    pub(crate) other_dns: Option<Vec<IpAddr>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    #[error("cannot read {NAMESPACE}/{NAME}")]
    Read(#[from] Box<kube::Error>),
    #[error("{NAMESPACE}/{NAME} cannot be understood: this node and its server do not fit together")]
    Parse(#[from] serde_json::Error),
}

fn usual_port() -> u16 {
    kedge_network::USUAL_PORT
}

impl Cluster {
    /// As the server's own settings have it.
    pub(crate) fn of(settings: &Settings) -> Self {
        let usual = |told: &[Range], usual| if told.is_empty() { vec![usual] } else { told.to_vec() };
        Self {
            pods: usual(&settings.cluster_cidr, PODS),
            services: usual(&settings.service_cidr, SERVICES),
            domain: settings.cluster_domain.clone().unwrap_or_else(|| DOMAIN.to_owned()),
            pod_network: settings.pod_network.unwrap_or_default(),
            vxlan_port: settings.vxlan_port.unwrap_or_else(usual_port),
            other_dns: (settings.no_dns == Some(true) || !settings.cluster_dns.is_empty())
                .then(|| settings.cluster_dns.clone()),
        }
    }

    /// Where names are asked for: the same address on every node.
    pub(crate) fn dns(&self) -> Vec<IpAddr> {
        let ours = || self.services.iter().map(|range| range.at(DNS)).collect();
        self.other_dns.clone().unwrap_or_else(ours)
    }

    /// Every node answers there itself.
    pub(crate) fn has_own_dns(&self) -> bool {
        self.other_dns.is_none()
    }

    /// As a server published it.
    pub(crate) async fn read(client: &Client) -> Result<Self, ClusterError> {
        let map = Objects::<ConfigMap>::within(client, NAMESPACE).get(NAME).await;
        let map = map.map_err(Box::new)?;
        let text = map.data.unwrap_or_default().remove("cluster").unwrap_or_default();
        Ok(serde_json::from_str(&text)?)
    }

    /// Publishes it, however long that takes. What others wrote there before is replaced.
    pub(crate) async fn publish(&self, client: &Client, clock: &Clock) {
        while let Err(error) = self.write(client).await {
            tracing::warn!(%error, "cannot tell other nodes of the cluster yet");
            clock.sleep(AGAIN).await;
        }
    }

    async fn write(&self, client: &Client) -> Result<(), kube::Error> {
        let maps = Objects::<ConfigMap>::within(client, NAMESPACE);
        let data = [("cluster".to_owned(), json!(self).to_string())].into();
        match maps.find(NAME).await? {
            Some(map) if map.data.as_ref() == Some(&data) => Ok(()),
            Some(map) => {
                let map = ConfigMap { data: Some(data), ..map };
                maps.replace(NAME, &map).await.map(drop)
            }
            None => {
                let mut map = ConfigMap { data: Some(data), ..ConfigMap::default() };
                map.metadata.name = Some(NAME.to_owned());
                maps.create(&map).await.map(drop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_read_again() {
        let settings = Settings {
            cluster_cidr: vec!["10.1.0.0/16".parse().unwrap(), "fd00::/56".parse().unwrap()],
            ..Settings::default()
        };
        let cluster = Cluster::of(&settings);
        let text = json!(cluster).to_string();
        assert_eq!(
            text,
            r#"{"cluster-cidr":["10.1.0.0/16","fd00::/56"],"cluster-domain":"cluster.local","pod-network":"vxlan","service-cidr":["10.96.0.0/16"],"vxlan-port":8472}"#
        );
        assert_eq!(serde_json::from_str::<Cluster>(&text).unwrap(), cluster);
        assert_eq!(cluster.dns(), [IpAddr::from([10, 96, 0, 10])]);
        assert!(cluster.has_own_dns());
        let other = vec![IpAddr::from([192, 0, 2, 1])];
        for (no_dns, cluster_dns) in [(None, other), (Some(true), Vec::new())] {
            let cluster =
                Cluster::of(&Settings { no_dns, cluster_dns: cluster_dns.clone(), ..Settings::default() });
            assert_eq!((cluster.dns(), cluster.has_own_dns()), (cluster_dns, false));
            assert_eq!(serde_json::from_str::<Cluster>(&json!(cluster).to_string()).unwrap(), cluster);
        }
    }
}
