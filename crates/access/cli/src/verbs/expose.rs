//! `expose`: a service for what runs.

use serde_json::{Map, Value, json};

use crate::args::{Command, FILES, Flag, OUTPUT, Part, Typed, WRITE, value};
use crate::error::CliError;
use crate::print::Output;
use crate::select::{self, Found};
use crate::session::Session;
use crate::verbs::create;

const FLAGS: &[Flag] = &[
    value("port", "PORT", "The service's port; otherwise those of the containers"),
    value("target-port", "PORT", "The port of the pods, a number or a name"),
    value("protocol", "NAME", "TCP, UDP or SCTP"),
    value("name", "NAME", "The service's name, if not that of what is exposed"),
    value("type", "TYPE", "ClusterIP, NodePort, LoadBalancer or ExternalName"),
    value("selector", "LABELS", "Which pods, if not those of what is exposed"),
    value("labels", "LABELS", "The service's labels").or('l'),
    value("external-ip", "IP", "A further address"),
    value("load-balancer-ip", "IP", "The address that a load balancer is to have"),
    value("session-affinity", "MODE", "None or ClientIP"),
    value("cluster-ip", "IP", "Its address, or None"),
    value("external-name", "HOST", "The host, for ExternalName"),
    value("overrides", "JSON", "What is merged into the service"),
];

pub(crate) static COMMAND: Command = Command {
    name: "expose",
    about: "Make a service for a workload, a pod or a service",
    usage: "(-f FILE | KIND NAME) [--port=PORT] [--target-port=PORT]",
    examples: &[
        "expose deployment web --port=80 --target-port=8080",
        "expose pod web --port=80 --name=front",
    ],
    flags: &[FLAGS, FILES, OUTPUT, WRITE],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let output = Output::of(typed)?;
    for found in select::found(session, typed, &typed.words).await? {
        let mut service = service(typed, &found)?;
        if let Some(text) = typed.text("overrides") {
            merge(&mut service, crate::input::read(text, "--overrides")?);
        }
        create::one(session, typed, &output, service, "kubectl-expose", "exposed").await?;
    }
    Ok(())
}

/// A JSON merge patch.
pub(crate) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match value {
                    Value::Null => drop(into.remove(&key)),
                    value => merge(into.entry(key).or_insert(Value::Null), value),
                }
            }
        }
        (into, from) => *into = from,
    }
}

fn service(typed: &Typed, found: &Found<'_>) -> Result<Value, CliError> {
    let spec = &found.object["spec"];
    let cannot = || CliError::unmet(format!("cannot expose a {}", found.resource.kind));
    let selector = match typed.given("selector") {
        true => pairs(typed, "selector")?,
        false => match &*found.resource.kind {
            "Pod" => found.object["metadata"]["labels"].clone(),
            "Service" | "ReplicationController" => spec["selector"].clone(),
            "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
                spec["selector"]["matchLabels"].clone()
            }
            _ => return Err(cannot()),
        },
    };
    if selector.as_object().is_none_or(Map::is_empty) {
        return Err(CliError::unmet(format!(
            "couldn't retrieve selectors via --selector flag or introspection: {} has no labels to find it by",
            found.told()
        )));
    }
    let mut service = json!({"ports": ports(typed, found)?, "selector": selector});
    for (flag, field) in [
        ("type", "type"),
        ("load-balancer-ip", "loadBalancerIP"),
        ("session-affinity", "sessionAffinity"),
        ("cluster-ip", "clusterIP"),
        ("external-name", "externalName"),
    ] {
        if let Some(text) = typed.text(flag).filter(|text| !text.is_empty()) {
            service[field] = text.into();
        }
    }
    if let Some(address) = typed.text("external-ip") {
        service["externalIPs"] = json!([address]);
    }
    let mut metadata =
        json!({"name": typed.text("name").unwrap_or(&found.name), "namespace": found.namespace});
    let labels = match typed.given("labels") {
        true => pairs(typed, "labels")?,
        false => found.object["metadata"]["labels"].clone(),
    };
    if !labels.is_null() {
        metadata["labels"] = labels;
    }
    Ok(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service}))
}

fn pairs(typed: &Typed, flag: &str) -> Result<Value, CliError> {
    Ok(typed
        .pairs(flag)?
        .into_iter()
        .map(|(key, value)| (key, Value::from(value)))
        .collect::<Map<_, _>>()
        .into())
}

fn ports(typed: &Typed, found: &Found<'_>) -> Result<Vec<Value>, CliError> {
    let known = known(found);
    let asked: Vec<(i64, String)> = match typed.given("port") {
        true => {
            let read = |text: String| {
                let wrong = |_| {
                    CliError::usage(format!(
                        "strconv.Atoi: parsing {text:?}: invalid syntax\n--port takes a number"
                    ))
                };
                let port = text.parse::<i64>().map_err(wrong)?;
                let protocol =
                    known.iter().find(|(known, _)| *known == port).map(|(_, protocol)| protocol.clone());
                Ok((port, protocol.unwrap_or_else(|| "TCP".to_owned())))
            };
            typed.list("port").into_iter().map(read).collect::<Result<_, CliError>>()?
        }
        false => known,
    };
    if asked.is_empty() && typed.text("cluster-ip") != Some("None") {
        return Err(CliError::unmet("couldn't find port via --port flag or introspection"));
    }
    let several = asked.len() > 1;
    let made = |(place, (port, protocol)): (usize, (i64, String))| {
        let target = match typed.text("target-port").filter(|text| !text.is_empty()) {
            Some(text) => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
            None => json!(port),
        };
        let mut made = json!({"port": port, "targetPort": target, "protocol": typed.text("protocol").unwrap_or(&protocol)});
        if several {
            made["name"] = format!("port-{}", place + 1).into();
        }
        made
    };
    Ok(asked.into_iter().enumerate().map(made).collect())
}

/// Ports that it has itself, with their protocols.
fn known(found: &Found<'_>) -> Vec<(i64, String)> {
    let of = |ports: &Value, key: &str| -> Vec<(i64, String)> {
        let ports = ports.as_array().into_iter().flatten();
        ports
            .filter_map(|port| {
                Some((port[key].as_i64()?, port["protocol"].as_str().unwrap_or("TCP").to_owned()))
            })
            .collect()
    };
    if found.resource.kind == "Service" {
        return of(&found.object["spec"]["ports"], "port");
    }
    let spec = crate::change::pod_spec(&found.resource.kind).and_then(|place| found.object.pointer(place));
    let containers = spec.and_then(|spec| spec["containers"].as_array()).into_iter().flatten();
    containers.flat_map(|container| of(&container["ports"], "containerPort")).collect()
}
