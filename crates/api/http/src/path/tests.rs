use super::*;

/// `group/version namespace resource/name/sub rest`, with `-` for what is absent.
fn shown(path: &str) -> String {
    let Some(place) = parse(path) else { return "none".to_owned() };
    let or = |part: &Option<Cow<'_, str>>| part.as_deref().unwrap_or("-").to_owned();
    format!(
        "{}{}/{} {} {}/{}/{} {}",
        if place.watch { "watch " } else { "" },
        place.group,
        place.version,
        or(&place.namespace),
        place.resource,
        or(&place.name),
        or(&place.subresource),
        place.rest.as_deref().unwrap_or("-"),
    )
}

#[test]
fn a_path_names_one_thing() {
    for (path, named) in [
        ("/api/v1/pods", "/v1 - pods/-/- -"),
        ("/api/v1/pods/", "/v1 - pods/-/- -"),
        ("/api/v1/namespaces/a/pods", "/v1 a pods/-/- -"),
        ("/api/v1/namespaces/a/pods/b", "/v1 a pods/b/- -"),
        ("/api/v1/namespaces/a/pods/b/status", "/v1 a pods/b/status -"),
        ("/api/v1/namespaces/a/pods/b/proxy/x/y", "/v1 a pods/b/proxy x/y"),
        ("/api/v1/namespaces", "/v1 - namespaces/-/- -"),
        ("/api/v1/namespaces/a", "/v1 a namespaces/a/- -"),
        ("/api/v1/namespaces/a/finalize", "/v1 a namespaces/a/finalize -"),
        ("/apis/apps/v1/namespaces/a/deployments/b/scale", "apps/v1 a deployments/b/scale -"),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
            "rbac.authorization.k8s.io/v1 - clusterroles/system:node/- -",
        ),
        ("/api/v1/watch/namespaces/a/pods/b", "watch /v1 a pods/b/- -"),
        ("/api/v1", "none"),
        ("/apis/apps/v1", "none"),
        ("/apis", "none"),
        ("/", "none"),
        ("", "none"),
        ("//", "none"),
        ("/api//pods", "/ - pods/-/- -"),
        ("/healthz", "none"),
    ] {
        assert_eq!(shown(path), named, "{path}");
    }
}
