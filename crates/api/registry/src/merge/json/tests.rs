use serde_json::json;

use super::*;

#[test]
fn json_patches_do_what_kubernetes_does() {
    let object = json!({"data": {"k": "v"}, "list": [1, 2]});
    for (case, patch, outcome) in [
        (
            "add",
            json!([{"op": "add", "path": "/data/n", "value": "1"}]),
            Ok(json!({"data": {"k": "v", "n": "1"}, "list": [1, 2]})),
        ),
        (
            "replace",
            json!([{"op": "replace", "path": "/data/k", "value": "w"}]),
            Ok(json!({"data": {"k": "w"}, "list": [1, 2]})),
        ),
        (
            "replace of a new key",
            json!([{"op": "replace", "path": "/data/n", "value": "w"}]),
            Ok(json!({"data": {"k": "v", "n": "w"}, "list": [1, 2]})),
        ),
        ("replace past the end", json!([{"op": "replace", "path": "/list/7", "value": "w"}]), Err(422)),
        (
            "append",
            json!([{"op": "add", "path": "/list/-", "value": 3}]),
            Ok(json!({"data": {"k": "v"}, "list": [1, 2, 3]})),
        ),
        (
            "copy and move",
            json!([{"op": "copy", "from": "/data/k", "path": "/data/c"}, {"op": "move", "from": "/data/k", "path": "/data/m"}]),
            Ok(json!({"data": {"c": "v", "m": "v"}, "list": [1, 2]})),
        ),
        (
            "a test for nothing",
            json!([{"op": "test", "path": "/data/none", "value": null}]),
            Ok(object.clone()),
        ),
        ("a failed test", json!([{"op": "test", "path": "/data/k", "value": "x"}]), Err(422)),
        ("remove of nothing", json!([{"op": "remove", "path": "/data/none"}]), Err(422)),
        ("add below nothing", json!([{"op": "add", "path": "/none/a", "value": 1}]), Err(422)),
        ("an unknown operation", json!([{"op": "frob", "path": "/data/k"}]), Err(422)),
        ("no list", json!({"op": "add"}), Err(400)),
        ("too many", json!(vec![json!({"op": "test", "path": "/data/k", "value": "v"}); 10_001]), Err(413)),
    ] {
        let got = json_patch(&object, &patch).map_err(|status| status.code);
        assert_eq!(got, outcome, "{case}");
    }
}

#[test]
fn merge_patches_follow_the_rfc() {
    for (target, patch, result) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        (json!({"a": "foo"}), json!(null), json!(null)),
    ] {
        let mut merged = target.clone();
        merge_patch(&mut merged, &patch);
        assert_eq!(merged, result, "{target} + {patch}");
    }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!("x"), |inner, _| json!({"a": inner}))
}

#[test]
fn a_patch_builds_nothing_that_is_deeper_than_what_can_be_read() {
    let object = json!({"data": {}});
    let deep = |depth: usize| json!([{"op": "add", "path": "/data/a", "value": nested(depth)}]);
    assert!(json_patch(&object, &deep(100)).is_ok());
    assert_eq!(json_patch(&object, &deep(119)).unwrap_err().code, 422);
    // Each round puts what there is below a new part.
    let below = format!("/b{}", "/a".repeat(100));
    let round = [
        json!({"op": "add", "path": "/b", "value": nested(100)}),
        json!({"op": "move", "from": "/data", "path": below}),
        json!({"op": "move", "from": "/b", "path": "/data"}),
    ];
    assert!(json_patch(&object, &json!(round)).is_ok());
    let rounds: Vec<Value> = round.iter().cycle().take(3000).cloned().collect();
    assert_eq!(json_patch(&object, &json!(rounds)).unwrap_err().code, 422);
    let copies: Vec<Value> = ["add", "copy", "move"]
        .into_iter()
        .zip(round)
        .map(|(op, mut step)| {
            step["op"] = op.into();
            step
        })
        .cycle()
        .take(3000)
        .collect();
    assert_eq!(json_patch(&object, &json!(copies)).unwrap_err().code, 422);
}

#[test]
fn copies_add_up_to_little() {
    let object = json!({"data": {"text": "x".repeat(1000)}});
    let double = |times: usize| {
        (0..times).map(|n| json!({"op": "copy", "from": "/data", "path": format!("/data/k{n}")}))
    };
    assert!(json_patch(&object, &double(8).collect()).is_ok());
    assert_eq!(json_patch(&object, &double(40).collect()).unwrap_err().code, 422);
    let wide = json!({"data": {"list": vec![0; 100_000]}});
    let to_and_fro: Value = (0..10_000)
        .map(|n| match n % 2 {
            0 => json!({"op": "move", "from": "/data/list", "path": "/data/other"}),
            _ => json!({"op": "move", "from": "/data/other", "path": "/data/list"}),
        })
        .collect();
    assert_eq!(json_patch(&wide, &to_and_fro).unwrap_err().code, 422);
}
