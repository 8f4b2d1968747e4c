use http::Method;

use super::{Metrics, NoRoute, Place, Route, rights, route};

fn place(namespace: &str, pod: &str, uid: Option<&str>, container: &str) -> Place {
    super::place(namespace, pod, uid, container)
}

#[test]
fn paths_are_those_of_a_kubelet() {
    for (method, path, found) in [
        (Method::GET, "/healthz", Ok(Route::Health)),
        (Method::GET, "/healthz/ping", Ok(Route::Health)),
        (Method::GET, "/pods", Ok(Route::Pods)),
        (Method::GET, "/pods/", Ok(Route::Pods)),
        (Method::GET, "/runningpods/", Ok(Route::RunningPods)),
        (Method::POST, "/pods", Err(NoRoute::Method)),
        (Method::GET, "/metrics/resource", Ok(Route::Metrics(Metrics::Resource))),
        (Method::GET, "/stats/summary", Ok(Route::Summary)),
        (Method::GET, "/containerLogs/n/p/c", Ok(Route::Logs(place("n", "p", None, "c")))),
        (Method::GET, "/containerLogs/n/p", Err(NoRoute::Path)),
        (Method::POST, "/exec/n/p/c", Ok(Route::Exec(place("n", "p", None, "c")))),
        (Method::GET, "/exec/n/p/u/c", Ok(Route::Exec(place("n", "p", Some("u"), "c")))),
        (Method::DELETE, "/exec/n/p/c", Err(NoRoute::Method)),
        (Method::GET, "/run/n/p/c", Err(NoRoute::Method)),
        (Method::POST, "/portForward/n/p", Ok(Route::PortForward(place("n", "p", None, "")))),
        (Method::GET, "/logs/", Ok(Route::Files(String::new()))),
        (Method::GET, "/logs/a/b", Ok(Route::Files("a/b".to_owned()))),
        (Method::GET, "/", Err(NoRoute::Path)),
        (Method::GET, "/execute/n/p/c", Err(NoRoute::Path)),
    ] {
        assert_eq!(route(&method, path), found, "{method} {path}");
    }
}

#[test]
fn each_path_needs_its_right() {
    for (method, path, needed) in [
        (Method::GET, "/pods", "get pods proxy"),
        (Method::GET, "/pods/x", "get pods proxy"),
        (Method::GET, "/podsx", "get proxy"),
        (Method::GET, "/runningpods/", "get pods proxy"),
        (Method::GET, "/healthz/ping", "get healthz proxy"),
        (Method::GET, "/configz", "get configz proxy"),
        (Method::GET, "/metrics/cadvisor", "get metrics"),
        (Method::GET, "/stats/summary", "get stats"),
        (Method::GET, "/logs/", "get log"),
        (Method::GET, "/containerLogs/n/p/c", "get proxy"),
        (Method::POST, "/exec/n/p/c", "create proxy"),
        (Method::PUT, "/exec/n/p/c", "update proxy"),
    ] {
        let found = rights(&method, path);
        let shown = found.iter().map(|right| right.subresource).collect::<Vec<_>>().join(" ");
        assert_eq!(format!("{} {shown}", found[0].verb), needed, "{method} {path}");
    }
}
