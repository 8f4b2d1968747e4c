//! CertificateSigningRequests. Who asks is written by the generic path, from the request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, int, list, text, texts};
use super::names;
use crate::strategy::{NameRule, Selectable, Strategy};

pub(super) struct SigningRequests;

impl Strategy for SigningRequests {
    fn default(&self, request: &mut Value) {
        fill(request, "spec", Map::new());
        fill(request, "status", Map::new());
    }

    fn prepare_create(&self, request: &mut Value) {
        fill(request, "status", Map::new());
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        super::fields::carry(new, old, "spec");
    }

    fn validate(&self, request: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(request, "spec"));
        let encoded = text(spec, "request");
        let pem = STANDARD.decode(encoded).unwrap_or_default();
        if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE REQUEST-----") {
            let detail = "PEM block type must be CERTIFICATE REQUEST";
            names::wrong(errors, &path.child("request"), encoded, detail);
        }
        let usages: Vec<&str> = texts(spec, "usages").collect();
        if usages.is_empty() {
            errors.required(&path.child("usages"), "");
        }
        for (i, usage) in usages.iter().enumerate() {
            names::one_of(errors, &path.child("usages").index(i), usage, USAGES);
        }
        for (i, usage) in usages.iter().enumerate() {
            if usages.iter().take(i).any(|other| other == usage) {
                errors.duplicate(&path.child("usages").index(i), &(*usage).into());
            }
        }
        let signer = text(spec, "signerName");
        if signer == "kubernetes.io/legacy-unknown" {
            let detail = "the legacy signerName is not allowed via this API version";
            names::wrong(errors, &path.child("signerName"), signer, detail);
        } else {
            signer_name(errors, &path.child("signerName"), signer);
        }
        if let Some(seconds) = int(spec, "expirationSeconds")
            && seconds < 600
        {
            let detail = "may not specify a duration less than 600 seconds (10 minutes)";
            errors.invalid(&path.child("expirationSeconds"), &seconds.into(), detail);
        }
        conditions(errors, request);
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        conditions(errors, new);
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn selectable(&self) -> &'static [Selectable] {
        &[Selectable { field: "spec.signerName", pointer: "/spec/signerName", absent: "" }]
    }
}

const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// `example.com/signer`
fn signer_name(errors: &mut Errors, path: &Path<'_>, signer: &str) {
    if signer.is_empty() {
        return errors.required(path, "");
    }
    let Some((domain, rest)) = signer.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return names::wrong(errors, path, signer, detail);
    };
    if !names::is_subdomain(domain) || domain.len() > 253 {
        names::subdomain(errors, path, domain);
    } else if !domain.contains('.') {
        names::wrong(errors, path, domain, "should be a domain with at least two segments separated by dots");
    }
    if !rest.split('.').all(names::is_subdomain) {
        names::subdomain(errors, path, rest);
    }
}

fn conditions(errors: &mut Errors, request: &Value) {
    let path = Path::root("status");
    let path = path.child("conditions");
    let conditions = list(at(request, "status"), "conditions");
    for (i, condition) in conditions.iter().enumerate() {
        let path_one = path.index(i);
        let kind = text(condition, "type");
        if kind.is_empty() {
            errors.required(&path_one.child("type"), "");
        }
        // What a signer decided cannot be unsaid.
        let known: &[&str] = if matches!(kind, "Approved" | "Denied" | "Failed") {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        names::one_of(errors, &path_one.child("status"), text(condition, "status"), known);
        let earlier = |wanted: &str| conditions.iter().take(i).any(|other| text(other, "type") == wanted);
        if (kind == "Approved" && earlier("Denied")) || (kind == "Denied" && earlier("Approved")) {
            names::wrong(errors, &path, kind, "Approved and Denied conditions are mutually exclusive");
        }
        if earlier(kind) {
            errors.duplicate(&path_one.child("type"), &kind.into());
        }
    }
}
