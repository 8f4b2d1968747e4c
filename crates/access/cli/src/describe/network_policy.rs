//! Network policies: who may talk to whom, in sentences.

use serde_json::Value;

use super::page::Page;
use super::shown::{is_there, items, joined, plain, selector_or_none, text};
use super::{Given, labels_and_annotations, name_and_namespace};

/// How one direction is spoken of.
struct Direction {
    rules: &'static str,
    name: &'static str,
    peers: &'static str,
    word: &'static str,
    end: &'static str,
}

const DIRECTIONS: [Direction; 2] = [
    Direction { rules: "ingress", name: "Ingress", peers: "from", word: "From", end: "source" },
    Direction { rules: "egress", name: "Egress", peers: "to", word: "To", end: "destination" },
];

pub(super) fn policy(page: &mut Page, given: &Given<'_>) {
    let (object, spec) = (given.object, &given.object["spec"]);
    name_and_namespace(page, object);
    page.field(0, "Created on", given.now.stamp(&object["metadata"]["creationTimestamp"]));
    labels_and_annotations(page, object);
    page.head(0, "Spec");
    let pods = &spec["podSelector"];
    let pods = if is_there(&pods["matchLabels"]) || is_there(&pods["matchExpressions"]) {
        selector_or_none(pods)
    } else {
        "<none> (Allowing the specific traffic to all pods in this namespace)".to_owned()
    };
    // The selector is written as if it stood two levels in, after its label.
    page.line(1, format_args!("PodSelector:     {pods}"));
    for direction in &DIRECTIONS {
        let traffic = direction.rules;
        if items(&spec["policyTypes"]).iter().any(|kind| kind == direction.name) {
            page.line(1, format_args!("Allowing {traffic} traffic:"));
            rules(page, &spec[traffic], direction);
        } else {
            page.line(1, format_args!("Not affecting {traffic} traffic"));
        }
    }
    let types = joined(&spec["policyTypes"], ", ");
    page.line(1, format_args!("Policy Types: {}", if types.is_empty() { "<none>" } else { &types }));
}

fn rules(page: &mut Page, rules: &Value, direction: &Direction) {
    let Direction { rules: traffic, word, end, .. } = direction;
    if !is_there(rules) {
        page.line(2, format_args!("<none> (Selected pods are isolated for {traffic} connectivity)"));
        return;
    }
    let rules = items(rules);
    for (place, rule) in rules.iter().enumerate() {
        ports(page, &rule["ports"]);
        if !is_there(&rule[direction.peers]) {
            page.line(2, format_args!("{word}: <any> (traffic not restricted by {end})"));
        }
        for peer in items(&rule[direction.peers]) {
            page.head(2, word);
            told_peer(page, peer);
        }
        if place + 1 < rules.len() {
            page.line(2, "----------");
        }
    }
}

fn ports(page: &mut Page, ports: &Value) {
    if !is_there(ports) {
        page.line(2, "To Port: <any> (traffic allowed to all ports)");
    }
    for port in items(ports) {
        let protocol = super::shown::plain_or(&port["protocol"], "TCP");
        // A rule may name a protocol and no port at all.
        let first = super::shown::plain_or(&port["port"], "<nil>");
        match &port["endPort"] {
            Value::Null => page.line(2, format_args!("To Port: {first}/{protocol}")),
            last => page.line(2, format_args!("To Port Range: {first}-{}/{protocol}", plain(last))),
        }
    }
}

fn told_peer(page: &mut Page, peer: &Value) {
    let (spaces, pods) = (&peer["namespaceSelector"], &peer["podSelector"]);
    if !spaces.is_null() {
        page.line(3, format_args!("NamespaceSelector: {}", selector_or_none(spaces)));
    }
    if !pods.is_null() {
        page.line(3, format_args!("PodSelector: {}", selector_or_none(pods)));
    }
    let block = &peer["ipBlock"];
    if spaces.is_null() && pods.is_null() && !block.is_null() {
        page.head(3, "IPBlock");
        page.line(4, format_args!("CIDR: {}", text(&block["cidr"])));
        page.line(4, format_args!("Except: {}", joined(&block["except"], ", ")));
    }
}
