//! Ingresses and their classes.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value, json};

use super::fields::{at, fill, has, list, number, open, text, texts};
use super::role::path_segment;
use super::service::check::balancer_point;
use super::{names, workload};
use crate::strategy::Strategy;

pub(super) struct Ingresses;
pub(super) struct IngressClasses;

impl Strategy for Ingresses {
    fn default(&self, ingress: &mut Value) {
        fill(ingress, "spec", Map::new());
        fill(ingress, "status", json!({"loadBalancer": {}}));
    }

    fn prepare_create(&self, ingress: &mut Value) {
        fill(ingress, "status", json!({"loadBalancer": {}}));
    }

    fn validate(&self, ingress: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(ingress, "spec"));
        if list(spec, "rules").is_empty() && !has(spec, "defaultBackend") {
            let detail = "either `defaultBackend` or `rules` must be specified";
            errors.invalid(&path, at(spec, "rules"), detail);
        }
        if has(spec, "defaultBackend") {
            backend(errors, &path.child("defaultBackend"), at(spec, "defaultBackend"));
        }
        for (i, one) in list(spec, "rules").iter().enumerate() {
            rule(errors, &path.child("rules").index(i), one);
        }
        for (i, tls) in list(spec, "tls").iter().enumerate() {
            let path = path.child("tls");
            let path = path.index(i);
            for (j, name) in texts(tls, "hosts").enumerate() {
                host(errors, &path.child("hosts").index(j), name);
            }
            let secret = text(tls, "secretName");
            if !secret.is_empty() {
                names::subdomain(errors, &path.child("secretName"), secret);
            }
        }
        if let Some(class) = at(spec, "ingressClassName").as_str() {
            names::subdomain(errors, &path.child("ingressClassName"), class);
        }
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        let path = Path::root("status");
        let path = path.child("loadBalancer");
        for (i, point) in list(at(at(new, "status"), "loadBalancer"), "ingress").iter().enumerate() {
            balancer_point(errors, &path.child("ingress").index(i), point);
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn host(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.contains('*') {
        names::wildcard(errors, path, name);
    } else {
        names::subdomain(errors, path, name);
    }
}

fn rule(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    let name = text(rule, "host");
    if !name.is_empty() {
        if names::parse_address(name).is_some() {
            names::wrong(errors, &path.child("host"), name, "must be a DNS name, not an IP address");
        }
        host(errors, &path.child("host"), name);
    }
    if has(rule, "http") {
        let path = path.child("http");
        let paths = list(at(rule, "http"), "paths");
        if paths.is_empty() {
            errors.required(&path.child("paths"), "");
        }
        for (i, one) in paths.iter().enumerate() {
            http_path(errors, &path.child("paths").index(i), one);
        }
    }
}

fn http_path(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    let (kind, place) = (text(rule, "pathType"), text(rule, "path"));
    let at_place = path.child("path");
    match kind {
        "" => return errors.required(&path.child("pathType"), "pathType must be specified"),
        "Exact" | "Prefix" => {
            if !place.starts_with('/') {
                names::wrong(errors, &at_place, place, "must be an absolute path");
            }
            for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
                if place.contains(sequence) {
                    names::wrong(errors, &at_place, place, &format!("must not contain '{sequence}'"));
                }
            }
            for end in ["/..", "/."] {
                if place.ends_with(end) {
                    names::wrong(errors, &at_place, place, &format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !place.is_empty() && !place.starts_with('/') {
                names::wrong(errors, &at_place, place, "must be an absolute path");
            }
        }
        other => {
            let known = &["Exact", "ImplementationSpecific", "Prefix"];
            errors.not_supported(&path.child("pathType"), &other.into(), known);
        }
    }
    backend(errors, &path.child("backend"), at(rule, "backend"));
}

fn backend(errors: &mut Errors, path: &Path<'_>, backend: &Value) {
    match (has(backend, "resource"), has(backend, "service")) {
        (true, true) => names::wrong(errors, path, "", "cannot set both resource and service backends"),
        (true, false) => reference(errors, &path.child("resource"), at(backend, "resource")),
        (false, true) => service(errors, path, at(backend, "service")),
        (false, false) => names::wrong(errors, path, "", "resource or service backend is required"),
    }
}

fn service(errors: &mut Errors, path: &Path<'_>, service: &Value) {
    let at_service = path.child("service");
    match text(service, "name") {
        "" => errors.required(&at_service.child("name"), ""),
        name => names::label(errors, &at_service.child("name"), name),
    }
    let port = at(service, "port");
    match (text(port, "name"), number(port, "number")) {
        ("", 0) => errors.required(path, "port name or number is required"),
        ("", number) => names::port_number(errors, &at_service.child("port").child("number"), number),
        (name, 0) => names::port_name(errors, &at_service.child("port").child("name"), name),
        _ => names::wrong(errors, path, "", "cannot set both port name & port number"),
    }
}

/// An object of some kind in some group.
fn reference(errors: &mut Errors, path: &Path<'_>, reference: &Value) {
    if let Some(group) = at(reference, "apiGroup").as_str() {
        names::subdomain(errors, &path.child("apiGroup"), group);
    }
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => errors.required(&path.child(field), ""),
            value => path_segment(errors, &path.child(field), value),
        }
    }
}

impl Strategy for IngressClasses {
    fn default(&self, class: &mut Value) {
        let Some(spec) = open(class, "spec") else { return };
        if let Some(parameters) = spec.get_mut("parameters") {
            fill(parameters, "scope", "Cluster");
        }
    }

    fn validate(&self, class: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(class, "spec"));
        controller(errors, &path.child("controller"), text(spec, "controller"));
        if !has(spec, "parameters") {
            return;
        }
        let (path, parameters) = (path.child("parameters"), at(spec, "parameters"));
        reference(errors, &path, parameters);
        let namespace = at(parameters, "namespace").as_str();
        match (text(parameters, "scope"), namespace) {
            ("Namespace", None) => {
                errors.required(&path.child("namespace"), "`parameters.scope` is set to 'Namespace'");
            }
            ("Namespace", Some(name)) => names::label(errors, &path.child("namespace"), name),
            ("Cluster", Some(_)) => {
                errors.forbidden(&path.child("namespace"), "`parameters.scope` is set to 'Cluster'");
            }
            ("Cluster", None) => {}
            (other, _) => {
                errors.not_supported(&path.child("scope"), &other.into(), &["Cluster", "Namespace"])
            }
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        workload::immutable(errors, &Path::root("spec"), at(new, "spec"), at(old, "spec"), &["controller"]);
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

/// `example.com/controller`
fn controller(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.len() > 250 {
        errors.too_long(path, 250);
    }
    match name.split_once('/') {
        _ if name.is_empty() => errors.required(path, ""),
        Some((domain, rest)) if !domain.is_empty() && !rest.is_empty() => {
            names::subdomain(errors, path, domain)
        }
        _ => names::wrong(errors, path, name, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
    }
}
