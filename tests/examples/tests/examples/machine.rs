//! A server, with or without the node of this machine, and kubectl pointed at it. It leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kedge_shipped::{binary, eventually, start};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
/// In the folder in which the server runs.
const AUDIT: &str = "audit.log";

pub(crate) struct Machine {
    dir: TempDir,
    server: Child,
    has_node: bool,
}

impl Machine {
    pub(crate) fn without_node() -> Self {
        Self::start(&["--no-agent"], false)
    }

    pub(crate) fn with_node() -> Self {
        // Tests of other builds may run beside this one, and others of this one.
        let own = std::process::id() % 16;
        let (pods, services) = (format!("10.{}.0.0/16", 232 + own), format!("10.{}.0.0/16", 192 + own));
        let flags = ["--node-name", "here", "--node-listen", "0.0.0.0:0", "--cluster-cidr", &pods];
        let more = ["--service-cidr", &services, "--eviction-hard", "memory.available<10Mi"];
        let files = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/node");
        let [registries, audit] = ["registries", "audit-policy"].map(|name| format!("{files}/{name}.yaml"));
        let files = ["--registries", &registries, "--audit-policy-file", &audit, "--audit-log-path"];
        let machine = Self::start(&[&flags[..], &more, &files, &[AUDIT]].concat(), true);
        eventually("the node is ready", PATIENCE, || {
            machine.try_kubectl(&["wait", "--for=condition=Ready", "--timeout=1s", "node/here"])
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(kedge_shipped::import(&machine.data()));
        machine
    }

    fn start(flags: &[&str], has_node: bool) -> Self {
        let dir = TempDir::new().unwrap();
        let mut command = Command::new(binary());
        command
            .args([
                "server",
                "--listen",
                "127.0.0.1:0",
                "--gateway-http",
                "0.0.0.0:0",
                "--gateway-https",
                "0.0.0.0:0",
            ])
            .args(flags)
            // What this machine has of its own is left alone.
            .arg("--hosts-file")
            .arg(dir.path().join("hosts"))
            .arg("--data-dir")
            .arg(dir.path().join("data"));
        let server = start(command.current_dir(dir.path()), &dir.path().join("log"));
        let machine = Self { dir, server, has_node };
        eventually("the server is ready", PATIENCE, || machine.try_kubectl(&["get", "--raw", "/readyz"]));
        eventually("a namespace is ready", PATIENCE, || {
            machine.try_kubectl(&["get", "serviceaccount", "default"])
        });
        eventually("our own kinds are served", PATIENCE, || machine.try_kubectl(&["get", "dnsrecords"]));
        machine
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// What was recorded of the requests.
    pub(crate) fn audited(&self) -> String {
        std::fs::read_to_string(self.dir.path().join(AUDIT)).unwrap_or_default()
    }

    /// Applies what is typed, not written in a file.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let file = self.dir.path().join("typed.yaml");
        std::fs::write(&file, text).unwrap();
        self.try_kubectl(&["apply", "-f", file.to_str().unwrap()])
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(kedge_shipped::kubectl());
        command
            .env("KUBECONFIG", self.data().join("kubeconfig"))
            .env("HOME", self.dir.path())
            .arg("--request-timeout=30s")
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.command(arguments).output().unwrap();
        let [out, err] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if output.status.success() { Ok(out) } else { Err(err) }
    }

    #[track_caller]
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.try_kubectl(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    }

    /// What kubectl complains of.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str], told: &str) {
        let said = self.try_kubectl(arguments).expect_err(&format!("{arguments:?} went well"));
        assert!(said.contains(told), "{arguments:?}: no {told:?} in {said}");
    }

    /// Waits until kubectl answers with all of these.
    #[track_caller]
    pub(crate) fn until(&self, arguments: &[&str], wanted: &[&str]) {
        eventually(&format!("kubectl {}", arguments.join(" ")), PATIENCE, || {
            let said = self.try_kubectl(arguments)?;
            match wanted.iter().find(|part| !said.contains(**part)) {
                Some(missing) => Err(format!("no {missing:?} in {said}")),
                None => Ok(()),
            }
        });
    }

    /// Where the gateway listens, as its log says.
    pub(crate) fn gateway(&self) -> u16 {
        eventually("the gateway is open", PATIENCE, || {
            let log = self.log();
            let told = log.split("the gateway serves HTTP at 0.0.0.0:").nth(1);
            let port = told.and_then(|rest| rest.split(' ').next()?.parse().ok());
            port.ok_or(log)
        })
    }

    /// Whether a server would start with this file.
    pub(crate) fn takes_config(&self, file: &Path) {
        let mut command = Command::new(binary());
        let said =
            command.args(["doctor", "--no-agent", "--no-gateway", "--config"]).arg(file).output().unwrap();
        let told = String::from_utf8_lossy(&said.stderr);
        assert!(!told.contains("config file"), "{told}");
        assert!(String::from_utf8_lossy(&said.stdout).contains("kernel"), "{told}");
    }

    /// Removes what an example made.
    pub(crate) fn clear(&self, file: &Path) {
        let _whatever_is_left_ends_with_the_machine = self.try_kubectl(&[
            "delete",
            "--ignore-not-found",
            "--timeout=30s",
            "-f",
            &file.to_string_lossy(),
        ]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _already_gone = self.server.kill();
        let _reaped = self.server.wait();
        if self.has_node {
            let _cleaned = Command::new(binary()).args(["clean", "--data-dir"]).arg(self.data()).output();
            kedge_shipped::sweep(&self.data());
        }
    }
}
