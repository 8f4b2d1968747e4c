//! A machine whose runtime and whose network are somebody else's: a containerd that is none of ours (`--container-runtime-endpoint`), and a CNI
//! plugin of a few lines (`--cni none`), which our own containerd uses as well. Needs what `fleet` needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use kedge_fleet::{FOR_EVER, Machine, PATIENCE, Switch, told};
use kedge_shipped::{IMAGE, eventually, import, import_as, start, sweep};
use serde_json::json;

/// Connects a pod by a wire to the machine, and says what it did. Addresses are counted, wires named by their container.
const PLUGIN: &str = r#"#!/bin/sh
set -e
here=$(dirname "$0")
wire=t$(printf %.10s "$CNI_CONTAINERID")
echo "$CNI_COMMAND" >> "$here/calls"
case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0", "1.0.0"]}' ;;
ADD)
  echo x >> "$here/count"
  address=10.77.7.$(($(wc -l < "$here/count") + 1))
  ip link add "$wire" type veth peer name "${wire}p"
  ip link set "${wire}p" netns "$CNI_NETNS"
  ip link set "$wire" up
  ip route add "$address/32" dev "$wire"
  ip addr add 10.77.7.1/32 dev "$wire"
  nsenter --net="$CNI_NETNS" sh -e -c "ip link set ${wire}p name $CNI_IFNAME; ip addr add $address/32 dev $CNI_IFNAME
    ip link set $CNI_IFNAME up; ip route add 10.77.7.1 dev $CNI_IFNAME; ip route add default via 10.77.7.1"
  echo "{\"cniVersion\": \"0.4.0\", \"interfaces\": [{\"name\": \"$CNI_IFNAME\", \"sandbox\": \"$CNI_NETNS\"}],
    \"ips\": [{\"version\": \"4\", \"interface\": 0, \"address\": \"$address/32\"}]}" ;;
DEL) ip link del "$wire" 2>/dev/null || true ;;
esac
"#;
const LOOPBACK: &str = r#"#!/bin/sh
case $CNI_COMMAND in
ADD) nsenter --net="$CNI_NETNS" ip link set lo up
  echo '{"cniVersion": "0.3.1", "ips": [{"version": "4", "address": "127.0.0.1/8"}]}' ;;
VERSION) echo '{"cniVersion": "0.3.1", "supportedVersions": ["0.3.1"]}' ;;
esac
"#;
const PAUSE: &str = "pause:1";

struct Theirs {
    folder: PathBuf,
    running: Option<Child>,
}

impl Theirs {
    /// A plugin and its configuration, where people who bring their own put them.
    fn network(folder: &Path) -> Self {
        let (programs, config) = (folder.join("bin"), folder.join("net.d"));
        for made in [&programs, &config] {
            std::fs::create_dir_all(made).unwrap();
        }
        for (name, text) in [("wires", PLUGIN), ("loopback", LOOPBACK)] {
            let path = programs.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let list = json!({"cniVersion": "0.4.0", "name": "theirs", "plugins": [{"type": "wires"}]});
        std::fs::write(config.join("10-theirs.conflist"), list.to_string()).unwrap();
        Self { folder: folder.to_owned(), running: None }
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("containerd/containerd.sock")
    }

    /// A containerd that Kedge never heard of.
    fn runtime(&mut self, machine: &Machine) {
        let folder = self.folder.join("containerd");
        std::fs::create_dir_all(&folder).unwrap();
        let place = |name: &str| folder.join(name).display().to_string();
        let text = format!(
            r#"version = 2
root = "{root}"
state = "{state}"
[grpc]
address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
path = "{opt}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"
stream_server_port = "0"
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{programs}"
conf_dir = "{config}"
"#,
            root = place("root"),
            state = place("state"),
            socket = self.socket().display(),
            opt = place("opt"),
            programs = self.folder.join("bin").display(),
            config = self.folder.join("net.d").display(),
        );
        std::fs::write(folder.join("config.toml"), text).unwrap();
        let mut command = machine.command("containerd");
        command.arg("--config").arg(folder.join("config.toml"));
        self.running = Some(start(&mut command, &folder.join("log")));
        eventually("their containerd answers", PATIENCE, || {
            std::os::unix::net::UnixStream::connect(self.socket()).map_err(|error| error.to_string())
        });
    }

    fn calls(&self, which: &str) -> usize {
        let text = std::fs::read_to_string(self.folder.join("bin/calls")).unwrap_or_default();
        text.lines().filter(|line| *line == which).count()
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _already_gone = running.kill();
            let _reaped = running.wait();
        }
        sweep(&self.folder);
    }
}

fn kubectl(machine: &Machine, arguments: &[&str]) -> Result<String, String> {
    let mut command = machine.command("kubectl");
    command.env("KUBECONFIG", machine.data().join("kubeconfig")).env("HOME", machine.file(""));
    told(command.arg("--request-timeout=20s").args(arguments).output().unwrap())
}

/// A pod gets an address of theirs, is reached there, and gives it back.
fn a_pod_is_connected_by_them(machine: &Machine, theirs: &Theirs) {
    let file = machine.file("pod.json");
    let script =
        format!("mkdir /tmp/www; echo hello > /tmp/www/index.html; httpd -p 8080 -h /tmp/www; {FOR_EVER}");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "guest"},
        "spec": {"terminationGracePeriodSeconds": 1, "automountServiceAccountToken": false,
            "containers": [{"name": "main", "image": IMAGE, "command": ["sh", "-c", script]}]},
    });
    std::fs::write(&file, pod.to_string()).unwrap();
    let (added, removed) = (theirs.calls("ADD"), theirs.calls("DEL"));
    eventually("the pod is taken", PATIENCE, || kubectl(machine, &["apply", "-f", file.to_str().unwrap()]));
    eventually("it runs", PATIENCE, || {
        kubectl(machine, &["wait", "--for=condition=Ready", "--timeout=1s", "pod/guest"])
            .map_err(|error| format!("{error}\n{}", machine.log()))
    });
    let address = kubectl(machine, &["get", "pod", "guest", "--output=jsonpath={.status.podIP}"]).unwrap();
    assert!(address.starts_with("10.77.7."), "{address} is no address of theirs");
    let url = format!("http://{address}:8080/");
    eventually("it is reached", PATIENCE, || {
        told(
            machine
                .command("busybox")
                .args(["timeout", "2", "busybox", "wget", "-q", "-O-", &url])
                .output()
                .unwrap(),
        )
    });
    assert_eq!(kubectl(machine, &["exec", "guest", "--", "cat", "/tmp/www/index.html"]).unwrap(), "hello\n");
    kubectl(machine, &["delete", "pod", "guest", "--timeout=30s"]).unwrap();
    assert_eq!(theirs.calls("ADD"), added + 1);
    assert!(theirs.calls("DEL") > removed, "it was not given back");
}

#[test]
fn other_runtimes_and_networks_do_as_well() {
    let folder = tempfile::Builder::new().prefix("ktheirs").tempdir().unwrap();
    let mut switch = Switch::make();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let places = ["bin", "net.d"].map(|name| folder.path().join("theirs").join(name).display().to_string());
    let common =
        ["server", "--node-name", "one", "--eviction-hard", "memory.available<1Mi", "--hosts-file", "none"];

    // Our own containerd, and a network that is none of ours.
    let mut theirs = Theirs::network(&folder.path().join("theirs"));
    let mut ours = Machine::new("ours", switch.plug(), folder.path());
    let network = ["--cni", "none", "--cni-bin-dir", &places[0], "--cni-conf-dir", &places[1]];
    ours.run(&[&common[..], &network].concat());
    eventually("the node is ready", PATIENCE, || {
        kubectl(&ours, &["wait", "--for=condition=Ready", "--timeout=1s", "node/one"])
    });
    runtime.block_on(import(&ours.data()));
    a_pod_is_connected_by_them(&ours, &theirs);
    ours.stop();

    // And a containerd that is none of ours either. What it has besides is left alone.
    let mut guest = Machine::new("guest", switch.plug(), folder.path());
    theirs.runtime(&guest);
    runtime.block_on(import(&theirs.folder));
    let sleeps = json!({"Entrypoint": ["/bin/sleep", "1000000"]});
    runtime.block_on(import_as(&theirs.folder, PAUSE, None, sleeps));
    let endpoint = format!("unix://{}", theirs.socket().display());
    guest.run(&[&common[..], &["--container-runtime-endpoint", &endpoint]].concat());
    eventually("the node is ready", PATIENCE, || {
        kubectl(&guest, &["wait", "--for=condition=Ready", "--timeout=1s", "node/one"])
            .map_err(|error| format!("{error}\n{}", guest.log()))
    });
    a_pod_is_connected_by_them(&guest, &theirs);
    guest.stop();
    told(guest.kedge(&["uninstall"]).output().unwrap()).unwrap();
    let theirs_alive = theirs.running.as_mut().unwrap().try_wait().unwrap().is_none();
    assert!(theirs_alive, "their containerd was ended");
}
