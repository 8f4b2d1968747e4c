//! Any object and any patch of any type: an answer or a `Status`, never a panic. The input is two JSON texts with a line
//! break between them; its first byte chooses the kind of patch.
#![no_main]

use kedge_kinds::builtin;
use kedge_registry::merge;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    let Some((choice, texts)) = input.split_first() else { return };
    let mut texts = texts.splitn(2, |byte| *byte == b'\n');
    let (Some(Ok(target)), Some(Ok(patch))) = (texts.next().map(json), texts.next().map(json)) else {
        return;
    };
    let kinds = builtin();
    let named = if choice & 0x10 == 0 { ("", "v1", "pods") } else { ("apps", "v1", "deployments") };
    let Some(node) = kinds.kind(named.0, named.1, named.2).and_then(|kind| kind.node()) else { return };
    match choice & 0x03 {
        0 => drop(merge::json_patch(&target, &patch)),
        1 => {
            let mut merged = target;
            merge::merge_patch(&mut merged, &patch);
        }
        _ => drop(merge::strategic(node, &target, &patch)),
    }
});

fn json(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text)
}
