use super::*;

fn step() -> Step {
    serde_json::from_value(json!({"name": "s", "method": "GET", "path": "/"})).unwrap()
}

#[test]
fn fills_in_the_namespace_and_earlier_answers() {
    let seen = BTreeMap::from([("made", json!({"metadata": {"uid": "u1", "generation": 3}}))]);
    for (case, text, filled) in [
        ("nothing to fill", "/a/b", Some("/a/b")),
        ("namespace", "/ns/$ns/pods", Some("/ns/agree-x/pods")),
        ("a text", "uid=${made/metadata/uid}!", Some("uid=u1!")),
        ("a number", "${made/metadata/generation}", Some("3")),
        ("an unknown step", "${other/metadata/uid}", None),
        ("an unknown field", "${made/metadata/name}", None),
    ] {
        assert_eq!(fill(&step(), text, "agree-x", &seen).ok().as_deref(), filled, "{case}");
    }
}

#[test]
fn remembers_what_a_step_created() {
    let body = json!({"metadata": {"name": "a"}});
    for (case, method, path, status, left) in [
        ("created by POST", "POST", "/api/v1/pods", 201, Some("/api/v1/pods/a")),
        ("created by apply", "PATCH", "/api/v1/pods/a?fieldManager=m", 201, Some("/api/v1/pods/a")),
        ("only tried", "POST", "/api/v1/pods?dryRun=All", 201, None),
        ("refused", "POST", "/api/v1/pods", 409, None),
        ("read", "GET", "/api/v1/pods/a", 200, None),
    ] {
        assert_eq!(object_path(method, path, status, &body).as_deref(), left, "{case}");
    }
}
