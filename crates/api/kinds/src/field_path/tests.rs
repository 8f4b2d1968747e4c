use super::*;

#[test]
fn prints_as_upstream_does() {
    let root = FieldPath::root();
    let spec = root.child("spec");
    let containers = spec.child("containers");
    let first = containers.index(0);
    assert_eq!(first.child("name").to_string(), "spec.containers[0].name");
    let metadata = FieldPath::new("metadata");
    assert_eq!(metadata.child("labels").key("app/x").to_string(), "metadata.labels[app/x]");
    assert_eq!(root.to_string(), "");
    assert_eq!(root.index(1).to_string(), "[1]");
}
