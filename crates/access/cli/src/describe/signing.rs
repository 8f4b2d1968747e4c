//! Requests for certificates: who asks, of whom, and for which names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::OID_X509_SERIALNUMBER;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::page::Page;
use super::shown::{is_there, items, labels, text};
use super::{Given, name};
use crate::print::age;

pub(super) fn request(page: &mut Page, given: &Given<'_>) {
    let (object, spec) = (given.object, &given.object["spec"]);
    let meta = &object["metadata"];
    name(page, object);
    page.field(0, "Labels", labels(&meta["labels"]));
    page.field(0, "Annotations", labels(&meta["annotations"]));
    page.field(0, "CreationTimestamp", given.now.date(&meta["creationTimestamp"]));
    page.field(0, "Requesting User", text(&spec["username"]));
    if is_there(&spec["signerName"]) {
        page.field(0, "Signer", text(&spec["signerName"]));
    }
    if let Some(seconds) = spec["expirationSeconds"].as_i64() {
        page.field(0, "Requested Duration", age::short(seconds));
    }
    page.field(0, "Status", status(&object["status"]));
    let pem = STANDARD.decode(text(&spec["request"])).unwrap_or_default();
    let Some(Ok(pem)) = Pem::iter_from_buffer(&pem).next() else { return };
    let Ok((_, request)) = X509CertificationRequest::from_der(&pem.contents) else { return };
    subject(page, &request.certification_request_info.subject);
    alternatives(page, &request);
}

/// In order of what matters more.
fn status(status: &Value) -> String {
    let has = |kind: &str| items(&status["conditions"]).iter().any(|one| one["type"] == kind);
    let mut written = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        written.push_str(",Failed");
    }
    if is_there(&status["certificate"]) {
        written.push_str(",Issued");
    }
    written
}

fn subject(page: &mut Page, subject: &X509Name<'_>) {
    page.head(0, "Subject");
    page.line(0, format_args!("\tCommon Name:\t{}", all(subject.iter_common_name()).join("")));
    page.line(
        0,
        format_args!("\tSerial Number:\t{}", all(subject.iter_by_oid(&OID_X509_SERIALNUMBER)).join("")),
    );
    for (label, values) in [
        ("Organization", all(subject.iter_organization())),
        ("Organizational Unit", all(subject.iter_organizational_unit())),
        ("Country", all(subject.iter_country())),
        ("Locality", all(subject.iter_locality())),
        ("Province", all(subject.iter_state_or_province())),
    ] {
        list(page, label, &values);
    }
}

fn all<'n, 'a: 'n>(found: impl Iterator<Item = &'n AttributeTypeAndValue<'a>>) -> Vec<String> {
    found.filter_map(|one| one.as_str().ok()).map(str::to_owned).collect()
}

fn alternatives(page: &mut Page, request: &X509CertificationRequest<'_>) {
    let asked = request.requested_extensions().into_iter().flatten();
    let names = asked.filter_map(|extension| match extension {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    let names: Vec<&GeneralName<'_>> = names.flatten().collect();
    let of = |pick: fn(&GeneralName<'_>) -> Option<String>| -> Vec<String> {
        names.iter().filter_map(|name| pick(name)).collect()
    };
    let dns = of(|name| if let GeneralName::DNSName(name) = name { Some((*name).to_owned()) } else { None });
    let mail =
        of(|name| if let GeneralName::RFC822Name(name) = name { Some((*name).to_owned()) } else { None });
    let uris = of(|name| if let GeneralName::URI(name) = name { Some((*name).to_owned()) } else { None });
    let addresses = of(|name| if let GeneralName::IPAddress(bytes) = name { address(bytes) } else { None });
    if dns.len() + mail.len() + uris.len() + addresses.len() > 0 {
        page.head(0, "Subject Alternative Names");
        for (label, values) in
            [("DNS Names", dns), ("Email Addresses", mail), ("URIs", uris), ("IP Addresses", addresses)]
        {
            list(page, label, &values);
        }
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(std::net::Ipv4Addr::from(four).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| std::net::Ipv6Addr::from(sixteen).to_string())
}

fn list(page: &mut Page, label: &str, values: &[String]) {
    for (place, value) in values.iter().enumerate() {
        match place {
            0 => page.line(0, format_args!("\t{label}:\t{value}")),
            _ => page.line(0, format_args!("\t\t{value}")),
        }
    }
}
