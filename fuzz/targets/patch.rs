//! Any object and any patch of any type, server-side apply among them: an answer or a `Status`, never a panic. The input is two
//! JSON texts with a line break between them; its first byte chooses the kind of patch, the kind of object and who applies.
#![no_main]

use std::sync::LazyLock;

use kedge_clock::Clock;
use kedge_kinds::{Kind, builtin};
use kedge_registry::merge::{self, managed};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Lists by key, by value and as a whole; maps that are one value; structs in structs.
const KINDS: [(&str, &str, &str); 4] = [
    ("", "v1", "pods"),
    ("apps", "v1", "deployments"),
    ("", "v1", "services"),
    ("networking.k8s.io", "v1", "networkpolicies"),
];

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::system);

fuzz_target!(|input: &[u8]| {
    let Some((choice, texts)) = input.split_first() else { return };
    let mut texts = texts.splitn(2, |byte| *byte == b'\n');
    let (Some(Ok(target)), Some(Ok(patch))) = (texts.next().map(json), texts.next().map(json)) else {
        return;
    };
    let (group, version, plural) = KINDS[usize::from(choice >> 4) % KINDS.len()];
    let Some(kind) = builtin().kind(group, version, plural) else { return };
    let Some(node) = kind.node() else { return };
    match choice & 0x03 {
        0 => drop(merge::json_patch(&target, &patch)),
        1 => {
            let mut merged = target;
            merge::merge_patch(&mut merged, &patch);
        }
        2 => drop(merge::strategic(node, &target, &patch)),
        _ => apply(kind, target, patch, *choice),
    }
});

/// The patch is applied to the object, and what comes of it is written and applied to again by somebody else.
fn apply(kind: &Kind, live: Value, mut config: Value, choice: u8) {
    let Some(node) = kind.node() else { return };
    if let Some(config) = config.as_object_mut() {
        config.insert("apiVersion".to_owned(), kind.gv.to_string().into());
        config.insert("kind".to_owned(), (*kind.kind).into());
    }
    let (force, manager) = (choice & 0x04 != 0, if choice & 0x08 == 0 { "fuzz" } else { "kubectl" });
    let api_version = kind.gv.to_string();
    let who = managed::Who {
        manager,
        operation: managed::Operation::Apply,
        api_version: &api_version,
        subresource: "",
        now: CLOCK.now(),
    };
    let live = Some(live).filter(Value::is_object);
    let Ok(first) = managed::apply(kind, node, live.as_ref(), &config, force, &who) else { return };
    let mut written = live.unwrap_or_else(|| first.clone());
    let update = managed::Who { manager: "writer", operation: managed::Operation::Update, ..who };
    managed::update(node, Some(&first), &mut written, &update);
    drop(managed::apply(
        kind,
        node,
        Some(&written),
        &config,
        !force,
        &managed::Who { manager: "other", ..who },
    ));
    drop(managed::apply(kind, node, Some(&first), &config, force, &who));
}

fn json(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text)
}
