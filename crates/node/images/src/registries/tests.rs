use super::*;

const FILE_TEXT: &str = r#"
mirrors:
  docker.io:
    endpoint: ["https://mirror.example", "http://127.0.0.1:5000"]
  "plain.example:5000":
    endpoint: ["http://plain.example:5000"]
  "*":
    endpoint: ["https://mirror.example"]
configs:
  mirror.example:
    auth: {username: me, password: secret}
    tls: {ca_file: /etc/ca.pem}
  "own.example":
    auth: {username: you, password: word}
    tls: {cert_file: /c, key_file: /k, insecure_skip_verify: true}
"#;

#[test]
fn each_registry_gets_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("registries.yaml");
    fs::write(&source, FILE_TEXT).unwrap();
    let registries = Registries::read(&source).unwrap();
    let hosts = folder.path().join("hosts");
    let text = |registry: &str| {
        let text = fs::read_to_string(hosts.join(registry).join("hosts.toml")).unwrap();
        text.strip_prefix(MARK).unwrap().trim_start().to_owned()
    };
    registries.write(&hosts).unwrap();
    assert_eq!(
        text("docker.io"),
        r#"server = "https://registry-1.docker.io"

[host."https://mirror.example"]
capabilities = ["pull", "resolve"]
ca = "/etc/ca.pem"
[host."https://mirror.example".header]
Authorization = "Basic bWU6c2VjcmV0"

[host."http://127.0.0.1:5000"]
capabilities = ["pull", "resolve"]
"#
    );
    assert_eq!(text("plain.example:5000"), "server = \"http://plain.example:5000\"\n");
    assert!(text("_default").starts_with("[host.\"https://mirror.example\"]"));
    assert_eq!(
        text("own.example"),
        "server = \"https://own.example\"\nclient = [[\"/c\", \"/k\"]]\nskip_verify = true\n"
    );
    let ring = registries.keyring();
    assert_eq!(ring.find("own.example/app").first().map(|found| &*found.username), Some("you"));

    // What somebody else wrote stays, and what is no longer told of goes.
    fs::create_dir_all(hosts.join("hand.example")).unwrap();
    fs::write(hosts.join("hand.example/hosts.toml"), "server = \"https://x\"\n").unwrap();
    Registries::default().write(&hosts).unwrap();
    let left: Vec<_> = fs::read_dir(&hosts).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["hand.example"]);
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("registries.yaml");
    for (text, error) in [
        ("mirrors: {a.io: {endpoint: [b.io]}}", "no address"),
        ("mirrors: []", "is wrong"),
        ("mirror: {}", "is wrong"),
    ] {
        fs::write(&source, text).unwrap();
        let done = Registries::read(&source).and_then(|all| all.write(&folder.path().join("hosts")));
        assert!(done.unwrap_err().to_string().contains(error), "{text}");
    }
    fs::write(&source, "# nothing\n").unwrap();
    assert!(Registries::read(&source).unwrap().mirrors.is_empty());
    assert!(Registries::read(&folder.path().join("none")).is_ok());
}
