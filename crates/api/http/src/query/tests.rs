use super::*;

#[test]
fn switches_and_numbers_read_as_kubernetes_reads_them() {
    for (text, on) in [
        ("", false),
        ("watch", true),
        ("watch=", true),
        ("watch=1", true),
        ("watch=TRUE", true),
        ("watch=False", false),
        ("watch=0", false),
    ] {
        assert_eq!(Query::parse(Some(text)).flag("watch"), on, "{text}");
    }
    for (text, number) in [
        ("", Ok(None)),
        ("limit=", Ok(None)),
        ("limit=5", Ok(Some(5))),
        ("limit=x", Err(400)),
        ("limit=99999999999999999999", Err(400)),
    ] {
        assert_eq!(Query::parse(Some(text)).number("limit").map_err(|status| status.code), number, "{text}");
    }
}

#[test]
fn write_options_are_checked() {
    let long = format!("fieldManager={}", "x".repeat(129));
    for (text, answer) in [
        ("", "agent Warn"),
        ("fieldManager=me&fieldValidation=Strict&dryRun=All", "me Strict dry"),
        (
            "dryRun=Some",
            "PatchOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
        ),
        (
            "fieldValidation=Hard",
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Hard\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
        ),
        (
            &*long,
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes",
        ),
        (
            "fieldManager=a%07b",
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\u{7}b\": should only contain printable characters",
        ),
    ] {
        let shown =
            match Query::parse(Some(text)).write("PatchOptions", &User::default(), "agent/1.0 (linux)") {
                Ok(options) => {
                    format!(
                        "{} {:?}{}",
                        options.manager,
                        options.validation,
                        if options.dry_run { " dry" } else { "" }
                    )
                }
                Err(status) => status.message,
            };
        assert_eq!(shown, answer, "{text}");
    }
}
