use super::{ListMeta, MetaVersion, list, object, revision};

const POD: &[u8] =
    br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"7","labels":{"x":"\"{}"}},"spec":{"n":[1,{}]}}"#;

#[test]
fn metadata_is_cut_out_as_it_is() {
    for (version, written) in [(MetaVersion::V1, "v1"), (MetaVersion::V1Beta1, "v1beta1")] {
        let expected = format!(
            r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/{written}","metadata":{{"name":"a","resourceVersion":"7","labels":{{"x":"\"{{}}"}}}}}}"#
        );
        assert_eq!(object(POD, version).unwrap(), expected);
    }
    assert_eq!(revision(POD).unwrap(), "7");
    assert!(object(b"{", MetaVersion::V1).is_err(), "half an object is not an empty one");
}

#[test]
fn a_list_has_head_items_and_end() {
    let meta =
        ListMeta { resource_version: "9".into(), continue_token: "go".into(), remaining_item_count: Some(3) };
    for (case, items, rest) in [
        ("none", vec![], "[]}"),
        (
            "two",
            vec![POD, POD],
            r#"[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"7","labels":{"x":"\"{}"}}},{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"7","labels":{"x":"\"{}"}}}]}"#,
        ),
    ] {
        let written: Vec<u8> =
            list(items, &meta, MetaVersion::V1).flat_map(|chunk| chunk.unwrap().to_vec()).collect();
        let head = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9","continue":"go","remainingItemCount":3},"items":"#;
        assert_eq!(String::from_utf8(written).unwrap(), format!("{head}{rest}"), "{case}");
    }
}

#[test]
fn a_long_list_comes_in_many_small_chunks() {
    let chunks: Vec<_> =
        list(std::iter::repeat_n(POD, 5_000), &ListMeta::default(), MetaVersion::V1).collect();
    assert!(chunks.len() > 10, "{} chunks", chunks.len());
    let whole: Vec<u8> = chunks
        .into_iter()
        .flat_map(|chunk| {
            let chunk = chunk.unwrap();
            assert!(chunk.len() < 40 * 1024, "a chunk of {} bytes", chunk.len());
            chunk.to_vec()
        })
        .collect();
    let whole: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(whole["items"].as_array().unwrap().len(), 5_000);
}
