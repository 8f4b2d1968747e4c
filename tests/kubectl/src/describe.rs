//! `describe` of our own command line beside stock kubectl's: the same words in the same columns for every kind.

use std::path::Path;

use crate::cluster::{Cluster, assert_has, eventually, text};
use crate::kinds::UNKNOWN;

/// What newer kubectls tell and older ones don't, or the other way round.
const OF_ONE_VERSION: [&str; 11] = [
    "Optional:",
    "ConfigMapOptional:",
    "SecretOptionalName:",
    "Time Zone:",
    "AppProtocol:",
    "Traffic Distribution:",
    "NodeName:",
    "Zone:",
    "Mountable secrets:",
    "Tokens:",
    "Kube-Proxy Version:",
];

/// Objects that the folder of all kinds has no example of.
const MORE: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: everything
  annotations: {note: "two\nlines", long: "LONG"}
spec:
  priorityClassName: system-cluster-critical
  nodeSelector: {disk: fast}
  tolerations: [{key: x, operator: Exists}, {operator: Exists, effect: NoExecute, tolerationSeconds: 5}]
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  readinessGates: [{conditionType: example.com/ready}]
  initContainers: [{name: first, image: "x:1", command: ["sh", "-c", "one\ntwo"]}]
  containers:
  - name: main
    image: x:1
    args: [a, b]
    ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP}]
    env:
    - {name: PLAIN, value: "x"}
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: requests.memory, divisor: 1Mi}}}
    - {name: SECRET, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
    - {name: CONFIG, valueFrom: {configMapKeyRef: {name: c, key: k}}}
    envFrom: [{configMapRef: {name: c}}, {prefix: P_, secretRef: {name: s, optional: true}}]
    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
    livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 7}
    readinessProbe: {exec: {command: [cat, /ready]}}
    startupProbe: {tcpSocket: {port: 80}}
    volumeMounts: [{name: e, mountPath: /e, subPath: s}, {name: c, mountPath: /c, readOnly: true}]
  - {name: second, image: "x:2"}
  volumes:
  - {name: e, emptyDir: {sizeLimit: 1Gi}}
  - {name: c, configMap: {name: c}}
  - {name: s, secret: {secretName: s}}
  - {name: h, hostPath: {path: /h}}
  - {name: p, persistentVolumeClaim: {claimName: disk}}
  - {name: nfs, nfs: {server: a, path: /b}}
  - {name: d, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}
  - name: j
    projected: {sources: [{secret: {name: s}}, {configMap: {name: c}}, {serviceAccountToken: {path: t}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: squeezed}
spec:
  containers: [{name: main, image: "x:1"}]
  volumes:
  - {name: v, csi: {driver: example.com, volumeAttributes: {a: b, c: d}}}
  - name: m
    ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}
---
apiVersion: v1
kind: Event
metadata: {name: everything.1}
involvedObject: {apiVersion: v1, kind: Pod, name: everything, namespace: walk, uid: UID}
type: Warning
reason: Unlucky
message: " it did not go well\n"
count: 3
firstTimestamp: "2020-01-01T00:00:00Z"
lastTimestamp: "2021-01-01T00:00:00Z"
source: {component: someone}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: both-ways}
spec:
  podSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: NotIn, values: [zz, yy]}]}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {}, namespaceSelector: {matchLabels: {name: m}}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
    ports: [{port: 80}, {port: 100, endPort: 200, protocol: UDP}]
  - {}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: careful}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}
  - {type: Pods, pods: {metric: {name: hits}, target: {type: AverageValue, averageValue: "10"}}}
  - type: Object
    object: {metric: {name: m}, describedObject: {apiVersion: v1, kind: Service, name: web}, target: {type: Value, value: "3"}}
  - {type: External, external: {metric: {name: q}, target: {type: AverageValue, averageValue: "1"}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: main, target: {type: Utilization, averageUtilization: 5}}}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 60, selectPolicy: Min, policies: [{type: Pods, value: 1, periodSeconds: 30}]}
---
apiVersion: v1
kind: Service
metadata: {name: two-ports}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{name: a, port: 80, targetPort: http}, {name: b, port: 81, protocol: UDP}]
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: scoped}
spec: {hard: {pods: "4"}, scopes: [BestEffort]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: describe-test}
rules:
- {apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}
- {apiGroups: [apps], resources: [deployments], resourceNames: [a, b], verbs: ["*"]}
- {nonResourceURLs: [/healthz], verbs: [get, head]}
"#;

#[test]
fn every_kind_is_described_as_kubectl_does() {
    let cluster = Cluster::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests");
    let manifests = folder.to_string_lossy();
    cluster.kubectl(["create", "--filename", &manifests]);
    let (pod, others) = MORE.split_once("---").unwrap();
    cluster.kubectl_with(&pod.replace("LONG", &"long ".repeat(60)), ["create", "--filename=-"]);
    let uid = cluster.object("pod", "everything")["metadata"]["uid"].as_str().unwrap().to_owned();
    let made =
        cluster.kubectl_with(&others.replace("UID", &uid), ["create", "--filename=-", "--output=name"]);
    let names = cluster.kubectl(["get", "--filename", &manifests, "--output=name"]);
    let mut differing = Vec::new();
    for name in names.lines().chain(made.lines()).chain(["pod/everything", "namespace/walk"]) {
        // Older ones leave out where a daemon set is, too.
        if UNKNOWN.iter().chain(&["daemonset."]).any(|kind| name.starts_with(kind)) {
            continue;
        }
        differing.extend(same(&cluster, name).err());
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Both describe an object the same way; otherwise how they differ.
pub(crate) fn same(cluster: &Cluster, name: &str) -> Result<(), String> {
    let mut last = String::new();
    // Ages may change between the two, controllers may just be at work; after a while they agree.
    for _ in 0..5 {
        let ours = described(&cluster.own(["describe", name]));
        let theirs = described(&cluster.kubectl(["describe", name]));
        if ours == theirs {
            return Ok(());
        }
        last = format!("{name}\n--- ours\n{ours}\n--- kubectl's\n{theirs}");
    }
    Err(last)
}

/// Without what only one version of kubectl tells.
fn described(page: &str) -> String {
    let told =
        page.lines().filter(|line| !OF_ONE_VERSION.iter().any(|one| line.trim_start().starts_with(one)));
    // Which container an event is about is told since 1.35.
    let told = told.map(|line| line.replace("spec.containers{main}: ", ""));
    // Two kinds of volumes get out of kubectl's columns; there only the words are compared.
    let squeezed = page.contains("squeezed");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    told.map(|line| if squeezed { words(&line) } else { line } + "\n").collect()
}

#[test]
fn names_may_be_cut_short_and_several_are_told_without_events() {
    let cluster = Cluster::start();
    for name in ["web-1", "web-2", "other"] {
        cluster.kubectl(["create", "configmap", name, "--from-literal=a=b"]);
    }
    for arguments in [
        vec!["configmap", "web"],
        vec!["configmap", "web-1", "other"],
        vec!["cm/web-1", "cm/other"],
        vec!["configmaps"],
    ] {
        let with = |program: &dyn Fn(Vec<&str>) -> String| {
            let words = std::iter::once("describe").chain(arguments.iter().copied());
            program(words.collect())
        };
        // Since 1.35 kubectl tells no events of several objects, and neither do we.
        let eventless = |page: String| page.replace("\nEvents:  <none>\n", "\n");
        let (ours, theirs) = (with(&|words| cluster.own(words)), with(&|words| cluster.kubectl(words)));
        assert_eq!(eventless(ours), eventless(theirs), "{arguments:?}");
    }
    let output = cluster.own_command(["describe", "configmap", "nothing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_has(&text(&output.stderr), &["(NotFound)", "configmaps \"nothing\" not found"]);
}

#[test]
fn events_are_told_as_kubectl_does() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "deployment", "web", "--image=x:1"]);
    eventually("something happened", || {
        let (ours, theirs) = (
            cluster.own(["events", "--for=deployment/web"]),
            cluster.kubectl(["events", "--for=deployment/web"]),
        );
        if ours == theirs && ours.contains("ScalingReplicaSet") {
            Ok(())
        } else {
            Err(format!("{ours}\n{theirs}"))
        }
    });
    let warnings =
        cluster.own_command(["events", "--types=Warning", "--for=deployment/web"]).output().unwrap();
    assert_has(&text(&warnings.stderr), &["No events found in walk namespace."]);
}
