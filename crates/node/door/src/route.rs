//! What a path asks for, and what somebody must be allowed to do to get it. Pure.

#[cfg(test)]
mod tests;

use http::Method;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Health,
    Pods,
    RunningPods,
    Config,
    Summary,
    Metrics(Metrics),
    Logs(Place),
    Exec(Place),
    Attach(Place),
    Run(Place),
    PortForward(Place),
    /// Of the machine itself: a file or a folder.
    Files(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metrics {
    Agent,
    Resource,
    Containers,
    Probes,
}

/// A pod, and a container in it where one is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    /// Only this pod of that name.
    pub(crate) uid: Option<String>,
    pub(crate) container: String,
}

/// Why a path leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    Path,
    Method,
}

pub(crate) fn route(method: &Method, path: &str) -> Result<Route, NoRoute> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let reads = method == Method::GET || method == Method::HEAD;
    let posts = method == Method::POST;
    let (found, allowed) = match parts[..] {
        ["healthz"] | ["healthz", "ping" | "log" | "syncloop"] => (Route::Health, reads),
        ["pods"] => (Route::Pods, reads),
        ["runningpods"] => (Route::RunningPods, reads),
        ["configz"] => (Route::Config, reads),
        ["stats"] | ["stats", "summary"] => (Route::Summary, reads || posts),
        ["metrics"] => (Route::Metrics(Metrics::Agent), reads),
        ["metrics", "resource"] => (Route::Metrics(Metrics::Resource), reads),
        ["metrics", "cadvisor"] => (Route::Metrics(Metrics::Containers), reads),
        ["metrics", "probes"] => (Route::Metrics(Metrics::Probes), reads),
        ["containerLogs", namespace, pod, container] => {
            (Route::Logs(place(namespace, pod, None, container)), reads)
        }
        ["exec", ref rest @ ..] => (Route::Exec(in_container(rest)?), reads || posts),
        ["attach", ref rest @ ..] => (Route::Attach(in_container(rest)?), reads || posts),
        ["run", ref rest @ ..] => (Route::Run(in_container(rest)?), posts),
        ["portForward", namespace, pod] => {
            (Route::PortForward(place(namespace, pod, None, "")), reads || posts)
        }
        ["portForward", namespace, pod, uid] => {
            (Route::PortForward(place(namespace, pod, Some(uid), "")), reads || posts)
        }
        ["logs", ref rest @ ..] => (Route::Files(rest.join("/")), reads),
        _ => return Err(NoRoute::Path),
    };
    if allowed { Ok(found) } else { Err(NoRoute::Method) }
}

fn in_container(parts: &[&str]) -> Result<Place, NoRoute> {
    match parts {
        [namespace, pod, container] => Ok(place(namespace, pod, None, container)),
        [namespace, pod, uid, container] => Ok(place(namespace, pod, Some(uid), container)),
        _ => Err(NoRoute::Path),
    }
}

fn place(namespace: &str, pod: &str, uid: Option<&str>, container: &str) -> Place {
    Place {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        uid: uid.map(str::to_owned),
        container: container.to_owned(),
    }
}

/// One right of a node; any one of those that `rights` names will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Right {
    pub(crate) verb: &'static str,
    pub(crate) subresource: &'static str,
}

/// What must be allowed for a request, the narrow right first.
pub(crate) fn rights(method: &Method, path: &str) -> Vec<Right> {
    let verb = match *method {
        Method::POST => "create",
        Method::GET => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    };
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let subresources: &[&str] = match first {
        "pods" | "runningpods" => &["pods", "proxy"],
        "healthz" => &["healthz", "proxy"],
        "configz" => &["configz", "proxy"],
        "stats" => &["stats"],
        "metrics" => &["metrics"],
        "logs" => &["log"],
        "checkpoint" => &["checkpoint"],
        "statusz" => &["statusz"],
        "flagz" => &["configz"],
        _ => &["proxy"],
    };
    subresources.iter().map(|subresource| Right { verb, subresource }).collect()
}
