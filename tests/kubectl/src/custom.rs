//! Operators' definitions, small ones of the shapes that are met in the field, as their users handle them.

use serde_json::json;

use crate::cluster::{Cluster, assert_has, error};

const CERTIFICATES: &str = include_str!("../custom/certificates.yaml");
const MONITORS: &str = include_str!("../custom/monitors.yaml");
const DATASETS: &str = include_str!("../custom/datasets.yaml");

const CERTIFICATE: &str = "
apiVersion: pki.kubectl-test.example/v1
kind: Certificate
metadata: {name: web}
spec: {secretName: web-tls, commonName: web.example, issuerRef: {name: root}}
";

const MONITOR: &str = "
apiVersion: metrics.kubectl-test.example/v1
kind: Monitor
metadata: {name: web}
spec: {targetPort: metrics, storage: 10Gi, endpoints: [{port: http}], extra: {a: {b: [1]}}}
";

fn define(cluster: &Cluster, definition: &str, name: &str) {
    cluster.kubectl_with(definition, ["apply", "--server-side", "--filename=-"]);
    cluster.kubectl(["wait", "--for=condition=Established", "--timeout=10s", &format!("crd/{name}")]);
}

#[test]
fn a_certificate_is_explained_applied_shown_and_judged() {
    let cluster = Cluster::start();
    define(&cluster, CERTIFICATES, "certificates.pki.kubectl-test.example");
    let told = cluster.kubectl(["explain", "certificates.spec"]);
    assert_has(&told, &["What the certificate shall say.", "secretName", "-required-", "issuerRef"]);
    assert_has(
        &cluster.kubectl(["explain", "crt.spec.secretName"]),
        &["Where key and certificate are kept."],
    );
    assert_has(&cluster.kubectl(["api-resources", "--api-group=pki.kubectl-test.example"]), &["crt,crts"]);
    cluster.kubectl_with(CERTIFICATE, ["apply", "--server-side", "--filename=-"]);
    let made = cluster.object("crt", "web");
    assert_eq!(made["spec"]["issuerRef"], json!({"name": "root", "kind": "Issuer"}));
    assert_eq!(made["spec"]["privateKey"], json!({"algorithm": "ECDSA"}));
    let ready = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    cluster.kubectl(["patch", "crt", "web", "--subresource=status", "--type=merge", "--patch", ready]);
    cluster.kubectl(["wait", "--for=condition=Ready", "--timeout=10s", "certificate/web"]);
    let shown = cluster.kubectl(["get", "pki", "--output=wide"]);
    assert_has(&shown, &["READY", "SECRET", "ISSUER", "True", "web-tls", "root"]);
    let nameless = CERTIFICATE.replace("commonName: web.example, ", "");
    let refused =
        cluster.output_with(&nameless, ["apply", "--server-side", "--force-conflicts", "--filename=-"]);
    assert_has(&error(&refused), &["a common name or a DNS name is needed"]);
    let odd = CERTIFICATE.replace("secretName: web-tls", "secretName: web-tls, colour: red");
    let refused = cluster.output_with(&odd, ["apply", "--filename=-"]);
    assert_has(&error(&refused), &["unknown field \"spec.colour\""]);
}

#[test]
fn a_monitor_is_edited_scaled_and_selected() {
    let cluster = Cluster::start();
    define(&cluster, MONITORS, "monitors.metrics.kubectl-test.example");
    cluster.kubectl_with(MONITOR, ["apply", "--filename=-"]);
    let made = cluster.object("mon", "web");
    assert_eq!(made["spec"]["endpoints"], json!([{"port": "http", "interval": "30s"}]));
    assert_eq!(
        (&made["spec"]["extra"], &made["spec"]["tier"]),
        (&json!({"a": {"b": [1]}}), &json!("bronze"))
    );
    cluster.kubectl(["scale", "monitor/web", "--replicas=4"]);
    assert_eq!(cluster.object("monitor", "web")["spec"]["shards"], 4);
    let editor = cluster.file("editor", "#!/bin/sh\nsed -i 's/tier: bronze/tier: gold/' \"$1\"\n");
    let mut edit = cluster.command(["edit", "monitor", "web"]);
    let edited = edit.env("EDITOR", format!("sh {editor}")).output().unwrap();
    assert!(edited.status.success(), "{}", error(&edited));
    let gold = cluster.kubectl(["get", "monitors", "--field-selector=spec.tier=gold", "--output=name"]);
    assert_eq!(gold.trim(), "monitor.metrics.kubectl-test.example/web");
    let none = cluster.kubectl(["get", "monitors", "--field-selector=spec.tier=bronze", "--output=name"]);
    assert_eq!(none.trim(), "");
    let mut old = cluster.command(["get", "monitors.v1alpha1.metrics.kubectl-test.example", "web"]);
    let old = old.output().unwrap();
    assert_has(&error(&old), &["Warning: metrics.kubectl-test.example/v1alpha1 Monitor goes away; use v1"]);
    let wrong = MONITOR.replace("storage: 10Gi", "storage: much");
    let refused = cluster.output_with(&wrong, ["apply", "--filename=-"]);
    assert_has(&error(&refused), &["spec.storage"]);
}

#[test]
fn a_data_set_keeps_what_its_rules_keep_and_goes_with_its_definition() {
    let cluster = Cluster::start();
    define(&cluster, DATASETS, "datasets.edge.kubectl-test.example");
    let set = |format: &str, mounts: &str| {
        format!(
            "---\n{{apiVersion: edge.kubectl-test.example/v1alpha1, kind: Dataset, metadata: {{name: faces}}, spec: {{format: {format}, mounts: {mounts}}}}}"
        )
    };
    let first = set("csv", "[{mountPoint: 'https://a.example/'}]");
    cluster.kubectl_with(&first, ["apply", "--server-side", "--field-manager=one", "--filename=-"]);
    let second = set("csv", "[{mountPoint: 'https://b.example/', readOnly: false}]");
    cluster.kubectl_with(&second, ["apply", "--server-side", "--field-manager=two", "--filename=-"]);
    let mounts = cluster.object("dataset", "faces")["spec"]["mounts"].clone();
    assert_eq!(
        mounts,
        json!([{"mountPoint": "https://a.example/", "readOnly": true}, {"mountPoint": "https://b.example/", "readOnly": false}])
    );
    let refused = cluster.refused([
        "patch",
        "dataset",
        "faces",
        "--type=merge",
        "--patch",
        r#"{"spec":{"format":"png"}}"#,
    ]);
    assert_has(&refused, &["the format of a data set stays"]);
    cluster.kubectl(["delete", "crd", "datasets.edge.kubectl-test.example", "--timeout=20s"]);
    // kubectl remembers for a while what there was; the server is what counts.
    assert_has(&cluster.refused(["get", "datasets"]), &["the server could not find the requested resource"]);
    let served = cluster.kubectl(["get", "--raw", "/apis"]);
    assert!(!served.contains("edge.kubectl-test.example"), "{served}");
    define(&cluster, DATASETS, "datasets.edge.kubectl-test.example");
    assert_eq!(cluster.kubectl(["get", "datasets", "--output=name"]).trim(), "");
}

#[test]
fn a_definition_of_a_megabyte_is_applied() {
    let cluster = Cluster::start();
    let described = "what this field is for, told at length; ".repeat(25);
    let mut fields = String::new();
    for at in 0..900 {
        fields.push_str(&format!("              field{at}: {{type: string, description: {described:?}}}\n"));
    }
    let large = MONITORS
        .replace("              tier: {type: string", &format!("{fields}              tier: {{type: string"));
    assert!(large.len() > 900_000 && large.len() < 1_400_000, "{} bytes", large.len());
    define(&cluster, &large, "monitors.metrics.kubectl-test.example");
    cluster.kubectl_with(&large, ["apply", "--server-side", "--filename=-"]);
    cluster.kubectl_with(MONITOR, ["apply", "--filename=-"]);
    assert_has(&cluster.kubectl(["explain", "monitor.spec.field899"]), &["told at length"]);
}

#[test]
fn own_kinds_look_the_same_to_our_own_command_line() {
    let cluster = Cluster::start();
    define(&cluster, CERTIFICATES, "certificates.pki.kubectl-test.example");
    define(&cluster, MONITORS, "monitors.metrics.kubectl-test.example");
    cluster.kubectl_with(MONITOR, ["apply", "--filename=-"]);
    for line in [
        "explain certificates",
        "explain crt.spec",
        "explain crt.spec.issuerRef",
        "explain certificate.spec.secretName",
        "explain crt --recursive",
        "explain monitors.spec",
        "explain mon.spec.endpoints",
        "explain mon.spec.endpoints.params",
        "explain mon.spec.storage",
        "explain monitors.metrics.kubectl-test.example --recursive",
        "explain monitor --api-version=metrics.kubectl-test.example/v1alpha1",
        "get mon",
        "get mon web -o yaml",
        "get mon -o go-template={{range .items}}{{.spec.shards}}{{.spec.endpoints}}{{end}}",
        "get crt,mon -o name",
        "describe mon web",
        "api-resources --api-group=metrics.kubectl-test.example",
        "auth can-i create monitors",
        "auth can-i list mon.metrics.kubectl-test.example --as=nobody",
    ] {
        let (ours, stock) = crate::own::both(&cluster, line);
        assert_eq!(crate::own::ageless(&ours.out), crate::own::ageless(&stock.out), "{line}\n{}", ours.err);
        assert_eq!(ours.code, stock.code, "{line}\n{}", ours.err);
    }
}
