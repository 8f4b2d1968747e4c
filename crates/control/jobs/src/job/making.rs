//! A job's new pods: what they are called, and what an indexed job tells them. Where a name is free is the only thing asked of
//! the world.

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kedge_children::pods::from_template;
use kedge_children::{claim, names};
use kube::ResourceExt;

use super::scene::Scene;
use super::tracked::{FINALIZER, INDEX, INDEX_FAILURES, INDEX_IGNORED, Tracked};

const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// The longest beginning that leaves room for what makes a name unlike others.
const LONGEST_BASE: usize = 58;

/// One pod for each of these. Names go by when the job was started and how many pods it has, not by its revision: whoever plans
/// from a world that lacks a pod gives its name again, and is refused.
pub(super) fn pods(
    job: &Job,
    scene: &Scene,
    started: Option<&Time>,
    indexes: &[Option<usize>],
    is_free: impl Fn(&str) -> bool,
) -> Vec<Pod> {
    let uid = job.metadata.uid.as_deref().unwrap_or_default();
    let started = started.map(|time| time.0.to_string()).unwrap_or_default();
    let mut given = BTreeSet::new();
    let mut next = 0;
    let mut pods = Vec::with_capacity(indexes.len());
    for index in indexes {
        let base = base(&job.name_any(), *index);
        if index.is_some() {
            next = 0;
        }
        let name = loop {
            let name = names::made(&base, &[uid, &started, &base], next);
            next += 1;
            if is_free(&name) && given.insert(name.clone()) {
                break name;
            }
        };
        pods.push(pod(job, scene, *index, base, name));
    }
    pods
}

/// `job-` or `job-3-`, cut so that the index stays.
fn base(job: &str, index: Option<usize>) -> String {
    let end = index.map_or_else(|| "-".to_owned(), |index| format!("-{index}-"));
    let room = LONGEST_BASE.saturating_sub(end.len());
    format!("{}{end}", job.chars().take(room).collect::<String>())
}

fn pod(job: &Job, scene: &Scene, index: Option<usize>, base: String, name: String) -> Pod {
    let mut pod = from_template(Some(&scene.facts.spec.template), &job.namespace().unwrap_or_default());
    pod.metadata.name = Some(name);
    pod.metadata.generate_name = Some(base);
    pod.metadata.owner_references = Some(vec![claim::reference(job)]);
    let finalizers = pod.metadata.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        finalizers.push(FINALIZER.to_owned());
    }
    if let Some(index) = index {
        tell_index(&mut pod, job, index);
        if scene.facts.index_limit().is_some() {
            tell_failures(&mut pod, scene, index);
        }
    }
    pod
}

fn tell_index(pod: &mut Pod, job: &Job, index: usize) {
    pod.labels_mut().insert(INDEX.to_owned(), index.to_string());
    pod.annotations_mut().insert(INDEX.to_owned(), index.to_string());
    let Some(spec) = &mut pod.spec else { return };
    spec.hostname = Some(format!("{}-{index}", job.name_any()));
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        tell_container(container);
    }
}

fn tell_container(container: &mut Container) {
    let variables = container.env.get_or_insert_default();
    if variables.iter().any(|variable| variable.name == INDEX_VARIABLE) {
        return;
    }
    let field = ObjectFieldSelector { field_path: format!("metadata.labels['{INDEX}']"), api_version: None };
    variables.push(EnvVar {
        name: INDEX_VARIABLE.to_owned(),
        value_from: Some(EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() }),
        ..EnvVar::default()
    });
}

fn tell_failures(pod: &mut Pod, scene: &Scene, index: usize) {
    let (mut counted, mut ignored) = (0, 0);
    if let Some(last) = scene.last_tries.get(&index) {
        (counted, ignored) = last.earlier_failures();
        if scene.meaning(last).counts() { counted += 1 } else { ignored += 1 }
    }
    pod.annotations_mut().insert(INDEX_FAILURES.to_owned(), counted.to_string());
    if ignored > 0 {
        pod.annotations_mut().insert(INDEX_IGNORED.to_owned(), ignored.to_string());
    }
}
