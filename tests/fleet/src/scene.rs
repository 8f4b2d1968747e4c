//! The fleet: a server with its node, two further machines, and kubectl on the server's.

use std::process::{Command, Output};

use kedge_shipped::{IMAGE, eventually, import};
use serde_json::{Value, json};

use crate::machine::{Machine, PATIENCE};
use crate::switch::Switch;
use crate::traces::Traces;

/// How full this machine's disk is must not matter here, and its own names are none of ours.
pub const NODE: [&str; 4] = ["--eviction-hard", "memory.available<1Mi", "--hosts-file", "none"];
/// Until it is told to end, and then at once.
pub const FOR_EVER: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
/// A page that says which pod it is on.
pub const PAGE: &str = "mkdir /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";

/// What machines are given beyond their place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outfit {
    /// A disk for the data of each, of so many mebibytes.
    pub disk: Option<u32>,
    /// A clock for each kedge.
    pub clock: bool,
    /// Addresses of both families for pods and Services; the machines themselves have one.
    pub both_families: bool,
}

pub struct Scene {
    pub server: Machine,
    pub two: Machine,
    pub three: Machine,
    /// How the machines were before anything ran on them, in this order.
    pub before: [Traces; 3],
    outfit: Outfit,
    runtime: tokio::runtime::Runtime,
    // The last to go: nothing is reached without it.
    pub switch: Switch,
    _folder: tempfile::TempDir,
}

impl Scene {
    pub fn start() -> Self {
        Self::start_with(Outfit::default())
    }

    pub fn start_with(outfit: Outfit) -> Self {
        let folder = tempfile::Builder::new().prefix("kfleet").tempdir().unwrap();
        let mut switch = Switch::make();
        let mut machine = |name| {
            let mut machine = Machine::new(name, switch.plug(), folder.path());
            if let Some(mebibytes) = outfit.disk {
                machine = machine.on_a_disk_of(mebibytes);
            }
            if outfit.clock {
                machine = machine.with_a_clock();
            }
            machine
        };
        let [server, two, three] = ["one", "two", "three"].map(&mut machine);
        let before = [&server, &two, &three].map(|machine| Traces::of(&machine.host, &machine.data()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut scene = Self { server, two, three, before, outfit, runtime, switch, _folder: folder };
        scene.start_server();
        scene.node_is("one", "True");
        scene.import(|scene| &scene.server);
        scene
    }

    pub fn start_server(&mut self) {
        let kubeconfig = self.server.file("kubeconfig").display().to_string();
        let mut flags = vec!["server", "--node-name", "one", "--write-kubeconfig", &kubeconfig];
        flags.extend(["--node-monitor-grace-period", "20s"]);
        flags.extend(NODE);
        if self.outfit.both_families {
            flags.extend([
                "--cluster-cidr",
                "10.244.0.0/16,fd00:244::/56",
                "--service-cidr",
                "10.96.0.0/16,fd00:96::/112",
            ]);
        }
        self.server.run(&flags);
    }

    /// Two more nodes, by the token that the server keeps.
    pub fn join(&mut self) {
        let kept = self.server.data().join("node-token");
        eventually("the server has a token for others", PATIENCE, || {
            std::fs::read_to_string(&kept).map_err(|error| error.to_string())
        });
        let (url, kept) = (self.url(), kept.display().to_string());
        for machine in [&mut self.two, &mut self.three] {
            let flags = ["agent", "--server", &url, "--token-file", &kept, "--node-name", machine.name];
            machine.run(&[&flags[..], &NODE].concat());
        }
        for name in ["two", "three"] {
            self.node_is(name, "True");
        }
        self.import(|scene| &scene.two);
        self.import(|scene| &scene.three);
    }

    /// Starts what runs on a machine again, as it was started before.
    pub fn start_again(&mut self, at: usize) {
        match at {
            0 => self.start_server(),
            _ => self.machine_mut(at).run(&[&["agent"][..], &NODE].concat()),
        }
    }

    /// The server's is the first.
    pub fn machines(&self) -> [&Machine; 3] {
        [&self.server, &self.two, &self.three]
    }

    pub fn machine_mut(&mut self, at: usize) -> &mut Machine {
        [&mut self.server, &mut self.two, &mut self.three].into_iter().nth(at).expect("one of three")
    }

    pub fn url(&self) -> String {
        format!("https://{}:6443", self.server.address)
    }

    pub fn import(&self, at: impl Fn(&Self) -> &Machine) {
        self.runtime.block_on(import(&at(self).data()));
    }

    pub fn logs(&self) -> String {
        self.machines().map(Machine::log).concat()
    }

    fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.server.command(kedge_shipped::kubectl());
        command.env("KUBECONFIG", self.server.file("kubeconfig")).env("HOME", self.server.file(""));
        command.arg("--request-timeout=20s").args(arguments);
        command
    }

    /// What kubectl says, whether or not it goes well.
    pub fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        told(self.kubectl_command(arguments).output().unwrap())
    }

    /// What kubectl says when it goes well.
    #[track_caller]
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.try_kubectl(arguments).unwrap_or_else(|error| panic!("kubectl {arguments:?}: {error}"))
    }

    #[track_caller]
    pub fn apply(&self, object: &Value) {
        use std::io::Write as _;
        let mut command = self.kubectl_command(&["apply", "--filename=-"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(object.to_string().as_bytes()).unwrap();
        told(child.wait_with_output().unwrap()).unwrap_or_else(|error| panic!("{object}: {error}"));
    }

    pub fn object(&self, arguments: &[&str]) -> Result<Value, String> {
        let text = self.try_kubectl(&[&["get", "--output=json"], arguments].concat())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// Waits until a node's readiness is this.
    #[track_caller]
    pub fn node_is(&self, name: &str, wanted: &str) {
        eventually(&format!("whether {name} is ready is {wanted}"), PATIENCE, || {
            let node = self.object(&["node", name])?;
            let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|condition| condition["type"] == "Ready").cloned();
            let ready = ready.unwrap_or_default();
            if ready["status"] == wanted { Ok(()) } else { Err(format!("{ready}")) }
        });
    }

    /// Makes a pod on a node that runs this, unless it is there already.
    pub fn pod(&self, name: &str, app: &str, node: &str, script: &str) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}},
            "spec": {
                "nodeName": node, "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": IMAGE, "command": ["sh", "-c", script]}],
            },
        }));
    }

    #[track_caller]
    pub fn ready(&self, pod: &str) {
        self.kubectl(&["wait", "--for=condition=Ready", "--timeout=30s", &format!("pod/{pod}")]);
    }

    pub fn address_of(&self, pod: &str) -> String {
        self.kubectl(&["get", "pod", pod, "--output=jsonpath={.status.podIP}"])
    }

    /// Fetches a page from inside a pod.
    pub fn fetch(&self, pod: &str, url: &str) -> Result<String, String> {
        self.try_kubectl(&["exec", pod, "--", "timeout", "2", "wget", "-q", "-O-", url])
    }

    /// A pod on each node that does nothing, and pages on two of them behind a Service. Made once.
    pub fn people(&self) {
        for (name, node) in [("caller-one", "one"), ("caller-two", "two"), ("caller-three", "three")] {
            self.pod(name, "caller", node, FOR_EVER);
        }
        self.pod("page-two", "page", "two", PAGE);
        self.pod("page-one", "page", "one", PAGE);
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "page"},
            "spec": {"type": "NodePort", "selector": {"app": "page"}, "ports": [{"port": 80, "targetPort": 8080}]},
        }));
        for pod in ["caller-one", "caller-two", "caller-three", "page-two", "page-one"] {
            self.ready(pod);
        }
    }
}

pub fn told(output: Output) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{}{}", text(&output.stdout), text(&output.stderr))),
    }
}
