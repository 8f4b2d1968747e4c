//! A pod's life on a scripted node, one step at a time: what to report about it, whether it goes, or when to look again.
//! Decides and does nothing else.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodStatus};

use crate::containers::{self, after, begun, ended, exit_code, waiting, words};
use crate::machine::Machine;
use crate::script::Script;
use crate::shell::{Marks, Run};
use crate::status::report;

#[derive(Debug, PartialEq)]
pub enum Step {
    /// Until the pod changes.
    Rest,
    At(Timestamp),
    Report(Box<PodStatus>),
    /// The containers have stopped: the object may go.
    Remove,
}

/// What nodes remember of the pods that they have seen.
#[derive(Default)]
pub struct Lives {
    of: HashMap<String, Life>,
    marks: Marks,
    addresses: u32,
}

struct Life {
    since: Timestamp,
    address: Ipv4Addr,
    runs: HashMap<(String, i32), Run>,
}

impl Lives {
    pub fn forget(&mut self, uid: &str) {
        self.of.remove(uid);
    }

    pub fn step(&mut self, pod: &Pod, machine: &Machine, script: &Script, now: Timestamp) -> Step {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let addresses = &mut self.addresses;
        let life = self.of.entry(uid).or_insert_with(|| {
            *addresses += 1;
            let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 244, 0, 0)) + *addresses);
            Life { since: now, address, runs: HashMap::new() }
        });
        let on = Place { pod, machine, script, now };
        on.step(life, &mut self.marks)
    }
}

struct Place<'a> {
    pod: &'a Pod,
    machine: &'a Machine,
    script: &'a Script,
    now: Timestamp,
}

impl Place<'_> {
    fn step(&self, life: &mut Life, marks: &mut Marks) -> Step {
        let phase = self.pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
        let is_over = matches!(phase, "Succeeded" | "Failed");
        if self.pod.metadata.deletion_timestamp.is_some() {
            return self.leave(life, is_over);
        }
        match phase {
            "Succeeded" | "Failed" => Step::Rest,
            "Running" => self.go_on(life, marks),
            _ => self.start(life, marks),
        }
    }

    fn containers(&self) -> &[Container] {
        self.pod.spec.as_ref().map(|spec| &*spec.containers).unwrap_or_default()
    }

    fn start(&self, life: &mut Life, marks: &mut Marks) -> Step {
        let wait = self.script.start_after(self.pod);
        let moment = life.since.saturating_add(wait).unwrap_or(Timestamp::MAX);
        if self.now < moment {
            return Step::At(moment);
        }
        if self.containers().iter().any(has_no_image) {
            // Said once. The server may have filled in what we left out, so comparing would say it for ever.
            if self.pod.status.as_ref().is_some_and(|status| status.container_statuses.is_some()) {
                return Step::Rest;
            }
            let statuses = self
                .containers()
                .iter()
                .map(|container| waiting(container, "ErrImagePull", "the scripted node knows no such image"));
            return self.tell(life, statuses.collect(), "Pending").unwrap_or(Step::Rest);
        }
        let statuses = self.containers().iter().map(|container| {
            life.plan(self.pod, container, 0, marks);
            begun(container, 0, self.now)
        });
        let statuses = statuses.collect();
        self.tell(life, statuses, "Running").unwrap_or(Step::Rest)
    }

    fn go_on(&self, life: &mut Life, marks: &mut Marks) -> Step {
        let known = self.pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        let status_of = |name: &str| known.and_then(|all| all.iter().find(|status| status.name == name));
        let mut statuses = Vec::new();
        let mut moments: Vec<Timestamp> = Vec::new();
        for container in self.containers() {
            let Some(status) = status_of(&container.name) else { continue };
            let run = life.plan(self.pod, container, status.restart_count, marks);
            let (status, moment) = containers::next(self.pod, container, status, run, self.now);
            moments.extend(moment);
            statuses.push(status);
        }
        let codes: Vec<i32> = statuses.iter().filter_map(exit_code).collect();
        let all_over = codes.len() == statuses.len() && !statuses.is_empty();
        let phase = match codes.iter().any(|code| *code != 0) {
            _ if !all_over => "Running",
            true => "Failed",
            false => "Succeeded",
        };
        if let Some(overdue) = self.overdue() {
            if self.now >= overdue {
                return self.exceeded(life, &statuses);
            }
            moments.push(overdue);
        }
        let next = moments.into_iter().min().map_or(Step::Rest, Step::At);
        self.tell(life, statuses, phase).unwrap_or(next)
    }

    fn overdue(&self) -> Option<Timestamp> {
        let seconds = self.pod.spec.as_ref()?.active_deadline_seconds?;
        let begun = self.pod.status.as_ref()?.start_time.as_ref()?.0;
        Some(after(begun, seconds))
    }

    fn exceeded(&self, life: &Life, statuses: &[ContainerStatus]) -> Step {
        let over: Vec<_> = statuses.iter().map(|status| stopped(status, 137, self.now)).collect();
        let Some(Step::Report(mut status)) = self.tell(life, over, "Failed") else { return Step::Rest };
        status.reason = Some("DeadlineExceeded".to_owned());
        status.message = Some("Pod was active on the node longer than the specified deadline".to_owned());
        Step::Report(status)
    }

    fn leave(&self, life: &Life, is_over: bool) -> Step {
        let deadline = self.pod.metadata.deletion_timestamp.as_ref().map_or(self.now, |time| time.0);
        // A shell does not hear the signal; it is killed when its time is over.
        let is_deaf = self.containers().iter().any(|container| words(container).join(" ").contains("sleep"));
        let begun = self.pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        if is_deaf && begun.is_some() && !is_over && self.now < deadline {
            return Step::At(deadline);
        }
        let is_held = self.pod.metadata.finalizers.as_ref().is_some_and(|held| !held.is_empty());
        // Whoever holds it wants to know how it ended.
        if is_held && !is_over {
            let code = if is_deaf || begun.is_none() { 137 } else { 0 };
            let over: Vec<_> = match begun {
                Some(statuses) => statuses.iter().map(|status| stopped(status, code, self.now)).collect(),
                None => {
                    self.containers().iter().map(|one| ended(&begun_never(one), code, self.now)).collect()
                }
            };
            let failed = over.iter().filter_map(exit_code).any(|code| code != 0);
            let phase = if failed { "Failed" } else { "Succeeded" };
            return self.tell(life, over, phase).unwrap_or(Step::Rest);
        }
        // With no grace left it is only still there because somebody holds it.
        if self.pod.metadata.deletion_grace_period_seconds == Some(0) { Step::Rest } else { Step::Remove }
    }

    /// Nothing if that is known already.
    fn tell(&self, life: &Life, containers: Vec<ContainerStatus>, phase: &str) -> Option<Step> {
        let now = report(self.pod, self.machine, life.address, containers, phase, self.now);
        (Some(&now) != self.pod.status.as_ref()).then(|| Step::Report(Box::new(now)))
    }
}

impl Life {
    fn plan(&mut self, pod: &Pod, container: &Container, restarts: i32, marks: &mut Marks) -> Run {
        let key = (container.name.clone(), restarts);
        *self.runs.entry(key).or_insert_with(|| containers::plan_run(pod, container, restarts, marks))
    }
}

fn begun_never(container: &Container) -> ContainerStatus {
    waiting(container, "ContainerCreating", "")
}

fn stopped(status: &ContainerStatus, code: i32, now: Timestamp) -> ContainerStatus {
    if exit_code(status).is_some() { status.clone() } else { ended(status, code, now) }
}

/// Test suites ask for images that they are sure nobody has.
fn has_no_image(container: &Container) -> bool {
    let image = container.image.as_deref().unwrap_or_default();
    ["nonexistent", "non-existent", "invalid", ":404"].iter().any(|part| image.contains(part))
}

#[cfg(test)]
mod tests;
