//! Claims and volumes in a whole cluster: bound, made where the pod runs, kept while used, left behind.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kedge_testkit::{Cluster, Look};
use kube::ResourceExt;
use kube::api::PropagationPolicy;

const VOLUMES: &str = "
apiVersion: v1
kind: PersistentVolume
metadata: { name: large }
spec: { capacity: { storage: 9Gi }, accessModes: [ReadWriteOnce], storageClassName: hand, hostPath: { path: /x } }
---
apiVersion: v1
kind: PersistentVolume
metadata: { name: small }
spec: { capacity: { storage: 2Gi }, accessModes: [ReadWriteOnce], storageClassName: hand, hostPath: { path: /y } }
";

const CLAIM: &str = "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { accessModes: [ReadWriteOnce], storageClassName: hand, resources: { requests: { storage: 1Gi } } }
";

const USER: &str = "
apiVersion: v1
kind: Pod
metadata: { name: user }
spec:
  containers: [{ name: c, image: i }]
  volumes: [{ name: v, persistentVolumeClaim: { claimName: local } }]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: local }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
";

fn claim(look: &Look, name: &str) -> (String, String) {
    let Some(claim) = look.get::<PersistentVolumeClaim>(name) else { return Default::default() };
    let phase = claim.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
    let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()).unwrap_or_default();
    (phase, volume)
}

fn phase(look: &Look, volume: &str) -> String {
    let volume = look.get::<PersistentVolume>(volume);
    volume.and_then(|volume| volume.status.as_ref()?.phase.clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_claim_gets_the_smallest_volume_that_fits_and_leaves_it_behind() {
    let cluster = Cluster::with_nodes([]).await;
    cluster.apply(VOLUMES).await;
    // Who binds claims may hear of a claim before it hears of a volume that is older.
    cluster
        .until("both are free", |c| ["small", "large"].iter().all(|name| phase(c, name) == "Available"))
        .await;
    cluster.apply(CLAIM).await;
    cluster
        .until("data is bound", |c| {
            claim(c, "data") == ("Bound".to_owned(), "small".to_owned()) && phase(c, "small") == "Bound"
        })
        .await;
    cluster.meanwhile("large is free", |c| phase(c, "large") == "Available").await;
    cluster.delete("PersistentVolume", "small", PropagationPolicy::Background).await;
    cluster.meanwhile("a bound volume stays", |c| phase(c, "small") == "Bound").await;
    cluster.delete("PersistentVolumeClaim", "data", PropagationPolicy::Background).await;
    cluster.until("both are gone", |c| phase(c, "small").is_empty() && claim(c, "data").0.is_empty()).await;
}

#[tokio::test]
async fn a_local_volume_is_made_where_its_pod_runs() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster
        .until("there is a class", |c| c.all::<k8s_openapi::api::storage::v1::StorageClass>().len() == 1)
        .await;
    cluster.apply(USER).await;
    cluster
        .until("local is bound and its pod is placed", |c| {
            let node = c.get::<Pod>("user").and_then(|pod| pod.spec.as_ref()?.node_name.clone());
            claim(c, "local").0 == "Bound" && node.as_deref() == Some("n1")
        })
        .await;
    cluster
        .until("the volume is on the pod's node", |c| {
            let volume = c.get::<PersistentVolume>(&claim(c, "local").1);
            volume.is_some_and(|volume| {
                volume.annotations().get("kedge.dev/node").is_some_and(|node| node == "n1")
            })
        })
        .await;
    cluster.delete("PersistentVolumeClaim", "local", PropagationPolicy::Background).await;
    cluster.meanwhile("a claim that is used stays", |c| claim(c, "local").0 == "Bound").await;
    cluster.delete("Pod", "user", PropagationPolicy::Background).await;
    cluster
        .until("the volume waits for its node", |c| {
            let volumes = c.all::<PersistentVolume>();
            claim(c, "local").0.is_empty()
                && volumes.iter().all(|volume| {
                    volume.metadata.deletion_timestamp.is_some()
                        && volume.finalizers() == ["kedge.dev/local-path"]
                })
        })
        .await;
}
