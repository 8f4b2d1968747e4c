use super::*;

type Rule = fn(&str) -> Messages;

#[test]
fn accepts_and_refuses_as_upstream_does() {
    let long = "a".repeat(64);
    let very_long = "a".repeat(254);
    let key = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
    let key_rule = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  \
         or 'my.name',  or '123-abc', regex used for validation is '{key}')"
    );
    let cases: &[(Rule, &str, &[&str])] = &[
        (dns1123_label, "my-name", &[]),
        (dns1123_label, "0", &[]),
        (dns1123_label, "a.b", &["must not contain dots"]),
        (dns1123_label, &long, &["must be no more than 63 characters"]),
        (
            dns1123_label,
            "-a",
            &[
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            ],
        ),
        (dns1123_subdomain, "a.b-c.d", &[]),
        (dns1123_subdomain, &very_long, &["must be no more than 253 characters"]),
        (
            dns1123_subdomain,
            "A",
            &[
                r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ],
        ),
        (dns1035_label, "a1", &[]),
        (
            dns1035_label,
            "1a",
            &[
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
            ],
        ),
        (wildcard_dns1123_subdomain, "*.a.b", &[]),
        (qualified_name, "example.com/My_Name.x", &[]),
        (qualified_name, "/x", &["prefix part must be non-empty"]),
        (qualified_name, "a/", &["name part must be non-empty", &format!("name part {key_rule}")]),
        (qualified_name, "-a", &[&format!("name part {key_rule}")]),
        (qualified_name, &long, &["name part must be no more than 63 bytes"]),
        (
            qualified_name,
            "a/b/c",
            &[&format!(
                "a valid label key {key_rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )],
        ),
        (label_value, "", &[]),
        (label_value, "a_b.C", &[]),
        (
            label_value,
            "-b",
            &[
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ],
        ),
        (path_segment, "system:node", &[]),
        (path_segment, "..", &["may not be '..'"]),
        (path_segment, "a/b%c", &["may not contain '/'", "may not contain '%'"]),
        (env_var, "MY VAR", &[]),
        (env_var, "", &["environment variable name must be non-empty"]),
        (
            env_var,
            "a=b",
            &[
                "a valid environment variable name must consist only of printable ASCII characters other than '='",
            ],
        ),
        (config_key, "a.b_c", &[]),
        (config_key, "..", &["must not be '..'"]),
        (config_key, "..a", &["must not start with '..'"]),
        (
            config_key,
            "a b",
            &[
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            ],
        ),
        (ip_address, "10.9.8.7", &[]),
        (ip_address, "fe80::42", &[]),
        (ip_address, "fe80::0042", &["must be in canonical form (\"fe80::42\")"]),
        (ip_address, "foo", &["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]),
        (port_name, "http-1", &[]),
        (port_name, "80", &["must contain at least one letter (a-z)"]),
        (port_name, "a--b", &["must not contain consecutive hyphens"]),
        (port_name, "-a", &["must not begin or end with a hyphen"]),
        (
            port_name,
            "HTTP",
            &[
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)",
            ],
        ),
    ];
    for (rule, text, messages) in cases {
        assert_eq!(rule(text), *messages, "{text:?}");
    }
    assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);
    assert!(port_number(65535).is_empty());
}
