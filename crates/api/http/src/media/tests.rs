use http::HeaderValue;

use super::*;

fn asked(accept: &str, offer: Offer) -> String {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
    match negotiate(&headers, offer) {
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
        ("application/*", "406"),
        ("application/vnd.kubernetes.protobuf, application/json", "Protobuf Whole"),
        ("application/vnd.kubernetes.protobuf", "Protobuf Whole"),
        ("application/vnd.kubernetes.protobuf;stream=watch", "Protobuf Whole"),
        ("application/vnd.kubernetes.protobuf;stream=flood", "406"),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", "406"),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json", "Json Whole"),
        ("application/json;q=0.5,application/vnd.kubernetes.protobuf", "Protobuf Whole"),
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
            "Protobuf Metadata(V1)",
        ),
        ("application/json;q=nonsense", "Json Whole"),
    ] {
        assert_eq!(asked(accept, Offer::ANY), taken, "{accept}");
    }
}

#[test]
fn custom_kinds_have_no_protobuf_and_streams_no_yaml() {
    let custom = Offer { protobuf: false, ..Offer::ANY };
    let review = Offer { renderings: false, ..Offer::ANY };
    let stream = Offer { stream: true, watched: true, ..Offer::ANY };
    for (accept, offer, taken) in [
        ("application/vnd.kubernetes.protobuf", custom, "406"),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", review, "406"),
        ("application/json;as=Table;v=v1;g=meta.k8s.io, application/json", review, "Json Whole"),
        ("application/vnd.kubernetes.protobuf,application/json", custom, "Json Whole"),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            custom,
            "Protobuf Metadata(V1)",
        ),
        ("application/yaml", stream, "406"),
        ("application/yaml,application/json;stream=watch", stream, "Json Whole"),
        ("application/vnd.kubernetes.protobuf;stream=watch", stream, "Protobuf Whole"),
    ] {
        assert_eq!(asked(accept, offer), taken, "{accept}");
    }
}

#[test]
fn failures_are_never_tables() {
    for (accept, format) in [
        ("application/vnd.kubernetes.protobuf,application/json", Format::Protobuf),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml", Format::Yaml),
        ("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Format::Json),
        ("text/html", Format::Json),
    ] {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).unwrap())]);
        assert_eq!(failure_format(&headers), format, "{accept}");
    }
}
