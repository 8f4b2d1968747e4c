use http::HeaderValue;

use super::*;

fn asked(accept: &str) -> String {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
    match negotiate(&headers) {
        Ok(output) => format!("{:?} {:?}", output.format, output.rendering),
        Err(status) => status.code.to_string(),
    }
}

#[test]
fn the_first_thing_that_both_sides_know_is_taken() {
    for (accept, taken) in [
        ("", "Json Whole"),
        ("*/*", "Json Whole"),
        ("application/json", "Json Whole"),
        ("application/yaml", "Yaml Whole"),
        ("application/json;q=0.1, application/yaml", "Yaml Whole"),
        ("application/vnd.kubernetes.protobuf, application/json", "Json Whole"),
        ("application/vnd.kubernetes.protobuf", "406"),
        ("text/html", "406"),
        ("rubbish", "406"),
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            "Json Table(V1)",
        ),
        ("application/json;as=Table;v=v9;g=meta.k8s.io", "406"),
        ("application/json;as=Chair;v=v1;g=meta.k8s.io,application/json", "Json Whole"),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "Json Metadata(V1)"),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "Json Metadata(V1)",
        ),
        ("application/json;q=nonsense", "Json Whole"),
    ] {
        assert_eq!(asked(accept), taken, "{accept}");
    }
}
