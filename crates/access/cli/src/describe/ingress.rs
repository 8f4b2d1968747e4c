//! Ways in, and the cluster's addresses: ingresses and their classes, ranges of service addresses, single addresses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::page::Page;
use super::services::ready_addresses;
use super::shown::{is_there, items, joined, pairs, plain, plain_or, text};
use super::{Given, Related, annotations, labels_and_annotations, name};

pub(super) fn ingress(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    let spec = &object["spec"];
    name(page, object);
    page.list(0, "Labels", pairs(&object["metadata"]["labels"]));
    page.field(0, "Namespace", text(&object["metadata"]["namespace"]));
    page.field(0, "Address", addresses(&object["status"]["loadBalancer"]["ingress"]));
    page.field(0, "Ingress Class", plain_or(&spec["ingressClassName"], "<none>"));
    let default = match &spec["defaultBackend"] {
        Value::Null => "<default>".to_owned(),
        default => backend(default, given.related),
    };
    page.field(0, "Default backend", &default);
    if is_there(&spec["tls"]) {
        page.head(0, "TLS");
        for tls in items(&spec["tls"]) {
            let hosts = joined(&tls["hosts"], ",");
            match text(&tls["secretName"]) {
                "" => page.line(1, format_args!("SNI routes {hosts}")),
                secret => page.line(1, format_args!("{secret} terminates {hosts}")),
            }
        }
    }
    page.head(0, "Rules");
    page.columns(1, &["Host", "Path", "Backends"]);
    let rules: Vec<&Value> = items(&spec["rules"]).iter().filter(|rule| !rule["http"].is_null()).collect();
    for rule in &rules {
        page.line(1, format_args!("{}\t", plain_or(&rule["host"], "*")));
        for path in items(&rule["http"]["paths"]) {
            let to = backend(&path["backend"], given.related);
            page.line(2, format_args!("\t{} \t{to}", text(&path["path"])));
        }
    }
    if rules.is_empty() {
        page.line(1, format_args!("*\t*\t{default}"));
    }
    annotations(page, 0, &object["metadata"]["annotations"]);
}

fn addresses(balancers: &Value) -> String {
    let known = items(balancers).iter().map(|one| match text(&one["ip"]) {
        "" => text(&one["hostname"]),
        ip => ip,
    });
    let sorted: BTreeSet<&str> = known.filter(|address| !address.is_empty()).collect();
    sorted.into_iter().collect::<Vec<_>>().join(",")
}

/// The services that an ingress leads to, by name.
pub(crate) fn services_of(ingress: &Value) -> BTreeSet<String> {
    let spec = &ingress["spec"];
    let paths = items(&spec["rules"]).iter().flat_map(|rule| items(&rule["http"]["paths"]));
    let backends = paths.map(|path| &path["backend"]).chain([&spec["defaultBackend"]]);
    backends.filter_map(|backend| backend["service"]["name"].as_str()).map(str::to_owned).collect()
}

fn backend(backend: &Value, related: &Related) -> String {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    if !service.is_null() {
        let (name, port) = (text(&service["name"]), &service["port"]);
        let shown = if is_there(&port["number"]) { &port["number"] } else { &port["name"] };
        let to = format!("{name}:{}", plain(shown));
        let behind = match related.services.iter().find(|(found, _)| found == name) {
            Some((_, Ok(service))) => behind(name, service, port, &related.slices),
            Some((_, Err(error))) => format!("<error: {error}>"),
            None => String::new(),
        };
        return format!("{to} ({behind})");
    }
    if !resource.is_null() {
        return format!(
            "APIGroup: {}, Kind: {}, Name: {}",
            plain_or(&resource["apiGroup"], "<none>"),
            text(&resource["kind"]),
            text(&resource["name"])
        );
    }
    String::new()
}

fn behind(name: &str, service: &Value, port: &Value, slices: &[Value]) -> String {
    let named = items(&service["spec"]["ports"]).iter().rfind(|one| {
        (is_there(&port["number"]) && one["port"] == port["number"])
            || (is_there(&port["name"]) && one["name"] == port["name"])
    });
    let own: Vec<Value> = slices
        .iter()
        .filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == name)
        .cloned()
        .collect();
    ready_addresses(&own, named.map_or("", |port| text(&port["name"])))
}

pub(super) fn class(page: &mut Page, given: &Given<'_>) {
    let spec = &given.object["spec"];
    name(page, given.object);
    labels_and_annotations(page, given.object);
    page.field(0, "Controller", text(&spec["controller"]));
    let parameters = &spec["parameters"];
    if is_there(parameters) {
        page.head(0, "Parameters");
        if is_there(&parameters["apiGroup"]) {
            page.field(1, "APIGroup", text(&parameters["apiGroup"]));
        }
        page.field(1, "Kind", text(&parameters["kind"]));
        page.field(1, "Name", text(&parameters["name"]));
    }
}

pub(super) fn service_cidr(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name(page, object);
    labels_and_annotations(page, object);
    page.field(0, "CIDRs", joined(&object["spec"]["cidrs"], ", "));
    let conditions = items(&object["status"]["conditions"]);
    if !conditions.is_empty() {
        page.head(0, "Status");
        page.head(0, "Conditions");
        super::namespace::dated_conditions(page, conditions, given.now);
    }
}

pub(super) fn address(page: &mut Page, given: &Given<'_>) {
    name(page, given.object);
    labels_and_annotations(page, given.object);
    let parent = &given.object["spec"]["parentRef"];
    if is_there(parent) {
        page.head(0, "Parent Reference");
        for (label, field) in
            [("Group", "group"), ("Resource", "resource"), ("Namespace", "namespace"), ("Name", "name")]
        {
            page.field(1, label, text(&parent[field]));
        }
    }
}
