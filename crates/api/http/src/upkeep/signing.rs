//! CertificateSigningRequests: approves what nodes ask for, signs what was approved, removes what is old. `decide` says
//! what is to be done with one request and does nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use kedge_kinds::Status;
use kedge_pki::{Request, Usage};
use kedge_registry::{At, User};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Duty, Tools, options, serving};
use crate::rbac::{Ask, What};

const GROUP: &str = "certificates.k8s.io";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
/// Not a subresource: asked for where a node wants to be known as itself.
const SELF_SERVING: &str = "selfnodeserving";
const LEGACY: &str = "kubernetes.io/legacy-unknown";
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 365);
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);
const SETTLED: SignedDuration = SignedDuration::from_hours(1);
const PENDING: SignedDuration = SignedDuration::from_hours(24);

/// What is to be done with one request.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    /// Nothing before this moment.
    Wait(Timestamp),
    Approve {
        message: &'static str,
    },
    Sign {
        request: Box<Request>,
        usages: Vec<Usage>,
        lasts: SignedDuration,
    },
    Fail {
        message: String,
    },
    Remove,
}

/// `may`: whether whoever asked may create requests with this subresource, which is how roles grant approval. No role grants
/// `SELF_SERVING`: it is for a node that asks for what is its own (`serving`).
pub(crate) fn decide(object: &Value, may: impl Fn(&str) -> bool, now: Timestamp) -> Decision {
    let (spec, status) = (&object["spec"], &object["status"]);
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let condition = |kind: &str| conditions.iter().find(|one| one["type"] == kind);
    let issued = status["certificate"].as_str().is_some_and(|text| !text.is_empty());
    let ends = ends(object, &condition, issued);
    if ends <= now {
        return Decision::Remove;
    }
    if issued || condition("Denied").is_some() || condition("Failed").is_some() {
        return Decision::Wait(ends);
    }
    let signer = spec["signerName"].as_str().unwrap_or("");
    if !matches!(signer, CLIENT | KUBELET_CLIENT | KUBELET_SERVING | LEGACY) {
        return Decision::Wait(ends);
    }
    let usages: Vec<&str> =
        spec["usages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let pem = STANDARD.decode(spec["request"].as_str().unwrap_or("")).unwrap_or_default();
    let request = Request::parse(&pem);
    if condition("Approved").is_none() {
        return match request {
            Ok(request) => approval(signer, &request, &usages, spec, may).unwrap_or(Decision::Wait(ends)),
            Err(_) => Decision::Wait(ends),
        };
    }
    let fits = request.map_err(|error| error.to_string()).and_then(|request| {
        fits(signer, &request, &usages)?;
        Ok(request)
    });
    match fits {
        Err(message) => Decision::Fail { message },
        Ok(request) => Decision::Sign {
            request: Box::new(request),
            usages: usages.iter().filter_map(|usage| known(usage)).collect(),
            lasts: spec["expirationSeconds"]
                .as_i64()
                .map_or(LONGEST, |seconds| SignedDuration::from_secs(seconds).clamp(SHORTEST, LONGEST)),
        },
    }
}

/// When nobody needs the request any more.
fn ends<'o>(object: &'o Value, condition: &impl Fn(&str) -> Option<&'o Value>, issued: bool) -> Timestamp {
    let moment = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let after = |start: Option<Timestamp>, wait: SignedDuration| {
        start.and_then(|start| start.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
    };
    let said = |kind: &str, wait| condition(kind).map(|one| after(moment(&one["lastUpdateTime"]), wait));
    let expired = STANDARD
        .decode(object["status"]["certificate"].as_str().unwrap_or(""))
        .ok()
        .and_then(|pem| kedge_pki::not_after(&pem));
    let pending = match object["status"]["conditions"].as_array() {
        Some(conditions) if !conditions.is_empty() => None,
        _ => Some(after(moment(&object["metadata"]["creationTimestamp"]), PENDING)),
    };
    let approved = said("Approved", if issued { SETTLED } else { PENDING });
    [pending, approved, said("Denied", SETTLED), said("Failed", SETTLED), expired]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(Timestamp::MAX)
}

fn approval(
    signer: &str,
    request: &Request,
    usages: &[&str],
    spec: &Value,
    may: impl Fn(&str) -> bool,
) -> Option<Decision> {
    if fits(signer, request, usages).is_err() {
        return None;
    }
    let is_own = spec["username"] == request.common_name.as_str();
    let message = match signer {
        KUBELET_CLIENT if is_own && may("selfnodeclient") => {
            "Auto approving self kubelet client certificate after SubjectAccessReview."
        }
        KUBELET_CLIENT if may("nodeclient") => {
            "Auto approving kubelet client certificate after SubjectAccessReview."
        }
        KUBELET_SERVING if is_own && may(SELF_SERVING) => {
            "Auto approving kubelet serving certificate: it names nothing but the node that asks for it."
        }
        _ => return None,
    };
    Some(Decision::Approve { message })
}

/// Whether the signer gives such certificates at all; the error says why it doesn't.
fn fits(signer: &str, request: &Request, usages: &[&str]) -> Result<(), String> {
    let same = |wanted: &[&str]| {
        usages.iter().all(|usage| wanted.contains(usage)) && wanted.iter().all(|usage| usages.contains(usage))
    };
    let node = || match () {
        () if request.organizations != ["system:nodes"] => Err("subject organization is not system:nodes"),
        () if !request.common_name.starts_with("system:node:") => {
            Err("subject common name does not begin with system:node:")
        }
        () => Ok(()),
    };
    let usage = |purpose: &'static str| {
        let few = same(&["digital signature", purpose]);
        if few || same(&["digital signature", "key encipherment", purpose]) {
            return Ok(());
        }
        let mut wanted = ["digital signature", "key encipherment", purpose];
        wanted.sort_unstable();
        Err(format!("usages did not match [{}]", wanted.join(" ")))
    };
    let without = |list: bool, what: &str| {
        if list { Ok(()) } else { Err(format!("{what} subjectAltNames are not allowed")) }
    };
    match signer {
        KUBELET_CLIENT => {
            node()?;
            without(request.dns_names.is_empty(), "DNS")?;
            without(request.emails.is_empty(), "Email")?;
            without(request.addresses.is_empty(), "IP")?;
            without(request.uris.is_empty(), "URI")?;
            usage("client auth")
        }
        KUBELET_SERVING => {
            if request.organizations == ["system:nodes"]
                && request.dns_names.is_empty()
                && request.addresses.is_empty()
            {
                return Err("DNS or IP subjectAltName is required".to_owned());
            }
            node()?;
            without(request.emails.is_empty(), "Email")?;
            without(request.uris.is_empty(), "URI")?;
            usage("server auth")
        }
        CLIENT => {
            let other = usages
                .iter()
                .find(|usage| !matches!(**usage, "digital signature" | "key encipherment" | "client auth"));
            match other {
                Some(other) => Err(format!("invalid usage for client certificate: {other}")),
                None if usages.contains(&"client auth") => Ok(()),
                None => Err("missing required usage for client certificate: client auth".to_owned()),
            }
        }
        _ => Ok(()),
    }
}

fn known(usage: &str) -> Option<Usage> {
    Some(match usage {
        "signing" | "digital signature" => Usage::DIGITAL_SIGNATURE,
        "content commitment" => Usage::CONTENT_COMMITMENT,
        "key encipherment" => Usage::KEY_ENCIPHERMENT,
        "data encipherment" => Usage::DATA_ENCIPHERMENT,
        "key agreement" => Usage::KEY_AGREEMENT,
        "cert sign" => Usage::CERT_SIGN,
        "crl sign" => Usage::CRL_SIGN,
        "encipher only" => Usage::ENCIPHER_ONLY,
        "decipher only" => Usage::DECIPHER_ONLY,
        "any" => Usage::ANY,
        "server auth" => Usage::SERVER_AUTH,
        "client auth" => Usage::CLIENT_AUTH,
        "code signing" => Usage::CODE_SIGNING,
        "email protection" | "s/mime" => Usage::EMAIL_PROTECTION,
        "timestamping" => Usage::TIMESTAMPING,
        "ocsp signing" => Usage::OCSP_SIGNING,
        _ => return None,
    })
}

pub(super) struct Requests;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Author {
    username: String,
    uid: String,
    groups: Vec<String>,
    extra: std::collections::BTreeMap<String, Vec<String>>,
}

impl Duty for Requests {
    fn prefix(&self) -> &'static str {
        "/registry/certificatesigningrequests/"
    }

    async fn look(&self, tools: &Tools, name: &str) -> Result<Option<Timestamp>, Status> {
        let Some(mut object) = tools.stored(&format!("{}{name}", self.prefix()))? else { return Ok(None) };
        let now = tools.api.clock().now();
        let author = Author::deserialize(&object["spec"]).unwrap_or_default();
        let Author { username, uid, groups, extra } = author;
        let author = User { name: username, uid, groups, extra };
        let may = |subresource: &str| {
            if subresource == SELF_SERVING {
                return serving::is_own(tools, &author, &object);
            }
            let resource = "certificatesigningrequests";
            let what = What::Resource { group: GROUP, resource, subresource, namespace: "", name: "" };
            tools.api.allows(&author, &Ask { verb: "create", what })
        };
        let at = tools.at(GROUP, "certificatesigningrequests", None, Some(name))?;
        match decide(&object, may, now) {
            Decision::Wait(until) => return Ok((until < Timestamp::MAX).then_some(until)),
            Decision::Remove => tools.delete(&at, &object).await?,
            Decision::Approve { message } => {
                let said = json!({"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message});
                write(tools, at, "approval", object, said).await?;
            }
            Decision::Fail { message } => {
                let said = json!({"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": message});
                write(tools, at, "status", object, said).await?;
            }
            Decision::Sign { request, usages, lasts } => {
                let signed = tools.authority.sign(&request, &usages, lasts, now);
                let pem = signed.map_err(|error| Status::internal(error.to_string()))?;
                object["status"]["certificate"] = STANDARD.encode(pem).into();
                let at = At { subresource: Some("status".into()), ..at };
                tools.api.registry().update(&at, object, &options()).await?;
            }
        }
        Ok(None)
    }
}

async fn write(
    tools: &Tools,
    at: At,
    subresource: &str,
    mut object: Value,
    condition: Value,
) -> Result<(), Status> {
    if !object["status"]["conditions"].is_array() {
        object["status"]["conditions"] = json!([]);
    }
    if let Some(conditions) = object["status"]["conditions"].as_array_mut() {
        conditions.push(condition);
    }
    let at = At { subresource: Some(subresource.into()), ..at };
    tools.api.registry().update(&at, object, &options()).await.map(|_| ())
}

#[cfg(test)]
pub(crate) mod tests;
