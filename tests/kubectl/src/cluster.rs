//! A server of our own, and kubectl pointed at it. Waits are bounded and say what was still untrue.

use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) use kedge_shipped::binary;
pub(crate) use kedge_shipped::text;
use kedge_shipped::{PATIENCE, kubectl, start};
use serde_json::Value;
use tempfile::TempDir;

/// A running server with a namespace `walk` to work in. It ends with the test.
pub(crate) struct Cluster {
    dir: TempDir,
    server: Child,
    flags: Vec<String>,
    /// Our own command line stands in for kubectl.
    own: Cell<bool>,
    /// kubectl speaks as it did before it knew WebSockets.
    spdy: Cell<bool>,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        Self::with(&["--no-agent"])
    }

    pub(crate) fn with(flags: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
        let server = serve(dir.path(), &flags);
        let cluster = Self { dir, server, flags, own: Cell::new(false), spdy: Cell::new(false) };
        cluster.until_ready();
        cluster.kubectl(["create", "namespace", "walk"]);
        cluster
    }

    /// As if the power had failed: nothing of the server gets a chance to finish anything.
    pub(crate) fn kill(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Starts the server again on the same data.
    pub(crate) fn start_again(&mut self) {
        let _gone = std::fs::remove_file(self.kubeconfig());
        self.server = serve(self.dir.path(), &self.flags);
        self.until_ready();
    }

    fn until_ready(&self) {
        eventually("the server is ready", || {
            if !self.kubeconfig().exists() {
                return Err("no kubeconfig yet".to_owned());
            }
            let output = self.command(["get", "--raw", "/readyz"]).output().unwrap();
            if output.status.success() { Ok(()) } else { Err(error(&output)) }
        });
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// In the place of the machine's own.
    pub(crate) fn hosts_file(&self) -> PathBuf {
        self.dir.path().join("hosts")
    }

    /// What the server has written so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// A place for files that a test hands to kubectl.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// From now on our own command line is meant where kubectl is, or kubectl again.
    pub(crate) fn speak_own(&self, own: bool) {
        self.own.set(own);
    }

    /// From now on kubectl opens streams by SPDY, or as it usually does.
    pub(crate) fn speak_spdy(&self, spdy: bool) {
        self.spdy.set(spdy);
    }

    /// kubectl in the namespace `walk`.
    pub(crate) fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        if self.own.get() {
            return self.own_command(arguments);
        }
        let mut command = Command::new(kubectl());
        if self.spdy.get() {
            command.env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false");
            command.env("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false");
        }
        self.aimed(command, arguments)
    }

    /// Our own command line in kubectl's place.
    pub(crate) fn own_command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(binary());
        command.arg("kubectl");
        self.aimed(command, arguments)
    }

    /// What our own command line prints when it succeeds.
    pub(crate) fn own<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let mut command = self.own_command(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), error(&output));
        text(&output.stdout)
    }

    fn aimed<'a>(&self, mut command: Command, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        command
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", self.dir.path())
            .args(["--namespace=walk", "--request-timeout=30s"])
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// What kubectl prints when it succeeds.
    pub(crate) fn kubectl<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let mut command = self.command(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), error(&output));
        text(&output.stdout)
    }

    /// Like [`Self::kubectl`], with something on its standard input.
    pub(crate) fn kubectl_with<'a>(
        &self,
        input: &str,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let output = self.output_with(input, arguments);
        assert!(output.status.success(), "{}\n{}", text(&output.stdout), error(&output));
        text(&output.stdout)
    }

    pub(crate) fn output_with<'a>(
        &self,
        input: &str,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Output {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// What kubectl complains of when it fails.
    pub(crate) fn refused<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let mut command = self.command(arguments);
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{command:?} went well:\n{}", text(&output.stdout));
        error(&output)
    }

    /// An object as the server has it.
    pub(crate) fn object(&self, kind: &str, name: &str) -> Value {
        let json = self.kubectl(["get", kind, name, "--output=json", "--show-managed-fields"]);
        serde_json::from_str(&json).unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _already_gone = self.server.kill();
        let _reaped = self.server.wait();
    }
}

fn serve(dir: &Path, flags: &[String]) -> Child {
    let mut command = Command::new(binary());
    command
        .args(["server", "--listen", "127.0.0.1:0"])
        .args(flags)
        // What this machine has of its own is left alone.
        .arg("--hosts-file")
        .arg(dir.join("hosts"))
        .arg("--data-dir")
        .arg(dir.join("data"))
        .arg("--write-kubeconfig")
        .arg(dir.join("kubeconfig"));
    if !flags.iter().any(|flag| flag == "--gateway-http") {
        command.args(["--gateway-http", "127.0.0.1:0", "--gateway-https", "127.0.0.1:0"]);
    }
    start(&mut command, &dir.join("log"))
}

/// Tries until it holds, and says what was still untrue when patience ran out.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, holds: impl FnMut() -> Result<T, String>) -> T {
    kedge_shipped::eventually(what, PATIENCE, holds)
}

pub(crate) fn error(output: &Output) -> String {
    text(&output.stderr)
}

/// Asserts that a text has all of these in it.
#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}
