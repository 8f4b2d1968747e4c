use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_store::Store;
use serde_json::{Value, json};

use crate::{At, Options, Registry, WriteOptions};

async fn create(registry: &Registry, plural: &str, object: Value) -> Value {
    let kind = registry.catalog().kind("", "v1", plural).unwrap().clone();
    let at = At { kind, namespace: Some("default".into()), name: None, subresource: None };
    let made = registry.create(&at, object, &WriteOptions::default()).await.unwrap();
    serde_json::from_slice(&made.bytes).unwrap()
}

#[tokio::test]
async fn accounts_and_pods_can_opt_out() {
    let clock = Clock::manual("2030-01-01T12:00:00Z".parse::<Timestamp>().unwrap());
    let options = Options { namespace_worker: false, mount_tokens: true, ..Options::default() };
    let registry = Registry::start(Store::memory(), clock, options).await.unwrap();
    let said = |object: &mut Value, says: Option<bool>| {
        if let Some(says) = says {
            object["automountServiceAccountToken"] = says.into();
        }
    };
    for (name, says) in [("mount", Some(true)), ("nomount", Some(false)), ("unsaid", None)] {
        let mut account = json!({"metadata": {"name": name}, "imagePullSecrets": [{"name": "pull"}]});
        said(&mut account, says);
        create(&registry, "serviceaccounts", account).await;
        for (pod, pod_says, mounted) in
            [("yes", Some(true), true), ("no", Some(false), false), ("default", None, says != Some(false))]
        {
            let mut spec = json!({
                "serviceAccountName": name,
                "initContainers": [{"name": "i", "image": "i"}],
                "containers": [{"name": "c", "image": "i"}, {
                    "name": "own", "image": "i",
                    "volumeMounts": [{"name": "v", "mountPath": super::PATH}],
                }],
                "volumes": [{"name": "v", "emptyDir": {}}],
            });
            said(&mut spec, pod_says);
            let made = create(
                &registry,
                "pods",
                json!({"metadata": {"name": format!("{name}-{pod}")}, "spec": spec}),
            )
            .await;
            let spec = &made["spec"];
            let case = format!("{name}, {pod}");
            assert_eq!(spec["volumes"].as_array().unwrap().len(), 1 + usize::from(mounted), "{case}");
            let mounts = |list: &str, i: usize| spec[list][i]["volumeMounts"].as_array().map_or(0, Vec::len);
            let expected = usize::from(mounted);
            assert_eq!(
                (mounts("initContainers", 0), mounts("containers", 0)),
                (expected, expected),
                "{case}"
            );
            assert_eq!(mounts("containers", 1), 1, "{case}: what it mounts there itself stays");
            assert_eq!(spec["imagePullSecrets"], json!([{"name": "pull"}]), "{case}");
            if mounted {
                let name = spec["volumes"][1]["name"].as_str().unwrap();
                assert!(name.starts_with("kube-api-access-") && name.len() == 21, "{name}");
                let sources = &spec["volumes"][1]["projected"]["sources"];
                assert_eq!(
                    sources[0]["serviceAccountToken"],
                    json!({"expirationSeconds": 3607, "path": "token"})
                );
            }
        }
    }
}
