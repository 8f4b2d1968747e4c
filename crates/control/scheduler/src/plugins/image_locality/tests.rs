use serde_json::{Value, json};

use super::*;
use crate::node::NodeFacts;
use crate::plugins::testing::*;

fn with_images(name: &str, images: Value) -> NodeFacts {
    node(name, |node| node["status"]["images"] = images)
}

fn using(images: &[&str]) -> PodView {
    pod("p", |pod| {
        let containers = images.iter().map(|image| json!({"name": "c", "image": image}));
        pod["spec"]["containers"] = containers.collect::<Vec<_>>().into();
    })
}

#[test]
fn a_node_that_has_the_images_is_better() {
    let mib = 1024 * 1024;
    let cluster = cluster(
        [
            with_images(
                "a",
                json!([
                    {"names": ["big:v1"], "sizeBytes": 2000 * mib},
                    {"names": ["common:latest", "common@sha256:0"], "sizeBytes": 500 * mib},
                ]),
            ),
            with_images("b", json!([{"names": ["common:latest"], "sizeBytes": 500 * mib}])),
            with_images("c", json!([{"names": ["tiny:v1"], "sizeBytes": mib}])),
        ],
        [],
    );
    for (case, images, wanted) in [
        ("a large one on one of three", vec!["big:v1"], "a=65 b=0 c=0"),
        ("one on two of three", vec!["common"], "a=31 b=31 c=0"),
        ("for two containers", vec!["big:v1", "common"], "a=49 b=15 c=0"),
        ("too small to matter", vec!["tiny:v1"], "a=0 b=0 c=0"),
        ("another tag", vec!["big:v2"], "-"),
    ] {
        assert_eq!(scored(&ImageLocality, &using(&images), &cluster), wanted, "{case}");
    }
}

#[test]
fn an_image_without_a_tag_is_the_latest() {
    for (image, name) in [
        ("web", "web:latest"),
        ("web:1", "web:1"),
        ("host:5000/web", "host:5000/web:latest"),
        ("host:5000/web:1", "host:5000/web:1"),
        ("web@sha256:0", "web@sha256:0"),
    ] {
        assert_eq!(tagged(image), name);
    }
}

#[test]
fn images_are_counted_as_nodes_change() {
    let image = json!([{"names": ["web:1"], "sizeBytes": 1}]);
    let mut cluster = cluster([with_images("a", image.clone()), with_images("b", image.clone())], []);
    assert_eq!(cluster.nodes_with_image("web:1"), 2);
    cluster.put_node(with_images("a", json!([])));
    assert_eq!(cluster.nodes_with_image("web:1"), 1);
    cluster.remove_node("b");
    assert_eq!(cluster.nodes_with_image("web:1"), 0);
}
