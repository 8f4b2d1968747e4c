//! From the old template to the new one: by steps that keep enough pods available, or all at once.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kedge_engine::{Action, NotReady, Plan, Severity, World};
use kube::ResourceExt;

use super::scaling::scale;
use super::sets::{self, Sets, available, replicas, slack, wanted};
use super::{annotations, history, status};

/// One step of a rolling update.
pub(super) fn roll(
    deployment: &Deployment,
    sets: &Sets,
    world: &World,
    now: Timestamp,
) -> Result<Plan, NotReady> {
    let renewed = match newest(deployment, sets, world, new_size(deployment, sets))? {
        Newest::Made(plan) => return Ok(status::told(plan, deployment, sets, now)),
        Newest::There(plan) => plan,
    };
    let up = sets.new.as_ref().and_then(|new| scale(deployment, new, new_size(deployment, sets)));
    if let Some(up) = up {
        return Ok(status::told(renewed.then(up), deployment, sets, now));
    }
    let down = shrink(deployment, sets);
    let finished = down.is_empty();
    let plan = status::told(renewed.then(down), deployment, sets, now);
    Ok(if finished { plan.then(history::surplus(deployment, sets)) } else { plan })
}

/// Everything old goes before anything new comes.
pub(super) fn recreate(
    deployment: &Deployment,
    sets: &Sets,
    old_pods_run: bool,
    world: &World,
    now: Timestamp,
) -> Result<Plan, NotReady> {
    let down: Vec<Action> = sets.old.iter().filter_map(|set| scale(deployment, set, 0)).flatten().collect();
    if !down.is_empty() || old_pods_run {
        return Ok(status::told(Plan::from(down), deployment, sets, now));
    }
    let renewed = match newest(deployment, sets, world, wanted(deployment))? {
        Newest::Made(plan) => return Ok(status::told(plan, deployment, sets, now)),
        Newest::There(plan) => plan,
    };
    let up = sets.new.as_ref().and_then(|new| scale(deployment, new, wanted(deployment)));
    let plan = renewed.then(up.into_iter().flatten());
    Ok(status::told(plan, deployment, sets, now).then(history::surplus(deployment, sets)))
}

enum Newest {
    /// It has to be made first.
    Made(Plan),
    There(Plan),
}

/// The newest template's set with the right revision, made if there is none.
fn newest(deployment: &Deployment, sets: &Sets, world: &World, size: i32) -> Result<Newest, NotReady> {
    let next = annotations::next_revision(sets);
    let Some(new) = &sets.new else {
        if world.get::<ReplicaSet>(&sets::new_key(deployment))?.is_some() {
            // The name is taken by something else; another hash will give another name.
            return Ok(Newest::Made(Plan::from(status::collided(deployment))));
        }
        let set = sets::make(deployment, size, next);
        let message = format!("Scaled up replica set {} from 0 to {size}", set.name_any());
        let told =
            (size > 0).then(|| Action::tell(deployment, Severity::Normal, "ScalingReplicaSet", message));
        let plan = Plan::from([Action::create(&set)]).then(told).then(number(deployment, next));
        return Ok(Newest::Made(plan));
    };
    let mut renewed = (**new).clone();
    annotations::renew(deployment, &mut renewed, next);
    if let (Some(spec), Some(wanted)) = (&mut renewed.spec, &deployment.spec) {
        spec.min_ready_seconds = wanted.min_ready_seconds;
    }
    let revision = annotations::revision(&renewed);
    let plan = Plan::from(Action::change(&**new, &renewed)).then(number(deployment, revision));
    Ok(Newest::There(plan))
}

/// A Deployment carries the number of its newest set.
fn number(deployment: &Deployment, revision: i64) -> Option<Action> {
    let mut numbered = deployment.clone();
    numbered.annotations_mut().insert(annotations::REVISION.to_owned(), revision.to_string());
    Action::change(deployment, &numbered)
}

/// As many as are wanted, as far as there is room for them beside the old ones.
fn new_size(deployment: &Deployment, sets: &Sets) -> i32 {
    let has = sets.new.as_ref().map_or(0, |set| replicas(set));
    let wanted = wanted(deployment);
    let (surge, _) = slack(deployment);
    let room = (wanted + surge - sets.total()).max(0);
    if has > wanted { wanted } else { has + room.min(wanted - has) }
}

/// Takes away old pods: first those that are of no use, then as many as are not needed for the minimum.
fn shrink(deployment: &Deployment, sets: &Sets) -> Vec<Action> {
    let (_, missing) = slack(deployment);
    let minimum = wanted(deployment) - missing;
    let unready = sets.new.as_ref().map_or(0, |new| replicas(new) - available(new));
    let mut allowed = sets.total() - minimum - unready;
    let mut sizes: Vec<i32> = sets.old.iter().map(|set| replicas(set)).collect();
    for (set, size) in sets.old.iter().zip(&mut sizes) {
        let useless = (*size - available(set)).clamp(0, allowed.max(0));
        *size -= useless;
        allowed -= useless;
    }
    let spare = sets.all().map(|set| available(set)).sum::<i32>() - minimum;
    let mut spare = spare.min(allowed);
    for size in &mut sizes {
        let gone = (*size).min(spare.max(0));
        *size -= gone;
        spare -= gone;
    }
    let changes = sets.old.iter().zip(sizes).filter_map(|(set, size)| scale(deployment, set, size));
    changes.flatten().collect()
}
