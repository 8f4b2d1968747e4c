use base64::Engine;
use prost::Message;
use serde_json::json;

use super::*;
use crate::builtin;
use crate::check::{Mode, check};
use crate::decode::{Media, body};

fn there_and_back(group: &str, version: &str, mut value: Value) {
    let kind = value["kind"].as_str().unwrap().to_owned();
    let node = builtin().schema_of(group, version, &kind).unwrap();
    let outcome = check(node, &mut value, Mode::Whole);
    assert!(outcome.is_clean(), "{outcome:?}");
    let bytes = protobuf(&Form::of(group, version, &kind).unwrap(), &value).unwrap();
    let mut back = body(&bytes, Media::Protobuf).unwrap().value;
    check(node, &mut back, Mode::Whole);
    assert_eq!(back, value);
}

#[test]
fn what_is_written_reads_back_the_same() {
    there_and_back(
        "",
        "v1",
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "labels": {"a": "", "b": "c"}, "creationTimestamp": "2024-05-01T10:00:00Z",
                "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]},
            "spec": {
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": false}}}],
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                    "livenessProbe": {"httpGet": {"port": "http", "path": "/"}, "timeoutSeconds": -1},
                    "readinessProbe": {"tcpSocket": {"port": 80}}}],
                "ephemeralContainers": [{"name": "e", "image": "x", "targetContainerName": "c"}],
                "volumes": [{"name": "v", "hostPath": {"path": "/x"}}, {"name": "w", "emptyDir": {}}],
                "terminationGracePeriodSeconds": 0, "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 300}],
            },
        }),
    );
    there_and_back(
        "coordination.k8s.io",
        "v1",
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"renewTime": "2023-11-14T22:13:20.123456Z", "leaseDurationSeconds": 15}}),
    );
    there_and_back(
        "",
        "v1",
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "AP8="}}),
    );
    there_and_back(
        "",
        "v1",
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": {"name": "a"}, "data": {"x": "y"}}]}),
    );
    there_and_back(
        "admissionregistration.k8s.io",
        "v1",
        json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"], "scope": "*"}]}}}),
    );
    there_and_back(
        "apiextensions.k8s.io",
        "v1",
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "x"}, "spec": {"group": "g", "scope": "Cluster", "names": {"plural": "x", "kind": "X"}, "versions": [{
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "items": {"type": "string"},
            "additionalProperties": {"type": "integer"}, "dependencies": {"d": ["e"]}, "default": {"x": [1]}, "minimum": 1.5}}}]}}),
    );
    there_and_back(
        "authorization.k8s.io",
        "v1",
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "u", "extra": {"scopes": ["a", "b"]}}}),
    );
}

#[test]
fn others_can_read_it() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c",
        "livenessProbe": {"httpGet": {"port": 8080}}}], "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]}});
    let bytes = protobuf(&Form::of("", "v1", "Pod").unwrap(), &pod).unwrap();
    let unknown =
        k8s_pb::apimachinery::pkg::runtime::Unknown::decode(bytes.strip_prefix(MAGIC).unwrap()).unwrap();
    assert_eq!(unknown.type_meta.unwrap().kind.as_deref(), Some("Pod"));
    let read = k8s_pb::api::core::v1::Pod::decode(unknown.raw.unwrap().as_slice()).unwrap();
    let spec = read.spec.unwrap();
    let probe = spec.containers[0].liveness_probe.clone().unwrap().handler.unwrap().http_get.unwrap();
    assert_eq!(probe.port.unwrap().int_val, Some(8080));
    let volume = spec.volumes[0].volume_source.clone().unwrap().empty_dir.unwrap();
    assert_eq!(volume.size_limit.unwrap().string.as_deref(), Some("1Gi"));

    let mut frame = BytesMut::new();
    watch_frame("ADDED", &bytes, &mut frame);
    let (length, event) = frame.split_at(4);
    assert_eq!(u32::from_be_bytes(length.try_into().unwrap()) as usize, event.len());
    let event = k8s_pb::apimachinery::pkg::apis::meta::v1::WatchEvent::decode(event).unwrap();
    assert_eq!((event.r#type.as_deref(), event.object.unwrap().raw.unwrap()), (Some("ADDED"), bytes));
}

#[test]
fn items_that_are_alike_come_out_as_if_they_were_alone() {
    let pod = |name: &str, image: &str, zone: Value| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "web", "zone": zone}, "annotations": {}, "managedFields": [
                {"manager": name, "fieldsV1": {"f:spec": {"f:containers": {"}": {}}}}}, {"manager": "n", "fieldsV1": {"f:x": {}}}]},
            "spec": {"containers": [{"name": "c", "image": image, "args": ["a", "b"], "ports": [{"containerPort": 80}]},
                {"name": "d", "args": [], "ports": [], "env": [{"name": name}, null, {"name": "n"}]}],
                "volumes": [{"name": "v", "emptyDir": {}}, null, {"name": name, "projected": {"sources": [{}, {"secret": {"name": "s"}}]}},
                {"name": "w", "emptyDir": {}}], "nodeSelector": {"a": "b"}, "tolerations": [{}]}})
    };
    let form = Form::of("", "v1", "Pod").unwrap();
    let mut alike = Encoder::default();
    for (name, image, zone) in [
        ("a", "web:1", json!("x")),
        ("b", "web:1", json!("x")),
        ("c\"\u{e9}", "web:2", json!("x")),
        ("d", "web:1", json!("xy")),
        ("e", "web:1", json!("x")),
        ("f", "web:22", json!("")),
        ("g", "web:2", Value::Null),
    ] {
        let json = pod(name, image, zone).to_string();
        let alone = Encoder::default().message(&form, json.as_bytes()).unwrap().to_vec();
        let mut item = Vec::new();
        alike.item(&form, json.as_bytes(), &mut item).unwrap();
        assert_eq!(alike.item_length(&form, json.as_bytes()).unwrap(), item.len(), "{name}");
        assert!(item.ends_with(&alone) && item.len() - alone.len() == 3, "{name}");
    }
}

/// What another item may have in place of something, and whether the two are still alike but for their values.
#[test]
fn values_of_items_are_exchanged() {
    let base = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "generation": 5, "creationTimestamp": "2024-05-01T10:00:00Z", "labels": {"k": "v"}},
        "spec": {"containers": [{"name": "c", "stdin": true, "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}},
            "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 10}, "readinessProbe": {"tcpSocket": {"port": 80}}}]}})
    .to_string();
    let long = |length: usize| format!("\"name\":\"{}\"", "x".repeat(length));
    for (from, to, alike) in [
        ("\"name\":\"a\"", "\"name\":\"b\"", true),
        ("\"name\":\"a\"", "\"name\":\"\"", true),
        ("\"name\":\"a\"", &long(127), true),
        ("\"name\":\"a\"", &long(128), true),
        ("\"name\":\"a\"", &long(20_000), true),
        ("\"name\":\"a\"", "\"name\":\"\\n\"", false),
        ("\"name\":\"a\"", "\"name\":null", false),
        ("\"name\":\"a\"", "\"other\":\"a\"", false),
        ("\"generation\":5", "\"generation\":55", true),
        ("\"generation\":5", "\"generation\":-1", true),
        ("\"generation\":5", "\"generation\":5 ", false),
        ("\"generation\":5", "\"generation\":null", false),
        ("10:00:00Z", "23:59:59Z", true),
        ("2024-05-01T10:00:00Z", "1970-01-01T00:00:00Z", true),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00.5Z", true),
        ("\"k\":\"v\"", "\"k\":\"value\"", true),
        ("\"k\":\"v\"", "\"l\":\"v\"", false),
        ("\"k\":\"v\"", "", false),
        ("\"stdin\":true", "\"stdin\":false", true),
        ("\"stdin\":true", "\"stdin\":1", false),
        ("\"containerPort\":80", "\"containerPort\":8080", true),
        ("\"cpu\":\"1\"", "\"cpu\":\"100m\"", true),
        ("\"port\":\"http\"", "\"port\":\"https\"", true),
        ("\"port\":\"http\"", "\"port\":80", false),
        ("\"port\":80", "\"port\":8080", true),
    ] {
        let case = format!("{from} {}", to.chars().take(40).collect::<String>());
        let other = base.replace(from, to);
        assert_ne!(base, other, "{case}");
        let form = Form::of("", "v1", "Pod").unwrap();
        let mut encoder = Encoder::default();
        for json in [&base, &other, &base] {
            let alone = Encoder::default().message(&form, json.as_bytes()).unwrap().to_vec();
            let mut wanted = Vec::new();
            field_head(ITEM, alone.len(), &mut wanted);
            wanted.extend(alone);
            let mut item = Vec::new();
            encoder.item(&form, json.as_bytes(), &mut item).unwrap();
            assert_eq!(item, wanted, "{case}");
        }
        assert_eq!(encoder.templates.len(), if alike { 1 } else { 2 }, "{case}");
        assert!(encoder.delta().is_none(), "{case}: few are like it");
    }
    // What is wrong is refused however much else is alike.
    let (form, mut encoder) = (Form::of("", "v1", "Pod").unwrap(), Encoder::default());
    encoder.item(&form, base.as_bytes(), &mut Vec::new()).unwrap();
    for (from, to) in
        [("10:00:00Z", "25:00:00Z"), ("\"generation\":5", "\"generation\":x"), ("\"v\"}", "\"v")]
    {
        let broken = base.replace(from, to);
        assert!(encoder.item(&form, broken.as_bytes(), &mut Vec::new()).is_err(), "{to}");
    }
}

/// Several values at once, so that lengths around them grow and shrink together.
#[test]
fn all_values_may_differ_at_once() {
    let form = Form::of("", "v1", "ConfigMap").unwrap();
    let mut encoder = Encoder::default();
    for turn in 0..300usize {
        let text = |n: usize| "y".repeat(turn * n % 131);
        let json = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": text(1), "labels": {"a": text(7), "b": text(3)},
            "ownerReferences": [{"apiVersion": "v1", "controller": turn % 2 == 0, "kind": "X", "name": text(5), "uid": text(11)}]},
            "data": {"x": text(13), "y": text(17)}}).to_string();
        let alone = Encoder::default().message(&form, json.as_bytes()).unwrap().to_vec();
        let mut item = Vec::new();
        encoder.item(&form, json.as_bytes(), &mut item).unwrap();
        assert!(item.ends_with(&alone), "{turn}");
        assert_eq!(encoder.item_length(&form, json.as_bytes()).unwrap(), item.len(), "{turn}");
    }
    assert_eq!(encoder.templates.len(), 1);
}

/// What is kept of an object gives its item again, byte for byte, when the encoder is long gone.
#[test]
fn an_item_can_be_made_of_what_it_has_beside_others() {
    let (form, other) = (Form::of("", "v1", "Pod").unwrap(), Form::of("", "v1", "ConfigMap").unwrap());
    let args: Vec<String> = (0..100).map(|number| format!("--argument-{number}=value")).collect();
    let templates = Templates::default();
    let mut kept = Vec::new();
    for round in 0..3usize {
        let mut encoder = templates.encoder(&form);
        for turn in 0..20usize {
            let text = |n: usize| "z".repeat(turn * n % 53);
            let json = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{}-{round}", text(3)), "generation": turn * 99,
                "creationTimestamp": format!("2024-05-01T10:00:{turn:02}Z"), "labels": {"a": text(7), "b": "same"}},
                "spec": {"containers": [{"name": text(5), "stdin": turn % 3 == 0, "args": args, "image": text(11)}]}})
            .to_string();
            let (mut item, mut measured) = (Vec::new(), 0);
            match turn % 2 {
                0 => encoder.item(&form, json.as_bytes(), &mut item).unwrap(),
                _ => measured = encoder.item_length(&form, json.as_bytes()).unwrap(),
            }
            let delta = encoder.delta();
            // The first ones are still too few; later rounds know from before how many there are.
            assert_eq!(delta.is_some(), round > 0 || turn > 7, "{round} {turn}");
            kept.extend(delta.map(|delta| (delta, json, item, measured)));
        }
        assert!(
            encoder.item(&form, b"{\"metadata\":{}}", &mut Vec::new()).is_ok() && encoder.delta().is_none()
        );
        templates.keep(&encoder);
    }
    drop(templates);
    for (delta, json, item, measured) in kept {
        let mut wanted = Vec::new();
        Encoder::default().item(&form, json.as_bytes(), &mut wanted).unwrap();
        let mut again = Vec::new();
        delta.item(&mut again);
        assert_eq!(again, wanted, "{json}");
        assert_eq!(delta.item_length(), wanted.len());
        assert!(item == wanted || measured == wanted.len());
        assert!(delta.is_of(&form) && !delta.is_of(&other));
    }
}

/// An object of which nearly everything is its own is not kept a second time.
#[test]
fn what_has_little_in_common_with_others_is_not_kept() {
    let form = Form::of("", "v1", "ConfigMap").unwrap();
    let mut encoder = Encoder::default();
    for turn in 0..20u8 {
        let own = char::from(b'a' + turn).to_string().repeat(900);
        let json =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": own}})
                .to_string();
        encoder.item(&form, json.as_bytes(), &mut Vec::new()).unwrap();
        assert!(encoder.delta().is_none(), "{turn}");
    }
    assert_eq!(encoder.templates.len(), 1);
}

#[test]
fn templates_that_serve_are_kept_within_bounds() {
    let templates = Templates::default();
    let forms: Vec<Form> = builtin()
        .kinds
        .iter()
        .filter_map(|kind| Form::of(&kind.gv.group, &kind.gv.version, &kind.kind))
        .collect();
    for (turn, form) in forms.iter().cycle().take(forms.len() * 8).enumerate() {
        let mut encoder = templates.encoder(form);
        let json =
            json!({"metadata": {"name": "a", "annotations": {format!("form-{turn}"): "x".repeat(20_000)}}})
                .to_string();
        for _ in 0..10 {
            encoder.item(form, json.as_bytes(), &mut Vec::new()).unwrap();
        }
        templates.keep(&encoder);
        templates.keep(&encoder);
        let known = templates.encoder(form);
        assert!((1..=TEMPLATES).contains(&known.templates.len()), "{turn}");
        assert!(
            Arc::ptr_eq(&known.templates[0].template, &encoder.templates[0].template),
            "{turn}: the newest is there"
        );
    }
    let all: usize = forms.iter().map(|form| templates.encoder(form).held()).sum();
    assert!((1024 * 1024..=2 * 1024 * 1024).contains(&all), "{all}");
}

#[test]
fn what_is_no_json_is_refused() {
    let form = Form::of("", "v1", "Pod").unwrap();
    for broken in [
        "",
        "{",
        "[",
        "{\"spec\"",
        "{\"spec\":}",
        "{\"spec\":{\"containers\":[{\"name\":\"a",
        "{\"x\":{",
        "{\"x\":\"\\",
        "{,}",
        "null",
        "{\"metadata\":{\"generation\":\"x\"}}",
        "{\"metadata\":{\"creationTimestamp\":\"x\"}}",
    ] {
        assert!(Encoder::default().object(&form, broken.as_bytes()).is_err(), "{broken}");
    }
}

/// What a stock server answered to the same request in both forms, one line each.
#[test]
fn agrees_with_a_stock_server_to_the_byte() {
    for line in include_str!("recorded.txt").lines() {
        let (json, wanted) = line.split_once('\t').unwrap();
        let value: Value = serde_json::from_str(json).unwrap();
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        let form = Form::by_names(text("apiVersion"), text("kind")).unwrap();
        let made = base64::engine::general_purpose::STANDARD.encode(protobuf(&form, &value).unwrap());
        assert_eq!(made, wanted, "{} {}", text("kind"), value["metadata"]["name"]);
    }
}

/// Compares with samples that another encoder made: `NAME.json` and `NAME.pb` in the folder that the variable names.
#[test]
#[ignore = "needs samples"]
fn agrees_with_samples() {
    let folder = std::env::var("KEDGE_PROTOBUF_SAMPLES").unwrap();
    let (mut same, mut unknown, mut wrong) = (0, Vec::new(), Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let Ok(wanted) = std::fs::read(path.with_extension("pb")) else { continue };
        let json = std::fs::read(&path).unwrap();
        let value: Value = serde_json::from_slice(&json).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let Some(form) = Form::by_names(&text("apiVersion"), &text("kind")) else {
            unknown.push(name);
            continue;
        };
        match protobuf(&form, &value) {
            Ok(made) if made == wanted => same += 1,
            Ok(made) => {
                let at = made.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
                let from = at.saturating_sub(24);
                let show = |bytes: &[u8]| bytes[from..bytes.len().min(at + 24)].escape_ascii().to_string();
                wrong.push(format!("{name} at {at}:\n  made   {}\n  wanted {}", show(&made), show(&wanted)));
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    println!("{same} the same; without protobuf: {unknown:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
