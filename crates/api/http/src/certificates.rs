//! Who may say what to a CertificateSigningRequest: approving and signing are granted by signer, and nobody asks for an
//! administrator's certificate by this way.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kedge_kinds::Status;
use kedge_pki::Request;
use kedge_registry::{Judge, User};
use serde_json::Value;

use crate::api::Api;
use crate::call::Call;
use crate::nodes;
use crate::rbac::{Ask, What};

pub(crate) const GROUP: &str = "certificates.k8s.io";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET: [&str; 2] = ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"];

/// On a node's object: by what key its machine is known again.
const NODE_KEY: &str = "kedge.dev/node-key";

/// `None` for what nobody has to be asked about.
pub(crate) fn judge(api: &Arc<Api>, call: &Call) -> Option<Judge> {
    let kind = call.at.kind.clone();
    if &*kind.plural != "certificatesigningrequests" {
        return None;
    }
    let (api, user) = (api.clone(), call.user.clone());
    let subresource = call.at.subresource.clone();
    Some(Judge::new(move |old, new| {
        let name = new["metadata"]["name"].as_str().unwrap_or("");
        let refused = |why: String| Err(Status::forbidden(&kind, name, &why));
        // Who may decide is asked about what is stored: the write itself cannot move it to another signer.
        let signer = old.unwrap_or(new)["spec"]["signerName"].as_str().unwrap_or("");
        let node = nodes::identity(&user).filter(|_| old.is_none() && subresource.is_none());
        if let Some(node) = node.filter(|_| KUBELET.contains(&signer)) {
            let name = format!("system:node:{node}");
            return match Request::parse(&pem(new)) {
                Err(error) => refused(format!("unable to parse csr: {error}")),
                Ok(request) if request.common_name == name => Ok(()),
                Ok(_) => refused(format!("can only create a node CSR with CN={name}")),
            };
        }
        if signer == KUBELET[0] && old.is_none() && is_bootstrapper(&user) {
            return match Request::parse(&pem(new)) {
                Ok(request) => match taken(&api, &request) {
                    Some(node) => refused(format!(
                        "there is a node {node} already, on another machine: delete it first (kubectl delete node {node}), or choose another name"
                    )),
                    None => Ok(()),
                },
                Err(_) => Ok(()),
            };
        }
        match subresource.as_deref() {
            Some("approval") if !may(&api, &user, "approve", signer) => {
                refused(format!("user not permitted to approve requests with signerName {signer:?}"))
            }
            Some("status") if answered(old, new) && !may(&api, &user, "sign", signer) => {
                refused(format!("user not permitted to sign requests with signerName {signer:?}"))
            }
            None if signer == CLIENT => match Request::parse(&pem(new)) {
                Err(error) => refused(format!("failed to parse CSR: {error}")),
                Ok(request) if request.organizations.iter().any(|group| group == "system:masters") => {
                    refused(format!("use of {CLIENT} signer with system:masters group is not allowed"))
                }
                Ok(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }))
}

fn is_bootstrapper(user: &User) -> bool {
    user.groups.iter().any(|group| group == "system:bootstrappers")
}

/// The node that a newcomer wants to be although another machine is it: whoever has a token could else take a node's place. The
/// machine that is known by its key may come back.
fn taken(api: &Api, request: &Request) -> Option<String> {
    let name = request.common_name.strip_prefix("system:node:")?;
    let catalog = api.registry().catalog();
    let kind = catalog.kind("", "v1", "nodes")?;
    let snapshot = api.registry().store().snapshot();
    let entry = snapshot.get(&format!("/registry/{}/{name}", kind.prefix))?;
    let node: Value = serde_json::from_slice(entry.bytes()).ok()?;
    let known = node["metadata"]["annotations"][NODE_KEY].as_str();
    (known != Some(&request.key_fingerprint())).then(|| name.to_owned())
}

fn pem(request: &Value) -> Vec<u8> {
    STANDARD.decode(request["spec"]["request"].as_str().unwrap_or("")).unwrap_or_default()
}

fn answered(old: Option<&Value>, new: &Value) -> bool {
    let old = old.unwrap_or(&Value::Null);
    ["certificate", "conditions"].iter().any(|field| old["status"][field] != new["status"][field])
}

/// Whether the user may do this for one signer, or for all of its domain.
fn may(api: &Api, user: &User, verb: &str, signer: &str) -> bool {
    let asked = |name: &str| {
        let what = What::Resource { group: GROUP, resource: "signers", subresource: "", namespace: "", name };
        api.allows(user, &Ask { verb, what })
    };
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    asked(signer) || asked(&format!("{domain}/*"))
}
