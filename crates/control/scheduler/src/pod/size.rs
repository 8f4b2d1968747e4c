//! How much a pod asks for: containers run together, init containers one after another beside the sidecars that have begun,
//! and a resize counts with the greatest of what is wished, given and in force. Knows no node.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus};

use crate::amounts::{Amounts, List};

/// What a container without a request counts for when nodes are compared, so that such pods spread out as well.
const USUAL_MILLI_CPU: i64 = 100;
const USUAL_MEMORY: i64 = 200 * 1024 * 1024;

/// What the pod needs, and what it counts for when nodes are compared. Each counts as one pod.
pub(super) fn of(pod: &Pod) -> (Amounts, Amounts) {
    let Some(spec) = &pod.spec else { return Default::default() };
    let status = pod.status.as_ref();
    let resizes = Resizes::of(status);
    let mut needed = containers(spec, |container| resizes.needs(container));
    let mut counted = containers(spec, |container| {
        let mut needs = resizes.needs(container);
        let asks = |name| requests(container).is_some_and(|list| list.contains_key(name));
        if !asks("cpu") {
            needs.milli_cpu = USUAL_MILLI_CPU;
        }
        if !asks("memory") {
            needs.memory = USUAL_MEMORY;
        }
        needs
    });
    if let Some(list) = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref()) {
        let whole = resizes.greatest(
            list,
            status.and_then(|status| status.resources.as_ref()?.requests.as_ref()),
            status.and_then(|status| status.allocated_resources.as_ref()),
        );
        for name in list.keys().filter(|name| is_of_pods(name)) {
            needed.set(name, whole.get(name));
            counted.set(name, whole.get(name));
        }
    }
    for sum in [&mut needed, &mut counted] {
        if let Some(overhead) = &spec.overhead {
            sum.add(&Amounts::of_list(overhead));
        }
        sum.pods = 1;
    }
    (needed, counted)
}

/// Resources that can be asked for by the pod as a whole.
fn is_of_pods(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

fn requests(container: &Container) -> Option<&List> {
    container.resources.as_ref()?.requests.as_ref()
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn containers(spec: &PodSpec, needs: impl Fn(&Container) -> Amounts) -> Amounts {
    let mut together = Amounts::default();
    for container in &spec.containers {
        together.add(&needs(container));
    }
    let (mut sidecars, mut highest) = (Amounts::default(), Amounts::default());
    for container in spec.init_containers.iter().flatten() {
        let mut now = needs(container);
        if is_sidecar(container) {
            together.add(&now);
            sidecars.add(&now);
            highest.raise_to(&sidecars);
        } else {
            now.add(&sidecars);
            highest.raise_to(&now);
        }
    }
    together.raise_to(&highest);
    together
}

/// What the node has given to containers, which may not be what they now ask for.
struct Resizes<'a> {
    given: HashMap<&'a str, &'a ContainerStatus>,
    infeasible: bool,
}

impl<'a> Resizes<'a> {
    fn of(status: Option<&'a PodStatus>) -> Self {
        let of_containers = status.and_then(|status| status.container_statuses.as_ref());
        let of_init = status.and_then(|status| status.init_container_statuses.as_ref());
        let given = of_containers.into_iter().chain(of_init).flatten();
        let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
        let infeasible = conditions
            .filter(|condition| condition.type_ == "PodResizePending")
            .any(|condition| condition.reason.as_deref() == Some("Infeasible"));
        Self { given: given.map(|status| (&*status.name, status)).collect(), infeasible }
    }

    fn needs(&self, container: &Container) -> Amounts {
        let empty = List::new();
        let asked = requests(container).unwrap_or(&empty);
        let Some(status) = self.given.get(&*container.name).filter(|status| status.resources.is_some())
        else {
            return Amounts::of_list(asked);
        };
        let actual = status.resources.as_ref().and_then(|resources| resources.requests.as_ref());
        self.greatest(asked, actual, status.allocated_resources.as_ref())
    }

    /// A wish that can't be granted counts for nothing.
    fn greatest(&self, asked: &List, actual: Option<&List>, allocated: Option<&List>) -> Amounts {
        if actual.is_none() && allocated.is_none() {
            return Amounts::of_list(asked);
        }
        let mut all = if self.infeasible { Amounts::default() } else { Amounts::of_list(asked) };
        for list in actual.into_iter().chain(allocated) {
            all.raise_to(&Amounts::of_list(list));
        }
        all
    }
}
