//! StatefulSets, and the ControllerRevisions that they and daemon sets keep.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value, json};

use super::fields::{at, each, fill, fill_text, has, list, number, open, put, same_but, take, text};
use super::pod::defaults;
use super::{claim, names, workload};
use crate::strategy::{NameRule, Strategy};

pub(super) struct StatefulSets;
pub(super) struct Revisions;

impl Strategy for StatefulSets {
    fn default(&self, set: &mut Value) {
        fill(set, "status", empty_status());
        let Some(spec) = open(set, "spec") else { return };
        fill_text(spec, "podManagementPolicy", "OrderedReady");
        fill(spec, "serviceName", "");
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        defaults::template(spec);
        if let Some(update) = open(spec, "updateStrategy") {
            if text(update, "type").is_empty() {
                fill_text(update, "type", "RollingUpdate");
                open(update, "rollingUpdate");
            }
            if text(update, "type") == "RollingUpdate"
                && let Some(rolling) = update.get_mut("rollingUpdate")
            {
                fill(rolling, "partition", 0);
            }
        }
        if let Some(policy) = open(spec, "persistentVolumeClaimRetentionPolicy") {
            fill_text(policy, "whenDeleted", "Retain");
            fill_text(policy, "whenScaled", "Retain");
        }
        each(spec, "volumeClaimTemplates").for_each(claim_template);
    }

    fn prepare_create(&self, set: &mut Value) {
        fill(set, "status", empty_status());
    }

    fn validate(&self, set: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(set, "spec"));
        match text(spec, "podManagementPolicy") {
            "" => errors.required(&path.child("podManagementPolicy"), ""),
            "OrderedReady" | "Parallel" => {}
            other => {
                let detail = "must be 'OrderedReady' or 'Parallel'";
                names::wrong(errors, &path.child("podManagementPolicy"), other, detail);
            }
        }
        strategy(errors, &path.child("updateStrategy"), at(spec, "updateStrategy"));
        for field in ["whenDeleted", "whenScaled"] {
            let policy = at(at(spec, "persistentVolumeClaimRetentionPolicy"), field);
            let path = path.child("persistentVolumeClaimRetentionPolicy");
            names::one_of_if_set(errors, &path.child(field), policy, &["Retain", "Delete"]);
        }
        for (i, template) in list(spec, "volumeClaimTemplates").iter().enumerate() {
            claim::spec(
                errors,
                &path.child("volumeClaimTemplates").index(i).child("spec"),
                at(template, "spec"),
            );
        }
        workload::not_negative(errors, &path, spec, &["replicas", "minReadySeconds"]);
        names::not_negative(errors, &path.child("ordinals.start"), number(at(spec, "ordinals"), "start"));
        let service = text(spec, "serviceName");
        if !service.is_empty() {
            names::label(errors, &path.child("serviceName"), service);
        }
        if workload::selector(errors, &path, spec, "statefulset") {
            workload::selector_fits(errors, &path, spec);
            pods(errors, &path.child("template"), spec);
        }
        workload::lasting(errors, &path.child("template"), at(spec, "template"), "StatefulSet");
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        const MUTABLE: &[&str] = &[
            "replicas",
            "template",
            "updateStrategy",
            "minReadySeconds",
            "ordinals",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
        ];
        let (now, before) = (at(new, "spec"), at(old, "spec"));
        if !same_but(now, before, |field| MUTABLE.contains(&field).then_some(true)) {
            errors.forbidden(
                &Path::root("spec"),
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                 'minReadySeconds' are forbidden",
            );
        }
    }

    fn validate_status(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let status = at(new, "status");
        let counts =
            &["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
        workload::not_negative(errors, &Path::root("status"), status, counts);
        workload::not_negative(
            errors,
            &Path::root("status"),
            status,
            &["observedGeneration", "collisionCount"],
        );
        let within = &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
        workload::at_most_replicas(errors, status, within, "status.readyReplicas");
        workload::not_decremented(errors, status, at(old, "status"));
    }

    fn warnings(&self, set: &Value) -> Vec<String> {
        workload::template_warnings(set)
    }

    // The pods' names are made of it and must be labels.
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn empty_status() -> Value {
    json!({"replicas": 0, "availableReplicas": 0})
}

/// The templates are whole claims and read back as such.
fn claim_template(claim: &mut Value) {
    fill_text(claim, "apiVersion", "v1");
    fill_text(claim, "kind", "PersistentVolumeClaim");
    fill(claim, "metadata", Map::new());
    if let Some(spec) = open(claim, "spec") {
        defaults::claim_spec(spec);
    }
    if let Some(status) = open(claim, "status") {
        fill_text(status, "phase", "Pending");
    }
}

fn strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    let (at_rolling, rolling) = (path.child("rollingUpdate"), at(strategy, "rollingUpdate"));
    match text(strategy, "type") {
        "" => errors.required(path, ""),
        "OnDelete" => {
            if has(strategy, "rollingUpdate") {
                errors.invalid(&at_rolling, rolling, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        "RollingUpdate" => {
            names::not_negative(errors, &at_rolling.child("partition"), number(rolling, "partition"));
            let unavailable = at(rolling, "maxUnavailable");
            if !unavailable.is_null() {
                let path = at_rolling.child("maxUnavailable");
                names::share(errors, &path, unavailable);
                if names::is_nothing(unavailable) {
                    errors.invalid(&path, unavailable, "cannot be 0");
                }
                names::share_at_most_all(errors, &path, unavailable);
            }
        }
        _ => errors.invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

/// The set gives its pods a host name, a subdomain and a volume for each claim: the template is looked at as if it
/// had them.
fn pods(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let claims = list(spec, "volumeClaimTemplates");
    let template = at(spec, "template");
    let inner = at(template, "spec");
    if claims.is_empty() && text(inner, "subdomain").is_empty() && text(inner, "hostname").is_empty() {
        return workload::template(errors, path, template);
    }
    let mut template = template.clone();
    if let Some(inner) = template.get_mut("spec") {
        take(inner, "subdomain");
        take(inner, "hostname");
        let names: Vec<&str> = claims.iter().map(|claim| text(at(claim, "metadata"), "name")).collect();
        let own =
            names.iter().map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
        let others =
            list(inner, "volumes").iter().filter(|volume| !names.contains(&text(volume, "name"))).cloned();
        let volumes: Vec<Value> = own.chain(others).collect();
        put(inner, "volumes", volumes);
    }
    workload::template(errors, path, &template);
}

impl Strategy for Revisions {
    fn validate(&self, revision: &Value, errors: &mut Errors) {
        names::not_negative(errors, &Path::root("revision"), number(revision, "revision"));
        match revision.get("data") {
            None | Some(Value::Null) => errors.required(&Path::root("data"), "data is mandatory"),
            Some(Value::Object(_)) => {}
            Some(_) => errors.required(&Path::root("data"), "data must be a valid JSON object"),
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if at(new, "data") != at(old, "data") {
            errors.invalid(&Path::root("data"), at(new, "data"), "field is immutable");
        }
    }
}
