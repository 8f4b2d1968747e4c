//! How versions become one another, and the webhook that does it if there is one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_kinds::field::{Errors, Path};
use kedge_kinds::names::{dns1035_label, dns1123_subdomain, port_number};
use serde_json::Value;

use super::one_of;
use crate::read::{at, has, list, text, texts};

const FORM: &str = "; desired format: https://host[/path]";
const REVIEWS: &[&str] = &["v1", "v1beta1"];

/// `old` is the definition before, if it is served already.
pub(super) fn check(spec: &Value, old: Option<&Value>, path: &Path<'_>, errors: &mut Errors) {
    let conversion = at(spec, "conversion");
    if conversion.is_null() {
        return;
    }
    one_of(at(conversion, "strategy"), &path.child("strategy"), &["None", "Webhook"], errors);
    let webhook = at(conversion, "webhook");
    let (config, reviews) = (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    if text(conversion, "strategy") == "Webhook" {
        if has(webhook, "clientConfig") {
            client(at(webhook, "clientConfig"), old, &config, errors);
        } else {
            errors.required(&config, "required when strategy is set to Webhook");
        }
        versions(webhook, old, &reviews, errors);
        return;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if has(webhook, "clientConfig") {
        errors.forbidden(&config, detail);
    }
    if !list(webhook, "conversionReviewVersions").is_empty() {
        errors.forbidden(&reviews, detail);
    }
}

fn client(config: &Value, old: Option<&Value>, path: &Path<'_>, errors: &mut Errors) {
    match (at(config, "url"), at(config, "service")) {
        (Value::String(link), Value::Null) => url(link, &path.child("url"), errors),
        (Value::Null, called @ Value::Object(_)) => service(called, &path.child("service"), errors),
        _ => errors.required(path, "exactly one of url or service is required"),
    }
    // Until a definition is served its bundle may still be on its way; one that was wrong may stay so.
    if let Some(old) = old {
        let bundle = text(config, "caBundle");
        let before = text(at(at(at(old, "conversion"), "webhook"), "clientConfig"), "caBundle");
        if !bundle.is_empty() && !is_bundle(bundle) && (before.is_empty() || is_bundle(before)) {
            let detail = "unable to load root certificates: unable to parse bytes as PEM block";
            errors.invalid(&path.child("caBundle"), &bundle.into(), detail);
        }
    }
}

fn is_bundle(bundle: &str) -> bool {
    let begin = b"-----BEGIN CERTIFICATE-----";
    STANDARD.decode(bundle).is_ok_and(|bytes| bytes.windows(begin.len()).any(|window| window == begin))
}

fn url(link: &str, path: &Path<'_>, errors: &mut Errors) {
    let (link, fragment) = link.split_once('#').unwrap_or((link, ""));
    let (scheme, rest) = link.split_once("://").unwrap_or(("", link));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut invalid = |value: &str, detail: &str| errors.invalid(path, &value.into(), detail);
    if scheme != "https" {
        invalid(scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        invalid(host, &format!("host must be specified{FORM}"));
    }
    if !user.is_empty() {
        invalid(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        invalid(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        invalid(query, "query parameters are not permitted in the URL");
    }
}

fn service(service: &Value, path: &Path<'_>, errors: &mut Errors) {
    // Upstream hands over name and namespace in the wrong order, so each is told at the other's place.
    if text(service, "namespace").is_empty() {
        errors.required(&path.child("name"), "");
    }
    if text(service, "name").is_empty() {
        errors.required(&path.child("namespace"), "");
    }
    let port = at(service, "port").as_i64().unwrap_or(443);
    let wrong = port_number(port);
    if !wrong.is_empty() {
        errors.invalid(
            &path.child("port"),
            &port.into(),
            &format!("port is not valid: {}", wrong.join(", ")),
        );
    }
    let given = text(service, "path");
    if matches!(given, "" | "/") {
        return;
    }
    let path = path.child("path");
    let mut invalid = |detail: &str| errors.invalid(&path, &given.into(), detail);
    if given == "//" {
        return invalid("segment[0] may not be empty");
    }
    if !given.starts_with('/') {
        invalid("must start with a '/'");
    }
    let mut rest = given.chars();
    rest.next();
    let rest = rest.as_str();
    for (at, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            invalid(&format!("segment[{at}] may not be empty"));
            continue;
        }
        for wrong in dns1123_subdomain(step) {
            invalid(&format!("segment[{at}]: {wrong}"));
        }
    }
}

fn versions(webhook: &Value, old: Option<&Value>, path: &Path<'_>, errors: &mut Errors) {
    let versions: Vec<&str> = texts(webhook, "conversionReviewVersions").collect();
    if versions.is_empty() {
        return errors.required(path, "");
    }
    for (at, version) in versions.iter().enumerate() {
        if versions.iter().take(at).any(|other| other == version) {
            errors.invalid(&path.index(at), &(*version).into(), "duplicate version");
            continue;
        }
        for wrong in dns1035_label(version) {
            errors.invalid(&path.index(at), &(*version).into(), &wrong);
        }
    }
    let known = |versions: &[&str]| versions.is_empty() || versions.iter().any(|one| REVIEWS.contains(one));
    let before = old.map(|old| at(at(old, "conversion"), "webhook"));
    let before: Vec<&str> =
        before.into_iter().flat_map(|webhook| texts(webhook, "conversionReviewVersions")).collect();
    if !known(&versions) && known(&before) {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.invalid(path, at(webhook, "conversionReviewVersions"), &detail);
    }
}
