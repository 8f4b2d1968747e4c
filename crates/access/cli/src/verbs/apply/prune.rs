//! What an earlier apply made and this one no longer has. An apply set is remembered by an object that names the kinds in it, and every
//! member carries its label; without one, everything in the namespaces applied to that has the selector's labels and was once applied.

use std::collections::BTreeSet;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::args::Typed;
use crate::client::{APPLY, with, with_all};
use crate::error::CliError;
use crate::mapping::Resource;
use crate::print::Output;
use crate::select;
use crate::session::{DryRun, Session};
use crate::verbs::create::LAST_APPLIED;

const PART_OF: &str = "applyset.kubernetes.io/part-of";
const ID: &str = "applyset.kubernetes.io/id";
const TOOLING: &str = "applyset.kubernetes.io/tooling";
const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
const MANAGER: &str = "kubectl-applyset";

/// The kinds that are pruned if none are named, as kubectl has them.
const USUAL: &[(&str, &str)] = &[
    ("", "ConfigMap"),
    ("", "Endpoints"),
    ("", "Namespace"),
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("", "Pod"),
    ("", "ReplicationController"),
    ("", "Secret"),
    ("", "Service"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "Ingress"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
];

/// What is to be pruned once everything is applied.
pub(super) enum Set<'m> {
    Nothing,
    /// By labels.
    Selected,
    Remembered {
        parent: &'m Resource,
        namespace: String,
        name: String,
        id: String,
        /// Kinds of earlier applies.
        kinds: BTreeSet<String>,
        namespaces: BTreeSet<String>,
    },
}

impl<'m> Set<'m> {
    /// Labels the members and writes down what there will be, before anything is applied: whatever fails later is known to the next.
    pub(super) async fn begin(
        session: &'m Session<'_>,
        typed: &Typed,
        manifests: &mut [Value],
    ) -> Result<Self, CliError> {
        let Some(word) = typed.text("applyset") else {
            let chosen = typed.given("selector") || typed.is("all");
            return match (typed.is("prune"), chosen) {
                (false, _) => Ok(Self::Nothing),
                (true, true) => Ok(Self::Selected),
                (true, false) => Err(CliError::usage(
                    "all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all flag. If you did not mean to prune all resources, specify a label selector",
                )),
            };
        };
        let mapping = session.mapping().await?;
        let (parent, name) = match word.split_once('/') {
            Some((kind, name)) => (mapping.find(kind)?, name.to_owned()),
            None => (mapping.find("secrets")?, word.to_owned()),
        };
        let namespace = if parent.namespaced { session.namespace()? } else { String::new() };
        let id = id(&name, &namespace, &parent.kind, &parent.group);
        let before = match session.read(&parent.path(&namespace, &name)).await {
            Ok(parent) => parent,
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(error),
        };
        if !before.is_null() && before["metadata"]["labels"][ID] != *id {
            return Err(CliError::unmet(format!(
                "{}/{name} exists and is not an apply set's: it has no label {ID}={id}",
                parent.told()
            )));
        }
        let listed = |key: &str| -> BTreeSet<String> {
            let text = before["metadata"]["annotations"][key].as_str().unwrap_or_default();
            text.split(',').filter(|text| !text.is_empty()).map(str::to_owned).collect()
        };
        let (mut kinds, mut namespaces) = (listed(KINDS), listed(NAMESPACES));
        for manifest in manifests.iter_mut() {
            let (resource, place, _) = select::placed(session, manifest).await?;
            kinds.insert(group_kind(resource));
            if resource.namespaced && place != namespace {
                namespaces.insert(place);
            }
            crate::change::object_at(&mut manifest["metadata"], "labels")[PART_OF] = id.clone().into();
        }
        let set = Self::Remembered { parent, namespace, name, id, kinds, namespaces };
        set.write(session).await?;
        Ok(set)
    }

    /// Deletes what is left over and forgets kinds that are no longer there.
    pub(super) async fn end(
        self,
        session: &Session<'_>,
        typed: &Typed,
        output: &Output,
        applied: &[Value],
    ) -> Result<(), CliError> {
        let kept: BTreeSet<&str> =
            applied.iter().filter_map(|object| object["metadata"]["uid"].as_str()).collect();
        match self {
            Self::Nothing => Ok(()),
            Self::Selected => selected(session, typed, output, applied, &kept).await,
            Self::Remembered { parent, namespace, name, id, kinds, namespaces } => {
                if typed.is("prune") {
                    let places: BTreeSet<&str> = namespaces
                        .iter()
                        .map(String::as_str)
                        .chain([&*namespace])
                        .filter(|place| !place.is_empty())
                        .collect();
                    let selector = format!("{PART_OF}={id}");
                    for kind in &kinds {
                        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
                        let Some(resource) = session.mapping().await?.of_group_kind(group, kind) else {
                            continue;
                        };
                        left_over(session, typed, output, resource, &places, &selector, false, &kept).await?;
                    }
                }
                let mut now = BTreeSet::new();
                let mut places = BTreeSet::new();
                for object in applied {
                    let (resource, place, _) = select::placed(session, object).await?;
                    now.insert(group_kind(resource));
                    if resource.namespaced && place != namespace {
                        places.insert(place);
                    }
                }
                let (kinds, namespaces) = if typed.is("prune") { (now, places) } else { (kinds, namespaces) };
                Self::Remembered { parent, namespace, name, id, kinds, namespaces }.write(session).await
            }
        }
    }

    async fn write(&self, session: &Session<'_>) -> Result<(), CliError> {
        let Self::Remembered { parent, namespace, name, id, kinds, namespaces } = self else { return Ok(()) };
        let joined = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(",");
        let mut object = json!({
            "apiVersion": parent.api_version(), "kind": parent.kind,
            "metadata": {
                "name": name, "labels": {ID: id},
                "annotations": {TOOLING: "kubectl/v1.36", KINDS: joined(kinds), NAMESPACES: joined(namespaces)},
            },
        });
        if parent.namespaced {
            object["metadata"]["namespace"] = namespace.clone().into();
        }
        if session.dry_run()? == DryRun::Client {
            return Ok(());
        }
        let mut parameters = session.writing(MANAGER)?;
        parameters.push(("force", "true".to_owned()));
        session
            .api()
            .await?
            .patch(&with_all(&parent.path(namespace, name), &parameters), APPLY, &object)
            .await?;
        Ok(())
    }
}

async fn selected(
    session: &Session<'_>,
    typed: &Typed,
    output: &Output,
    applied: &[Value],
    kept: &BTreeSet<&str>,
) -> Result<(), CliError> {
    let mapping = session.mapping().await?;
    let kinds: Vec<(String, String)> = match typed.given("prune-allowlist") {
        true => {
            let named = typed.list("prune-allowlist");
            let read = |text: &String| {
                let mut parts = text.split('/');
                let group = parts.next().unwrap_or_default().replace("core", "");
                (group, parts.next_back().unwrap_or_default().to_owned())
            };
            named.iter().map(read).collect()
        }
        false => USUAL.iter().map(|(group, kind)| ((*group).to_owned(), (*kind).to_owned())).collect(),
    };
    let places: BTreeSet<&str> =
        applied.iter().filter_map(|object| object["metadata"]["namespace"].as_str()).collect();
    let selector = typed.text("selector").unwrap_or_default();
    for (group, kind) in kinds {
        let Some(resource) = mapping.of_group_kind(&group, &kind) else { continue };
        left_over(session, typed, output, resource, &places, selector, true, kept).await?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "each says which objects are left over")]
async fn left_over(
    session: &Session<'_>,
    typed: &Typed,
    output: &Output,
    resource: &Resource,
    places: &BTreeSet<&str>,
    selector: &str,
    once_applied: bool,
    kept: &BTreeSet<&str>,
) -> Result<(), CliError> {
    let lists: Vec<String> = match resource.namespaced {
        true => places.iter().map(|place| resource.collection(Some(place))).collect(),
        false => vec![resource.collection(None)],
    };
    for list in lists {
        let found = session.read(&with(&list, [("labelSelector", selector)])).await?;
        for object in found["items"].as_array().into_iter().flatten() {
            let metadata = &object["metadata"];
            let is_kept = metadata["uid"].as_str().is_some_and(|uid| kept.contains(uid));
            let was_applied = !metadata["annotations"][LAST_APPLIED].is_null();
            if is_kept || (once_applied && !was_applied) || !metadata["deletionTimestamp"].is_null() {
                continue;
            }
            let text = |key: &str| metadata[key].as_str().unwrap_or_default();
            if session.dry_run()? != DryRun::Client {
                let path = resource.path(text("namespace"), text("name"));
                crate::verbs::delete::quietly(session, typed, &path).await?;
            }
            output.done(session, resource, object, "pruned")?;
        }
    }
    Ok(())
}

fn group_kind(resource: &Resource) -> String {
    match resource.group.is_empty() {
        true => resource.kind.clone(),
        false => format!("{}.{}", resource.kind, resource.group),
    }
}

/// What apply sets are called in labels; fixed by their specification.
fn id(name: &str, namespace: &str, kind: &str, group: &str) -> String {
    let text = [name, namespace, kind, group].join(".");
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(hash))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_set_has_the_id_that_its_specification_gives_it() {
        let id = super::id("shop", "default", "Secret", "");
        assert!(id.starts_with("applyset-") && id.ends_with("-v1"));
        assert_eq!(id.len(), "applyset-".len() + 43 + "-v1".len());
        assert_ne!(id, super::id("shop", "other", "Secret", ""));
    }
}
