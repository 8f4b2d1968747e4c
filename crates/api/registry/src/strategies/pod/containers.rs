//! A pod's containers: the regular ones, those that run before, and those that are added to look inside.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::check::Around;
use super::{env, mounts, probes, resources, security};
use crate::strategies::fields::{at, has, list, number, text};
use crate::strategies::names;

pub(super) fn all(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    regular(errors, &path.child("containers"), around);
    init(errors, &path.child("initContainers"), around);
    ephemeral(errors, &path.child("ephemeralContainers"), around);
}

fn regular(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    let containers = list(around.spec, "containers");
    if containers.is_empty() {
        return errors.required(path, "");
    }
    for (i, container) in containers.iter().enumerate() {
        let path = path.index(i);
        common(errors, &path, container, around);
        unique_name(errors, &path, container, containers.iter().take(i));
        probes::of_container(errors, &path, container, around);
        restart_policy(errors, &path, container);
    }
    host_ports(errors, path, containers);
}

fn init(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    let containers = list(around.spec, "initContainers");
    for (i, container) in containers.iter().enumerate() {
        let path_one = path.index(i);
        common(errors, &path_one, container, around);
        restart_policy(errors, &path_one, container);
        let others = list(around.spec, "containers").iter().chain(containers.iter().take(i));
        unique_name(errors, &path_one, container, others);
        host_ports(errors, path, std::slice::from_ref(container));
        if text(container, "restartPolicy") == "Always" {
            probes::of_container(errors, &path_one, container, around);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if has(container, field) {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.forbidden(&path_one.child(field), detail);
            }
        }
    }
}

fn ephemeral(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    const FORBIDDEN: &[&str] = &[
        "lifecycle",
        "livenessProbe",
        "ports",
        "readinessProbe",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "startupProbe",
    ];
    const DETAIL: &str = "cannot be set for an Ephemeral Container";
    let containers = list(around.spec, "ephemeralContainers");
    let lasting = || list(around.spec, "containers").iter().chain(list(around.spec, "initContainers"));
    for (i, container) in containers.iter().enumerate() {
        let path = path.index(i);
        common(errors, &path, container, around);
        image_without_space(errors, &path, container);
        unique_name(errors, &path, container, lasting().chain(containers.iter().take(i)));
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !lasting().any(|other| text(other, "name") == target) {
            errors.not_found(&path.child("targetContainerName"), &target.into());
        }
        for field in FORBIDDEN.iter().copied().filter(|field| has(container, field)) {
            errors.forbidden(&path.child(field), DETAIL);
        }
        if at(container, "resources").as_object().is_some_and(|resources| !resources.is_empty()) {
            errors.forbidden(&path.child("resources"), DETAIL);
        }
        for (j, mount) in list(container, "volumeMounts").iter().enumerate() {
            let path = path.child("volumeMounts");
            for field in ["subPath", "subPathExpr"] {
                if !text(mount, field).is_empty() {
                    errors.forbidden(&path.index(j).child(field), DETAIL);
                }
            }
        }
    }
}

/// What holds for every container.
fn common(errors: &mut Errors, path: &Path<'_>, container: &Value, around: &Around<'_>) {
    match text(container, "name") {
        "" => errors.required(&path.child("name"), ""),
        name => names::label(errors, &path.child("name"), name),
    }
    if text(container, "image").is_empty() {
        errors.required(&path.child("image"), "");
    }
    let policy = text(container, "terminationMessagePolicy");
    names::one_of(
        errors,
        &path.child("terminationMessagePolicy"),
        policy,
        &["File", "FallbackToLogsOnError"],
    );
    ports(errors, &path.child("ports"), container);
    env::variables(errors, &path.child("env"), container, around);
    env::sources(errors, &path.child("envFrom"), container);
    mounts::volumes(errors, &path.child("volumeMounts"), container, around);
    mounts::devices(errors, &path.child("volumeDevices"), container, around);
    let pull = text(container, "imagePullPolicy");
    names::one_of(errors, &path.child("imagePullPolicy"), pull, &["Always", "IfNotPresent", "Never"]);
    resources::of_container(errors, &path.child("resources"), container, around.spec);
    resize_policy(errors, &path.child("resizePolicy"), container, around.spec);
    security::of_container(errors, &path.child("securityContext"), container, around);
}

fn unique_name<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    container: &Value,
    mut others: impl Iterator<Item = &'a Value>,
) {
    let name = text(container, "name");
    if !name.is_empty() && others.any(|other| text(other, "name") == name) {
        errors.duplicate(&path.child("name"), &name.into());
    }
}

fn ports(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let ports = list(container, "ports");
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = text(port, "name");
        if !name.is_empty() {
            let before = errors.len();
            names::port_name(errors, &path.child("name"), name);
            if errors.len() == before && ports.iter().take(i).any(|other| text(other, "name") == name) {
                errors.duplicate(&path.child("name"), &name.into());
            }
        }
        match number(port, "containerPort") {
            0 => errors.required(&path.child("containerPort"), ""),
            number => names::port_number(errors, &path.child("containerPort"), number),
        }
        let host = number(port, "hostPort");
        if host != 0 {
            names::port_number(errors, &path.child("hostPort"), host);
        }
        names::one_of(errors, &path.child("protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"]);
    }
}

/// Two ports of these containers must not want the same port of the host.
fn host_ports(errors: &mut Errors, path: &Path<'_>, containers: &[Value]) {
    let mut seen: Vec<(&str, &str, i64)> = Vec::new();
    for (i, container) in containers.iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let wanted = (text(port, "protocol"), text(port, "hostIP"), number(port, "hostPort"));
            if wanted.2 == 0 {
                continue;
            }
            if seen.contains(&wanted) {
                let (protocol, address, number) = wanted;
                let path = path.index(i);
                let shown = format!("{protocol}/{address}/{number}");
                errors.duplicate(&path.child("ports").index(j).child("hostPort"), &shown.into());
            }
            seen.push(wanted);
        }
    }
}

fn restart_policy(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let rules = list(container, "restartPolicyRules");
    match at(container, "restartPolicy") {
        Value::Null if rules.is_empty() => return,
        Value::Null => {
            let detail = "must specify restartPolicy when restart rules are used";
            errors.required(&path.child("restartPolicy"), detail);
        }
        policy => {
            names::one_of_if_set(
                errors,
                &path.child("restartPolicy"),
                policy,
                &["Always", "Never", "OnFailure"],
            );
        }
    }
    if rules.len() > 20 {
        errors.too_many(&path.child("restartPolicyRules"), rules.len(), 20);
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = path.child("restartPolicyRules");
        let path = path.index(i);
        let action = at(rule, "action");
        names::one_of_if_set(errors, &path.child("action"), action, &["Restart", "RestartAllContainers"]);
        if has(rule, "exitCodes") {
            let codes = at(rule, "exitCodes");
            let operator = at(codes, "operator");
            names::one_of_if_set(
                errors,
                &path.child("exitCodes").child("operator"),
                operator,
                &["In", "NotIn"],
            );
        } else {
            errors.required(&path.child("exitCodes"), "must be specified");
        }
    }
}

fn resize_policy(errors: &mut Errors, path: &Path<'_>, container: &Value, spec: &Value) {
    let policies = list(container, "resizePolicy");
    for (i, policy) in policies.iter().enumerate() {
        let resource = text(policy, "resourceName");
        if policies.iter().take(i).any(|other| text(other, "resourceName") == resource) {
            errors.duplicate(&path.index(i), &resource.into());
        }
        let restart = text(policy, "restartPolicy");
        names::one_of(errors, path, resource, &["cpu", "memory"]);
        names::one_of(errors, path, restart, &["NotRequired", "RestartContainer"]);
        if text(spec, "restartPolicy") == "Never" && restart != "NotRequired" {
            names::wrong(errors, path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

/// Templates may use an image of a single space as a placeholder; a pod may not.
pub(super) fn image_without_space(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let image = text(container, "image");
    if image.trim() != image {
        names::wrong(errors, &path.child("image"), image, "must not have leading or trailing whitespace");
    }
}
