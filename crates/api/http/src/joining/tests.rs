use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::judge;

fn secret(change: &[(&str, &str)]) -> Value {
    let mut data = serde_json::Map::new();
    let usual = [
        ("token-id", "abcdef"),
        ("token-secret", "0123456789abcdef"),
        ("usage-bootstrap-authentication", "true"),
        ("auth-extra-groups", "system:bootstrappers:kedge:default"),
    ];
    for (key, value) in usual.iter().chain(change) {
        data.insert((*key).to_owned(), STANDARD.encode(value).into());
    }
    json!({ "type": super::SECRET_TYPE, "metadata": { "name": "bootstrap-token-abcdef" }, "data": data })
}

#[test]
fn a_token_is_worth_what_its_secret_says() {
    let now: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
    for (case, change, shown, good) in [
        ("as usual", &[][..], "0123456789abcdef", true),
        ("another secret", &[], "0123456789abcdee", false),
        ("not over yet", &[("expiration", "2030-01-01T12:00:01Z")], "0123456789abcdef", true),
        ("over", &[("expiration", "2030-01-01T12:00:00Z")], "0123456789abcdef", false),
        ("a time that nobody can read", &[("expiration", "soon")], "0123456789abcdef", false),
        ("for signing only", &[("usage-bootstrap-authentication", "false")], "0123456789abcdef", false),
        ("another's id", &[("token-id", "ghijkl")], "0123456789abcdef", false),
        ("a group beyond its own", &[("auth-extra-groups", "system:masters")], "0123456789abcdef", false),
        (
            "a group that hides one",
            &[("auth-extra-groups", "system:bootstrappers:a,system:masters")],
            "0123456789abcdef",
            false,
        ),
    ] {
        assert_eq!(judge(&secret(change), "abcdef", shown, now).is_some(), good, "{case}");
    }
    let user = judge(&secret(&[]), "abcdef", "0123456789abcdef", now).unwrap();
    assert_eq!(user.name, "system:bootstrap:abcdef");
    assert_eq!(
        user.groups,
        ["system:bootstrappers", "system:bootstrappers:kedge:default", "system:authenticated"]
    );
    let mut other = secret(&[]);
    other["type"] = "Opaque".into();
    assert_eq!(judge(&other, "abcdef", "0123456789abcdef", now), None);
    assert_eq!(super::halves("abcdef.0123456789abcdeF"), None);
}
