//! What becomes of a request: a table of decisions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

use super::{CLIENT, Decision, KUBELET_CLIENT, KUBELET_SERVING, decide};

/// The PEM of a new request.
pub(crate) fn pem(name: &str, organization: &str, hosts: &[&str]) -> String {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject.push(DnType::OrganizationName, organization);
    params.distinguished_name = subject;
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

fn object(signer: &str, pem: &str, usages: &[&str], conditions: Value) -> Value {
    json!({
        "metadata": { "name": "csr", "creationTimestamp": "2030-01-01T12:00:00Z" },
        "spec": { "signerName": signer, "request": STANDARD.encode(pem), "usages": usages, "username": "system:node:n1" },
        "status": { "conditions": conditions },
    })
}

fn said(kind: &str) -> Value {
    json!([{ "type": kind, "status": "True", "lastUpdateTime": "2030-01-01T12:00:00Z" }])
}

fn shown(decision: Decision) -> String {
    match decision {
        Decision::Wait(until) => format!("wait until {until}"),
        Decision::Approve { message } => format!("approve: {message}"),
        Decision::Sign { lasts, usages, .. } => {
            format!("sign {} uses for {} s", usages.len(), lasts.as_secs())
        }
        Decision::Fail { message } => format!("fail: {message}"),
        Decision::Remove => "remove".to_owned(),
    }
}

#[test]
fn requests_are_approved_signed_refused_and_forgotten() {
    let now: Timestamp = "2030-01-01T12:00:01Z".parse().unwrap();
    let node = pem("system:node:n1", "system:nodes", &[]);
    let other = pem("system:node:n2", "system:nodes", &[]);
    let named = pem("system:node:n1", "system:nodes", &["n1.example"]);
    let user = pem("ann", "developers", &[]);
    let client = &["digital signature", "key encipherment", "client auth"][..];
    let serving = &["digital signature", "server auth"][..];
    let none = json!([]);
    let pending = "wait until 2030-01-02T12:00:00Z";
    let approved = said("Approved");
    for (case, signer, pem, usages, conditions, may, expected) in [
        (
            "a bootstrapper asks for a node",
            KUBELET_CLIENT,
            &other,
            client,
            &none,
            "nodeclient",
            "approve: Auto approving kubelet client certificate after SubjectAccessReview.",
        ),
        (
            "a node asks for itself",
            KUBELET_CLIENT,
            &node,
            client,
            &none,
            "selfnodeclient",
            "approve: Auto approving self kubelet client certificate after SubjectAccessReview.",
        ),
        ("a node asks for another", KUBELET_CLIENT, &other, client, &none, "selfnodeclient", pending),
        ("nobody asks for a node", KUBELET_CLIENT, &node, client, &none, "", pending),
        ("a node that wants to serve too", KUBELET_CLIENT, &node, serving, &none, "nodeclient", pending),
        ("a person asks for a person", CLIENT, &user, client, &none, "nodeclient", pending),
        ("approved", CLIENT, &user, client, &approved, "", "sign 3 uses for 31536000 s"),
        (
            "approved for another use",
            CLIENT,
            &user,
            &["client auth", "cert sign"][..],
            &approved,
            "",
            "fail: invalid usage for client certificate: cert sign",
        ),
        (
            "approved without its use",
            CLIENT,
            &user,
            &["digital signature"][..],
            &approved,
            "",
            "fail: missing required usage for client certificate: client auth",
        ),
        (
            "approved for no node",
            KUBELET_CLIENT,
            &user,
            client,
            &approved,
            "",
            "fail: subject organization is not system:nodes",
        ),
        (
            "approved with a host name",
            KUBELET_CLIENT,
            &named,
            client,
            &approved,
            "",
            "fail: DNS subjectAltNames are not allowed",
        ),
        (
            "approved without a host name",
            KUBELET_SERVING,
            &node,
            serving,
            &approved,
            "",
            "fail: DNS or IP subjectAltName is required",
        ),
        (
            "a node asks to serve as itself",
            KUBELET_SERVING,
            &named,
            serving,
            &none,
            "selfnodeserving",
            "approve: Auto approving kubelet serving certificate: it names nothing but the node that asks for it.",
        ),
        ("a node asks to serve as another", KUBELET_SERVING, &named, serving, &none, "nodeclient", pending),
        ("approved to serve", KUBELET_SERVING, &named, serving, &approved, "", "sign 2 uses for 31536000 s"),
        (
            "approved with too many uses",
            KUBELET_SERVING,
            &named,
            client,
            &approved,
            "",
            "fail: usages did not match [digital signature key encipherment server auth]",
        ),
        ("denied", CLIENT, &user, client, &said("Denied"), "", "wait until 2030-01-01T13:00:00Z"),
        ("failed", CLIENT, &user, client, &said("Failed"), "", "wait until 2030-01-01T13:00:00Z"),
        (
            "somebody else's signer",
            "acme.example/vault",
            &user,
            client,
            &approved,
            "",
            "wait until 2030-01-02T12:00:00Z",
        ),
    ] {
        let object = object(signer, pem, usages, conditions.clone());
        assert_eq!(shown(decide(&object, |asked| asked == may, now)), expected, "{case}");
    }
    let late: Timestamp = "2030-01-02T12:00:00Z".parse().unwrap();
    for conditions in [none, said("Denied"), said("Failed"), said("Approved")] {
        let old = object("acme.example/vault", &user, client, conditions.clone());
        assert_eq!(shown(decide(&old, |_| true, late)), "remove", "{conditions}");
    }
    let mut short = object(CLIENT, &user, client, said("Approved"));
    for (seconds, lasts) in [(600, 600), (1, 600), (i64::from(i32::MAX), 31_536_000)] {
        short["spec"]["expirationSeconds"] = seconds.into();
        assert_eq!(shown(decide(&short, |_| true, now)), format!("sign 3 uses for {lasts} s"));
    }
}
