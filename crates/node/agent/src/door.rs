//! Opens the node's door and keeps its logs short. What is behind the door is `kedge_door`'s.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kedge_door::{Door, Figures, Listening, Pods, Reviews, Rotation, Settings, keep_short};
use serde_json::{Value, json};

use crate::tools::Tools;

/// Until it is dropped. A node without a door runs its pods all the same.
pub(crate) async fn keep(tools: &Arc<Tools>, listening: Option<Listening>, figures: Arc<dyn Figures>) {
    let rotation = Rotation::default();
    let logs = tools.folders.all_logs().to_owned();
    let short = keep_short(logs, rotation, tools.runtime.clone(), tools.clock.clone());
    let serve = async {
        let Some(listening) = listening else { return };
        let port = listening.address().port();
        tools.board.write(|notes| notes.port = Some(port));
        let judge = Reviews::new(tools.client.clone(), tools.clock.clone(), &*tools.place.node);
        let door = Door::new(Settings {
            runtime: tools.runtime.clone(),
            pods: Arc::new(Here(tools.clone())),
            judge: Arc::new(judge),
            figures,
            clock: tools.clock.clone(),
            machine_logs: "/var/log".into(),
            config: config(tools, port, rotation),
        });
        match listening.serve(door).await {}
    };
    tokio::join!(short, serve);
}

/// The pods that have a life here.
struct Here(Arc<Tools>);

impl Pods for Here {
    fn all(&self) -> Vec<Arc<Pod>> {
        self.0.roster.all().into_iter().map(|seen| seen.pod).collect()
    }

    fn named(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        self.0.roster.named(namespace, name)
    }
}

/// How this node is set up, in the words of a kubelet's configuration.
fn config(tools: &Tools, port: u16, rotation: Rotation) -> Value {
    json!({"kubeletconfig": {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "port": port,
        "clusterDomain": tools.common.cluster_domain,
        "clusterDNS": tools.common.cluster_dns,
        "containerLogMaxSize": format!("{}Mi", rotation.bytes / (1024 * 1024)),
        "containerLogMaxFiles": rotation.files,
        "authentication": {"anonymous": {"enabled": false}, "webhook": {"enabled": true}},
        "authorization": {"mode": "Webhook"},
    }})
}
