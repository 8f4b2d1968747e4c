//! Generators of services and ingresses.

use serde_json::{Value, json};

use super::{generated, name, required};
use crate::args::{Command, Flag, OUTPUT, Typed, WRITE, value};
use crate::error::CliError;

const TCP: Flag = value("tcp", "PORT[:TARGET]", "A port of the service, and where it leads; can be repeated");

pub(super) static SERVICE: Command = Command {
    name: "service",
    aliases: &["svc"],
    about: "Create a service",
    children: &[&CLUSTER_IP, &EXTERNAL_NAME, &LOAD_BALANCER, &NODE_PORT],
    ..Command::EMPTY
};

static CLUSTER_IP: Command = Command {
    name: "clusterip",
    about: "Create a service with an address in the cluster",
    usage: "NAME [--tcp=PORT:TARGET]",
    flags: &[&[TCP, value("clusterip", "IP", "Its address, or None")], OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async { generated(session, typed, service(typed, "ClusterIP")?).await })
    }),
    ..Command::EMPTY
};

static NODE_PORT: Command = Command {
    name: "nodeport",
    about: "Create a service with a port on every node",
    usage: "NAME --tcp=PORT:TARGET",
    flags: &[&[TCP, value("node-port", "PORT", "The port on every node")], OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async { generated(session, typed, service(typed, "NodePort")?).await })
    }),
    ..Command::EMPTY
};

static LOAD_BALANCER: Command = Command {
    name: "loadbalancer",
    about: "Create a service with an address for the outside",
    usage: "NAME --tcp=PORT:TARGET",
    flags: &[&[TCP], OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async { generated(session, typed, service(typed, "LoadBalancer")?).await })
    }),
    ..Command::EMPTY
};

static EXTERNAL_NAME: Command = Command {
    name: "externalname",
    about: "Create a service that is another name for a host",
    usage: "NAME --external-name=HOST",
    flags: &[&[TCP, value("external-name", "HOST", "The host")], OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async { generated(session, typed, service(typed, "ExternalName")?).await })
    }),
    ..Command::EMPTY
};

fn service(typed: &Typed, kind: &str) -> Result<Value, CliError> {
    let name = name(typed)?;
    let labels = json!({"app": name});
    let mut ports = Vec::new();
    for text in typed.list("tcp") {
        let (port, target) = text.split_once(':').unwrap_or((&text, &text));
        let wrong = |error: std::num::ParseIntError| {
            let why = match error.kind() {
                std::num::IntErrorKind::PosOverflow => "value out of range",
                _ => "invalid syntax",
            };
            CliError::usage(format!(
                "strconv.ParseUint: parsing {port:?}: {why}\n--tcp takes PORT or PORT:TARGET"
            ))
        };
        let number: u16 = port.parse().map_err(wrong)?;
        if target == "0" {
            return Err(CliError::usage("must be between 1 and 65535, inclusive"));
        }
        let target = target.parse::<u16>().map_or_else(|_| json!(target), |target| json!(target));
        let mut made =
            json!({"name": text.replace(':', "-"), "port": number, "targetPort": target, "protocol": "TCP"});
        if !text.contains(':') {
            made["name"] = text.clone().into();
        }
        if let Some(node) = typed.number("node-port")?.filter(|node| *node != 0) {
            made["nodePort"] = node.into();
        }
        ports.push(made);
    }
    let headless = typed.text("clusterip") == Some("None");
    if ports.is_empty() && kind != "ExternalName" && !headless {
        return Err(CliError::usage("at least one tcp port specifier must be provided"));
    }
    let mut spec = json!({"type": kind, "selector": labels});
    if !ports.is_empty() {
        spec["ports"] = ports.into();
    }
    if let Some(address) = typed.text("clusterip").filter(|address| !address.is_empty()) {
        spec["clusterIP"] = address.into();
    }
    if kind == "ExternalName" {
        spec["externalName"] = required(typed, "external-name")?.into();
    }
    Ok(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": labels}, "spec": spec}),
    )
}

pub(super) static INGRESS: Command = Command {
    name: "ingress",
    aliases: &["ing"],
    about: "Create an ingress",
    usage: "NAME --rule=HOST/PATH=SERVICE:PORT[,tls[=SECRET]]",
    examples: &["create ingress web --rule=shop.example/*=web:80,tls=shop-cert --class=kedge"],
    flags: &[
        &[
            value(
                "rule",
                "RULE",
                "Where a host and path lead; a path with * at its end is a prefix; can be repeated",
            ),
            value("class", "NAME", "The ingress class"),
            value("default-backend", "SERVICE:PORT", "Where everything else leads"),
            value("annotation", "KEY=VALUE", "An annotation; can be repeated"),
        ],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, ingress(typed)?).await })),
    ..Command::EMPTY
};

fn ingress(typed: &Typed) -> Result<Value, CliError> {
    let name = name(typed)?;
    let mut spec = json!({});
    let mut hosts: Vec<(String, Vec<Value>)> = Vec::new();
    let mut secrets: Vec<(String, Vec<String>)> = Vec::new();
    for text in typed.all("rule") {
        let rule = rule(text)?;
        match hosts.iter_mut().find(|(host, _)| *host == rule.host) {
            Some((_, paths)) => paths.push(rule.path),
            None => hosts.push((rule.host.clone(), vec![rule.path])),
        }
        let Some(secret) = rule.secret else { continue };
        let host = Some(rule.host).filter(|host| !host.is_empty());
        if host.is_none() && secret.is_empty() {
            continue;
        }
        match secrets.iter_mut().find(|(known, _)| *known == secret) {
            Some((_, known)) => known.extend(host.filter(|host| !known.contains(host))),
            None => secrets.push((secret, host.into_iter().collect())),
        }
    }
    if hosts.is_empty() && !typed.given("default-backend") {
        return Err(CliError::usage(
            "not enough information provided: every ingress has to either specify a default-backend (which catches all traffic) or a list of rules (which catch specific paths)",
        ));
    }
    if let Some(class) = typed.text("class") {
        spec["ingressClassName"] = class.into();
    }
    if let Some(backend) = typed.text("default-backend") {
        let wrong = || CliError::usage("default-backend should be in format servicename:serviceport");
        spec["defaultBackend"] = self::backend(backend).ok_or_else(wrong)?;
    }
    let rule = |(host, paths): (String, Vec<Value>)| match host.is_empty() {
        true => json!({"http": {"paths": paths}}),
        false => json!({"host": host, "http": {"paths": paths}}),
    };
    if !hosts.is_empty() {
        spec["rules"] = hosts.into_iter().map(rule).collect();
    }
    let tls = |(secret, hosts): (String, Vec<String>)| {
        let mut tls = json!({});
        if !secret.is_empty() {
            tls["secretName"] = secret.into();
        }
        if !hosts.is_empty() {
            tls["hosts"] = hosts.into();
        }
        tls
    };
    if !secrets.is_empty() {
        spec["tls"] = secrets.into_iter().map(tls).collect();
    }
    let mut metadata = json!({"name": name});
    for text in typed.list("annotation") {
        let wrong =
            || CliError::usage(format!("annotation {text} is invalid and should be in format key=[value]"));
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        crate::change::object_at(&mut metadata, "annotations")[key] = value.into();
    }
    Ok(json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}))
}

struct Rule {
    host: String,
    path: Value,
    /// Nothing: no TLS. Empty: TLS with the default certificate.
    secret: Option<String>,
}

fn rule(text: &str) -> Result<Rule, CliError> {
    let wrong = || {
        CliError::usage(format!(
            "rule {text} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]"
        ))
    };
    let (rule, tls) = match text.split_once(',') {
        Some((rule, tls)) => (rule, Some(tls)),
        None => (text, None),
    };
    let secret = match tls {
        None => None,
        Some("tls") => Some(String::new()),
        Some(tls) => Some(tls.strip_prefix("tls=").ok_or_else(wrong)?.to_owned()),
    };
    let (place, backend) = rule.split_once('=').ok_or_else(wrong)?;
    let at = place.find('/').ok_or_else(wrong)?;
    let (host, path) = place.split_at(at);
    let (path, kind) = match path.strip_suffix('*') {
        Some(path) => (path, "Prefix"),
        None => (path, "Exact"),
    };
    let path = json!({"path": path, "pathType": kind, "backend": self::backend(backend).ok_or_else(wrong)?});
    Ok(Rule { host: host.to_owned(), path, secret })
}

/// `service:port`
fn backend(text: &str) -> Option<Value> {
    let (service, port) = text.split_once(':')?;
    let port = match port.parse::<i32>() {
        Ok(number) => json!({"number": number}),
        Err(_) => json!({"name": port}),
    };
    Some(json!({"service": {"name": service, "port": port}}))
}
