//! What the server says of itself: resources, versions, explanations.

use crate::cluster::{Cluster, assert_has};

#[test]
fn fields_are_explained() {
    let cluster = Cluster::start();
    assert_has(
        &cluster.kubectl(["explain", "pods.spec.containers"]),
        &[
            "KIND:       Pod",
            "FIELD: containers <[]Container>",
            "image\t<string>",
            "name\t<string> -required-",
            "ports\t<[]ContainerPort>",
        ],
    );
    assert_has(
        &cluster.kubectl(["explain", "deployment", "--recursive"]),
        &[
            "GROUP:      apps",
            "VERSION:    v1",
            "maxUnavailable\t<IntOrString>",
            "matchLabels\t<map[string]string>",
        ],
    );
    assert_has(&cluster.kubectl(["explain", "hpa", "--api-version=autoscaling/v2"]), &["VERSION:    v2"]);
    assert_has(
        &cluster.kubectl(["explain", "hpa.spec", "--api-version=autoscaling/v1"]),
        &["targetCPUUtilizationPercentage"],
    );
    assert_has(
        &cluster.kubectl(["explain", "pods.spec", "--output=plaintext-openapiv2"]),
        &["containers\t<[]Object> -required-"],
    );
    assert_has(&cluster.refused(["explain", "pods.spec.nothing"]), &["field \"nothing\" does not exist"]);
}

#[test]
fn resources_are_listed() {
    let cluster = Cluster::start();
    let all = cluster.kubectl(["api-resources", "--output=wide"]);
    let line = |name: &str| {
        let found = all.lines().find(|line| line.starts_with(&format!("{name} ")));
        found
            .unwrap_or_else(|| panic!("no {name} in\n{all}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        line("deployments"),
        "deployments deploy apps/v1 true Deployment create,delete,deletecollection,get,list,patch,update,watch all"
    );
    assert_eq!(
        line("nodes"),
        "nodes no v1 false Node create,delete,deletecollection,get,list,patch,update,watch"
    );
    assert_eq!(line("tokenreviews"), "tokenreviews authentication.k8s.io/v1 false TokenReview create");
    let namespaced = cluster.kubectl(["api-resources", "--namespaced=false", "--output=name"]);
    assert_has(&namespaced, &["clusterroles.rbac.authorization.k8s.io"]);
    assert!(!namespaced.contains("deployments"));
    let versions = cluster.kubectl(["api-versions"]);
    assert_has(&versions, &["v1\n", "apps/v1", "autoscaling/v1", "autoscaling/v2", "resource.k8s.io/v1"]);
}

#[test]
fn the_server_names_its_version() {
    let cluster = Cluster::start();
    assert_has(&cluster.kubectl(["version"]), &["Server Version: v1.36"]);
    assert_has(&cluster.kubectl(["cluster-info"]), &["is running at"]);
}
