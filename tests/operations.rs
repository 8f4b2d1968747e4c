//! Looking after a server, as a person does it: what runs, what is wrong, what ends when, all of it in one file and back again, and the
//! figures that it shows. The API alone, so that nobody has to be root.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use kedge_shipped::{Asked, kubectl, start, text};
use tempfile::TempDir;

/// A server that ends with the test.
struct Server {
    data: PathBuf,
    process: Child,
}

impl Server {
    fn start(folder: &Path, name: &str, listen: &str) -> Self {
        Self::with(folder, name, &["--listen", listen], "info")
    }

    /// With more flags, and saying as much in its log.
    fn with(folder: &Path, name: &str, flags: &[&str], level: &str) -> Self {
        let data = folder.join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_kedge"));
        command.args(["server", "--no-agent", "--no-gateway"]).args(flags);
        command.arg("--data-dir").arg(&data).env("KEDGE_LOG", level);
        let process = start(&mut command, &folder.join("log"));
        let server = Self { data, process };
        server.until(&["get", "--raw", "/readyz"], "ok");
        server.until(&["get", "serviceaccount", "default", "-o", "name"], "serviceaccount/default");
        server
    }

    fn address(&self) -> String {
        let kubeconfig = std::fs::read_to_string(self.data.join("kubeconfig")).unwrap();
        let line = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: https://"));
        line.unwrap().to_owned()
    }
}

impl Asked for Server {
    fn kubectl(&self) -> Command {
        let mut command = Command::new(kubectl());
        command.arg("--kubeconfig").arg(self.data.join("kubeconfig"));
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn kedge(words: &[&str], data: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kedge")).args(words).arg("--data-dir").arg(data).output().unwrap()
}

/// What it prints, and what it complains of.
fn done(words: &[&str], data: &Path) -> String {
    let output = kedge(words, data);
    assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn refused(words: &[&str], data: &Path) -> String {
    let output = kedge(words, data);
    assert!(!output.status.success(), "{words:?} went well: {}", text(&output.stdout));
    text(&output.stderr)
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn a_server_says_what_it_is_and_how_it_is() {
    let folder = TempDir::new().unwrap();
    let nowhere = folder.path().join("nowhere");
    has(&refused(&["status"], &nowhere), &["no server and no agent runs on"]);
    has(&refused(&["certs"], &nowhere), &["no certificates"]);
    has(&refused(&["backup", "file"], &nowhere), &["no server's data"]);
    let mine = folder.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("photo"), "x").unwrap();
    has(&refused(&["uninstall"], &mine), &["has nothing of Kedge"]);
    assert!(mine.join("photo").exists(), "what is not Kedge's stays");

    let server = Server::start(folder.path(), "data", "127.0.0.1:0");
    let at = format!("https://{}: ready", server.address());
    let pid = format!("pid {}", server.process.id());
    has(&done(&["status"], &server.data), &["kedge server", &pid, &at, "embedded", "kedge   ", "MB", "free"]);
    let json: serde_json::Value =
        serde_json::from_str(&done(&["status", "-o", "json"], &server.data)).unwrap();
    assert_eq!(json["cluster"]["ready"], true, "{json}");
    assert!(json["cost"]["kedge"]["memoryBytes"].as_u64() > Some(1_000_000), "{json}");

    let well = kedge(&["doctor", "--no-agent", "--no-gateway"], &server.data);
    has(
        &text(&well.stdout),
        &[
            "This machine",
            "kernel",
            "The cluster",
            "the API is ready",
            "certificates are valid",
            "the cluster has no node",
        ],
    );
    let table = done(&["certs"], &server.data);
    has(&table, &["ca.crt", "server.crt", "CN=kube-apiserver", "admin.crt", "front-proxy/"]);
    assert!(!table.contains("(over)"), "{table}");
}

#[test]
fn a_running_server_moves_with_all_that_it_keeps() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("cluster.tar.gz");
    let server = Server::start(folder.path(), "here", "127.0.0.1:0");
    server.said(&["create", "configmap", "kept", "--from-literal=a=b"]);
    let token = server.said(&["create", "token", "default"]);
    let made = done(&["backup", file.to_str().unwrap()], &server.data);
    has(&made, &["objects at revision", "keep it where nobody else reads it"]);
    server.said(&["create", "configmap", "afterwards"]);

    has(&refused(&["restore", file.to_str().unwrap()], &server.data), &["stop it first"]);
    let (address, kubeconfig) = (server.address(), folder.path().join("old-kubeconfig"));
    std::fs::copy(server.data.join("kubeconfig"), &kubeconfig).unwrap();
    let former = server.data.clone();
    drop(server);
    has(&refused(&["restore", file.to_str().unwrap()], &former), &["--force"]);

    // Another machine, at the same address: clients notice nothing but that time went back.
    let there = folder.path().join("there");
    has(&done(&["restore", file.to_str().unwrap()], &there), &["objects of"]);
    let server = Server::start(folder.path(), "there", &address);
    std::fs::copy(&kubeconfig, server.data.join("kubeconfig")).unwrap();
    assert_eq!(server.said(&["get", "configmap", "kept", "-o", "jsonpath={.data.a}"]), "b");
    has(&text(&server.asked(&["get", "configmap", "afterwards"]).stderr), &["NotFound"]);
    let asked = [
        "--server",
        &format!("https://{address}"),
        "--insecure-skip-tls-verify",
        "--token",
        token.trim(),
        "auth",
        "whoami",
    ]
    .map(str::to_owned);
    let mut whoami = Command::new(kubectl());
    let whoami = whoami.env("KUBECONFIG", "/dev/null").args(asked).output().unwrap();
    has(&text(&whoami.stdout), &["system:serviceaccount:default:default"]);
}

#[test]
fn every_figure_is_explained_and_every_explanation_is_shown() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(folder.path(), "data", "127.0.0.1:0");
    // Something has to have happened of all that is counted.
    server.said(&["run", "nobody", "--image=none", "--restart=Never"]);
    server.until(&["get", "--raw", "/metrics"], "scheduler_schedule_attempts_total{");
    server.until(&["get", "--raw", "/metrics"], "scheduler_pending_pods{");
    let shown: BTreeSet<String> = server
        .said(&["get", "--raw", "/metrics"])
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned))
        .collect();
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md")).unwrap();
    let of_server = page.split("## Of a node").next().unwrap();
    let told: BTreeSet<String> = of_server
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| `")?
                .split('`')
                .next()
                .map(|name| name.trim_end_matches("_total").trim_end_matches("_info").to_owned())
        })
        .collect();
    let missing: Vec<_> = shown.difference(&told).collect();
    let invented: Vec<_> = told.difference(&shown).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "not in docs/metrics.md: {missing:?}\nnot in /metrics: {invented:?}"
    );
}

/// A cluster of `make up`; it ends with the test.
struct Made {
    data: PathBuf,
}

impl Made {
    fn script(&self, name: &str, more: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name);
        let mut command = Command::new(script);
        command.arg(env!("CARGO_BIN_EXE_kedge")).arg(&self.data).args(more).stdin(Stdio::null());
        command.env("FLAGS", "--no-agent --no-gateway").output().unwrap()
    }

    fn up(&self, listen: &str) -> String {
        let output = self.script("up", &[listen]);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    fn down(&self) -> String {
        text(&self.script("down", &[]).stdout)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _already = self.down();
    }
}

#[test]
fn a_cluster_goes_up_and_down_and_says_so() {
    let folder = TempDir::new().unwrap();
    let made = Made { data: folder.path().join("data") };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output = made.script("up", &[&taken.local_addr().unwrap().to_string()]);
    assert!(!output.status.success());
    has(
        &text(&output.stderr),
        &["Kedge did not start.", "cannot listen on 127.0.0.1:", "kedge doctor --data-dir"],
    );
    assert_eq!(made.down(), format!("Kedge is not running. Its data stays in {}.\n", made.data.display()));

    let said = made.up("127.0.0.1:0");
    has(&said, &["Kedge runs at https://127.0.0.1:", "no node (--no-agent)", "make up LISTEN=0.0.0.0:6443"]);
    let line = said.lines().find(|line| line.contains("export KUBECONFIG=")).unwrap();
    let script = format!("{line}\n{} get --raw /readyz", env!("CARGO_BIN_EXE_kedge"));
    let asked = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(text(&asked.stdout), "ok", "{}", text(&asked.stderr));

    let again = made.up("127.0.0.1:0");
    has(&again, &["Kedge is already running (pid "]);
    assert!(!again.contains("was started as"), "{again}");
    has(
        &made.up("0.0.0.0:0"),
        &["It was started as `kedge server --data-dir", "make up LISTEN=0.0.0.0:6443"],
    );
    has(&made.down(), &["Kedge has stopped. Its data stays in "]);
    has(&made.down(), &["Kedge is not running."]);
}

/// Whether any file of the store has this in it.
fn stores(data: &Path, text: &str) -> bool {
    let files = std::fs::read_dir(data.join("store")).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).any(|bytes| holds(&bytes, text))
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn secrets_are_encrypted_and_their_key_can_be_changed() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let read = |server: &Server| server.said(&["get", "secret", "s", "-o", "jsonpath={.data.word}"]);
    // base64 of what is typed below.
    const WORD: &str = "b3BlbiBzZXNhbWU=";
    let server = Server::start(folder.path(), "data", "127.0.0.1:0");
    server.said(&["create", "secret", "generic", "s", "--from-literal=word=open sesame"]);
    assert!(stores(&data, WORD), "nobody asked for encryption yet");
    drop(server);
    has(&refused(&["secrets", "rotate-key"], &data), &["--encrypt-secrets"]);

    let encrypted = ["--listen", "127.0.0.1:0", "--encrypt-secrets"];
    let server = Server::with(folder.path(), "data", &encrypted, "info");
    assert_eq!(read(&server), WORD);
    assert!(!stores(&data, WORD), "turning it on covers what was there");
    let first = std::fs::read(data.join("secrets.keys")).unwrap();
    has(&refused(&["secrets", "rotate-key"], &data), &["is in use"]);
    drop(server);

    has(&done(&["secrets", "rotate-key"], &data), &["all Secrets are encrypted with key"]);
    assert_ne!(std::fs::read(data.join("secrets.keys")).unwrap(), first);
    // It stays on without the flag.
    let server = Server::start(folder.path(), "data", "127.0.0.1:0");
    assert_eq!(read(&server), WORD);
    assert!(!stores(&data, WORD));
    drop(server);

    std::fs::remove_file(data.join("secrets.keys")).unwrap();
    let output = kedge(&["server", "--no-agent", "--no-gateway", "--listen", "127.0.0.1:0"], &data);
    assert!(!output.status.success(), "it starts without the key");
    has(&text(&output.stderr), &["the key for them is missing"]);
}

/// What nobody may read in a log: words that were typed as secrets, and tokens that were given out.
#[test]
fn no_secret_is_in_a_log() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // Everything is recorded with all that belongs to it, as far as a policy may ask for it.
    let policy = file(
        "policy.yaml",
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: Metadata, resources: [{group: '', resources: [secrets, configmaps, serviceaccounts/token]}, {group: authentication.k8s.io, resources: [tokenreviews]}]}\n- {level: RequestResponse}\n",
    );
    let audit = folder.path().join("audit.log");
    let flags = [
        "--listen",
        "127.0.0.1:0",
        "--audit-policy-file",
        &policy,
        "--audit-log-path",
        audit.to_str().unwrap(),
    ];
    let server = Server::with(folder.path(), "data", &flags, "debug");
    let mut words: Vec<(&str, String)> = Vec::new();

    server.said(&["create", "secret", "generic", "s", "--from-literal=word=first-hidden-word"]);
    let patch = r#"{"stringData":{"word":"second-hidden-word"}}"#;
    server.said(&["patch", "secret", "s", "--type=merge", "-p", patch]);
    let wrong = file(
        "wrong.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: w}\ndata: {word: third-hidden-word!}\n",
    );
    assert!(!server.asked(&["create", "-f", &wrong]).status.success(), "it is no base64");
    let applied = file(
        "applied.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {word: fourth-hidden-word}\n",
    );
    server.said(&["apply", "--server-side", "-f", &applied]);
    server.said(&["get", "secrets", "-A", "-o", "yaml"]);
    for word in ["first-hidden-word", "second-hidden-word", "third-hidden-word", "fourth-hidden-word"] {
        words.push(("a word of a Secret", word.to_owned()));
    }
    words.push(("a word in base64", "Zmlyc3QtaGlkZGVuLXdvcmQ".to_owned()));
    words.push(("a word in base64", "c2Vjb25kLWhpZGRlbi13b3Jk".to_owned()));

    let token = server.said(&["create", "token", "default"]).trim().to_owned();
    let review = file(
        "review.json",
        &format!(
            r#"{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{{"token":"{token}"}}}}"#
        ),
    );
    has(
        &server.said(&["create", "-f", &review, "-o", "jsonpath={.status.user.username}"]),
        &["system:serviceaccount:default:default"],
    );
    // As who bears it, and with one letter changed.
    let kubeconfig = file("empty", "");
    let at = format!("https://{}", server.address());
    let spoilt = format!("{}x", &token[..token.len() - 1]);
    for token in [&token, &spoilt] {
        let words = ["--server", &at, "--insecure-skip-tls-verify", "--token", token, "get", "pods"];
        let mut asked = Command::new(std::env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into()));
        let asked = asked.env("KUBECONFIG", &kubeconfig).args(words).output().unwrap();
        assert!(!asked.status.success(), "neither may list pods");
    }
    // A token is its signature: the rest says who it is, which may be told.
    words.push(("a token", token.rsplit('.').next().unwrap().to_owned()));
    words.push(("a spoilt token", spoilt.rsplit('.').next().unwrap().to_owned()));

    let made = done(&["token", "create"], &server.data);
    let join = made.split_whitespace().find(|word| word.len() > 20).unwrap_or_default().to_owned();
    assert!(!join.is_empty(), "no token in {made:?}");
    words.push(("a bootstrap token", join.rsplit(['.', ':']).next().unwrap().to_owned()));

    // A webhook that nobody answers for: the request that fails is told of, who asked it is not.
    let hook = file(
        "hook.yaml",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: h}\nwebhooks:\n- name: h.example.com\n  clientConfig: {url: 'https://127.0.0.1:1/'}\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Fail\n  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [secrets]}]\n",
    );
    server.said(&["create", "-f", &hook]);
    let refused =
        server.asked(&["create", "secret", "generic", "t", "--from-literal=word=fifth-hidden-word"]);
    has(&text(&refused.stderr), &["failed calling webhook"]);
    words.push(("a word that a webhook should have seen", "fifth-hidden-word".to_owned()));
    words.push(("the same in base64", "ZmlmdGgtaGlkZGVuLXdvcmQ".to_owned()));
    drop(server);

    let log = std::fs::read(folder.path().join("log")).unwrap();
    let recorded = std::fs::read(&audit).unwrap();
    assert!(holds(&log, "DEBUG"), "the log says much");
    assert!(holds(&recorded, "\"resource\":\"secrets\""), "what was asked for is recorded");
    for (what, word) in words {
        assert!(word.len() > 8, "{what} {word:?} is too short to look for");
        for (name, content) in [("the server's log", &log), ("the audit log", &recorded)] {
            assert!(!holds(content, &word), "{what}, {word:?}, is in {name}");
        }
    }
}
