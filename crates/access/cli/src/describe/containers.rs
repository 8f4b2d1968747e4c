//! Containers of pods and of pod templates: what they run, how they are doing, what they see. The pod around them is told elsewhere.

use serde_json::Value;

use super::page::Page;
use super::shown::{
    Now, bracketed, entries, host_port, is_there, items, number, plain, quantity, text, truth, yes,
};

/// A pod whose fields environment variables may name; a template has none yet.
pub(super) struct Told<'p> {
    pub(super) pod: Option<&'p Value>,
    pub(super) statuses: &'p Value,
    pub(super) now: &'p Now,
}

/// A template's stand a little further to the right.
pub(super) fn describe(page: &mut Page, label: &str, containers: &Value, told: &Told<'_>, in_template: bool) {
    let (head, indent) = if in_template { (1, " ") } else { (0, "") };
    let none = if is_there(containers) { "" } else { " <none>" };
    page.line(head, format_args!("{label}:{none}"));
    for container in items(containers) {
        let name = text(&container["name"]);
        let status = items(told.statuses).iter().find(|status| status["name"] == name);
        page.line(1, format_args!("{indent}{name}:"));
        basics(page, container, status);
        words(page, "Command", &container["command"]);
        words(page, "Args", &container["args"]);
        if let Some(status) = status {
            state(page, "State", &status["state"], told.now);
            if is_there(&status["lastState"]["terminated"]) {
                state(page, "Last State", &status["lastState"], told.now);
            }
            page.field(2, "Ready", yes(&Value::Bool(truth(&status["ready"]))));
            page.field(2, "Restart Count", number(&status["restartCount"]));
        }
        resources(page, 2, &container["resources"]);
        for (label, field) in
            [("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe")]
        {
            if is_there(&container[field]) {
                page.field(2, label, probe(&container[field]));
            }
        }
        environment(page, container, told.pod);
        mounts(page, container);
    }
}

fn basics(page: &mut Page, container: &Value, status: Option<&Value>) {
    if let Some(status) = status {
        page.field(2, "Container ID", text(&status["containerID"]));
    }
    page.field(2, "Image", text(&container["image"]));
    if let Some(status) = status {
        page.field(2, "Image ID", text(&status["imageID"]));
    }
    for (one, many, field) in [("Port", "Ports", "containerPort"), ("Host Port", "Host Ports", "hostPort")] {
        let ports: Vec<String> = items(&container["ports"])
            .iter()
            .map(|port| {
                let number = format!("{}/{}", number(&port[field]), text(&port["protocol"]));
                match text(&port["name"]) {
                    "" => number,
                    name => format!("{number} ({name})"),
                }
            })
            .collect();
        match ports.as_slice() {
            [] => page.field(2, one, "<none>"),
            [port] => page.field(2, one, port),
            _ => page.field(2, many, ports.join(", ")),
        }
    }
    let profile = &container["securityContext"]["seccompProfile"];
    if is_there(profile) {
        page.field(2, "SeccompProfile", text(&profile["type"]));
        if profile["type"] == "Localhost" {
            page.field(3, "LocalhostProfile", text(&profile["localhostProfile"]));
        }
    }
}

fn words(page: &mut Page, label: &str, words: &Value) {
    if is_there(words) {
        page.head(2, label);
        for line in items(words).iter().flat_map(|word| text(word).split('\n')) {
            page.line(3, line);
        }
    }
}

pub(super) fn resources(page: &mut Page, level: usize, resources: &Value) {
    for (label, field) in [("Limits", "limits"), ("Requests", "requests")] {
        if is_there(&resources[field]) {
            page.head(level, label);
            for (name, amount) in entries(&resources[field]) {
                page.field(level + 1, name, plain(amount));
            }
        }
    }
}

fn state(page: &mut Page, label: &str, state: &Value, now: &Now) {
    if is_there(&state["running"]) {
        page.field(2, label, "Running");
        page.field(3, "Started", now.date(&state["running"]["startedAt"]));
        return;
    }
    let ended = &state["terminated"];
    if !is_there(ended) {
        page.field(2, label, "Waiting");
        if is_there(&state["waiting"]["reason"]) {
            page.field(3, "Reason", text(&state["waiting"]["reason"]));
        }
        return;
    }
    page.field(2, label, "Terminated");
    for (label, field) in [("Reason", "reason"), ("Message", "message")] {
        if is_there(&ended[field]) {
            page.field(3, label, text(&ended[field]));
        }
    }
    page.field(3, "Exit Code", number(&ended["exitCode"]));
    if number(&ended["signal"]) > 0 {
        page.field(3, "Signal", number(&ended["signal"]));
    }
    page.field(3, "Started", now.date(&ended["startedAt"]));
    page.field(3, "Finished", now.date(&ended["finishedAt"]));
}

fn probe(probe: &Value) -> String {
    let often = format!(
        "delay={}s timeout={}s period={}s #success={} #failure={}",
        number(&probe["initialDelaySeconds"]),
        number(&probe["timeoutSeconds"]),
        number(&probe["periodSeconds"]),
        number(&probe["successThreshold"]),
        number(&probe["failureThreshold"])
    );
    let (exec, get) = (&probe["exec"], &probe["httpGet"]);
    let (tcp, grpc) = (&probe["tcpSocket"], &probe["grpc"]);
    if !exec.is_null() {
        format!("exec {} {often}", bracketed(&exec["command"]))
    } else if !get.is_null() {
        let scheme = text(&get["scheme"]).to_lowercase();
        let host = host_port(text(&get["host"]), &plain(&get["port"]));
        let path = text(&get["path"]);
        let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
        format!("http-get {scheme}://{host}{slash}{path} {often}")
    } else if !tcp.is_null() {
        format!("tcp-socket {}:{} {often}", text(&tcp["host"]), plain(&tcp["port"]))
    } else if !grpc.is_null() {
        format!("grpc <pod>:{} {} {often}", number(&grpc["port"]), text(&grpc["service"]))
    } else {
        format!("unknown {often}")
    }
}

fn environment(page: &mut Page, container: &Value, pod: Option<&Value>) {
    if is_there(&container["envFrom"]) {
        page.head(2, "Environment Variables from");
        for from in items(&container["envFrom"]) {
            let (kind, source) = match &from["configMapRef"] {
                Value::Null => ("Secret", &from["secretRef"]),
                source => ("ConfigMap", source),
            };
            let with = match text(&from["prefix"]) {
                "" => String::new(),
                prefix => format!(" with prefix '{prefix}'"),
            };
            let name = text(&source["name"]);
            page.line(3, format_args!("{name}\t{kind}{with}\tOptional: {}", truth(&source["optional"])));
        }
    }
    if !is_there(&container["env"]) {
        page.field(2, "Environment", "<none>");
        return;
    }
    page.head(2, "Environment");
    for variable in items(&container["env"]) {
        let (name, from) = (text(&variable["name"]), &variable["valueFrom"]);
        if from.is_null() {
            let mut lines = text(&variable["value"]).split('\n');
            page.field(3, name, lines.next().unwrap_or_default());
            lines.for_each(|line| page.line(3, format_args!("\t{line}")));
        } else if let Some(told) = told_from(from, container, pod) {
            page.field(3, name, told);
        }
    }
}

/// What a variable is set to, if that can be known here, and where it is from.
fn told_from(from: &Value, container: &Value, pod: Option<&Value>) -> Option<String> {
    let field = &from["fieldRef"];
    if !field.is_null() {
        let path = text(&field["fieldPath"]);
        let value = pod.map(|pod| pod_field(pod, path)).unwrap_or_default();
        let version = Some(text(&field["apiVersion"])).filter(|version| !version.is_empty()).unwrap_or("v1");
        return Some(format!("{value} ({version}:{path})"));
    }
    let resource = &from["resourceFieldRef"];
    if !resource.is_null() {
        let path = text(&resource["resource"]);
        let value = amount(resource, container);
        let of_node = value == "0" && matches!(path, "limits.cpu" | "limits.memory");
        return Some(format!("{} ({path})", if of_node { "node allocatable" } else { &value }));
    }
    for (field, kind) in [("secretKeyRef", "in secret"), ("configMapKeyRef", "of config map")] {
        let source = &from[field];
        if !source.is_null() {
            let (key, name, optional) =
                (text(&source["key"]), text(&source["name"]), truth(&source["optional"]));
            return Some(format!("<set to the key '{key}' {kind} '{name}'>\tOptional: {optional}"));
        }
    }
    None
}

fn pod_field(pod: &Value, path: &str) -> String {
    let meta = &pod["metadata"];
    if let Some((map, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        let map = map.strip_prefix("metadata.").unwrap_or_default();
        return plain(&meta[map][key]);
    }
    match path {
        "metadata.name" | "metadata.namespace" | "metadata.uid" => {
            text(&meta[path.trim_start_matches("metadata.")]).to_owned()
        }
        "metadata.labels" | "metadata.annotations" => {
            let map = &meta[path.trim_start_matches("metadata.")];
            entries(map).map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// How much of a resource a container has, in the unit that it asks in.
fn amount(reference: &Value, container: &Value) -> String {
    let Some((list, name)) = text(&reference["resource"]).split_once('.') else { return String::new() };
    let amount = quantity(&container["resources"][list][name]);
    let unit = quantity(&reference["divisor"]);
    let count = |amount: i64, unit: i64| amount / unit + i64::from(amount % unit != 0);
    let counted = match (name, unit.is_zero()) {
        ("cpu", true) => count(amount.milli_value(), 1000),
        ("cpu", false) => count(amount.milli_value(), unit.milli_value().max(1)),
        (_, true) => amount.value(),
        (_, false) => count(amount.value(), unit.value().max(1)),
    };
    counted.to_string()
}

fn mounts(page: &mut Page, container: &Value) {
    let sorted = |list: &'_ Value, by: &'static str| {
        let mut sorted = items(list).to_vec();
        sorted.sort_by(|a, b| text(&a[by]).cmp(text(&b[by])));
        sorted
    };
    let none = if is_there(&container["volumeMounts"]) { "" } else { "\t<none>" };
    page.line(2, format_args!("Mounts:{none}"));
    for mount in sorted(&container["volumeMounts"], "mountPath") {
        let mut how = if truth(&mount["readOnly"]) { "ro".to_owned() } else { "rw".to_owned() };
        if is_there(&mount["subPath"]) {
            how.push_str(&format!(",path={:?}", text(&mount["subPath"])));
        }
        page.line(3, format_args!("{} from {} ({how})", text(&mount["mountPath"]), text(&mount["name"])));
    }
    if is_there(&container["volumeDevices"]) {
        page.line(2, format_args!("Devices:{none}"));
        for device in sorted(&container["volumeDevices"], "devicePath") {
            page.line(3, format_args!("{} from {}", text(&device["devicePath"]), text(&device["name"])));
        }
    }
}
