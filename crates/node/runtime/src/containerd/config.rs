//! What our containerd is told, in the format that its version reads.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything about one private containerd.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its own: config, state, images, socket and log are in it.
    pub folder: PathBuf,
    /// `containerd`, or where it is.
    pub program: String,
    /// The image of every sandbox; it is never pulled.
    pub pause_image: String,
    /// Where the network's plugins and their configuration are.
    pub cni_programs: PathBuf,
    pub cni_config: PathBuf,
    /// What we may not do must not be asked of us.
    pub restrict_oom_scores: bool,
    /// The cgroups that it and its shims are in, one folder for each tree; where none is named they are in ours.
    pub cgroups: Vec<PathBuf>,
}

impl Config {
    pub fn socket(&self) -> PathBuf {
        self.folder.join("containerd.sock")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("containerd.log")
    }

    /// How registries are reached: one folder with a `hosts.toml` for each.
    pub fn hosts(&self) -> PathBuf {
        self.folder.join("hosts")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.folder.join("containerd.pid")
    }

    /// Where it keeps the networks of sandboxes.
    pub(crate) fn networks(&self) -> PathBuf {
        self.folder.join("state/io.containerd.grpc.v1.cri/netns")
    }

    /// What a containerd of this version reads: since 2 the parts of CRI are plugins of their own.
    pub(crate) fn text(&self, version: Version) -> String {
        let (format, cri) = match version.major {
            0 | 1 => (2, self.one_plugin()),
            _ => (3, self.several_plugins(version)),
        };
        let inside = |name: &str| quoted(&self.folder.join(name));
        format!(
            r#"# Written by kedge at every start; changes are lost.
version = {format}
root = {root}
state = {state}
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs",
  "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing",
]

[grpc]
address = {socket}

[debug]
level = "warn"

[plugins."io.containerd.internal.v1.opt"]
path = {opt}
{cri}"#,
            root = inside("root"),
            state = inside("state"),
            socket = quoted(&self.socket()),
            opt = inside("opt"),
        )
    }

    fn one_plugin(&self) -> String {
        format!(
            r#"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = {pause}
restrict_oom_score_adj = {restrict}
stream_server_address = "127.0.0.1"
stream_server_port = "0"
max_container_log_line_size = 16384
netns_mounts_under_state_dir = true
disable_hugetlb_controller = false

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = {cni_programs}
conf_dir = {cni_config}
max_conf_num = 1

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = {hosts}
"#,
            pause = quoted(Path::new(&self.pause_image)),
            restrict = self.restrict_oom_scores,
            cni_programs = quoted(&self.cni_programs),
            cni_config = quoted(&self.cni_config),
            hosts = quoted(&self.hosts()),
        )
    }

    fn several_plugins(&self, version: Version) -> String {
        let programs = quoted(&self.cni_programs);
        // One folder, and from 2.1 on a list of them.
        let programs = match (version.major, version.minor) {
            (2, 0) => format!("bin_dir = {programs}"),
            _ => format!("bin_dirs = [{programs}]"),
        };
        // From 2.3 on it reads every container's counters once a second, for questions that we answer ourselves.
        let counting = match (version.major, version.minor) {
            (2, 0..=2) => "",
            _ => "stats_collect_period = \"1h\"\nstats_retention_period = \"2h\"\n",
        };
        format!(
            r#"
[plugins."io.containerd.grpc.v1.cri"]
stream_server_address = "127.0.0.1"
stream_server_port = "0"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = {pause}

[plugins."io.containerd.cri.v1.images".registry]
config_path = {hosts}

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = {restrict}
max_container_log_line_size = 16384
netns_mounts_under_state_dir = true
disable_hugetlb_controller = false
{counting}# What pods may do is said by pods alone.
enable_unprivileged_ports = false
enable_unprivileged_icmp = false

[plugins."io.containerd.cri.v1.runtime".cni]
{programs}
conf_dir = {cni_config}
max_conf_num = 1

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false

# Its socket is the same for every containerd of a machine.
[plugins."io.containerd.nri.v1.nri"]
disable = true

[plugins."io.containerd.image-verifier.v1.bindir"]
bin_dir = {verifiers}
"#,
            pause = quoted(Path::new(&self.pause_image)),
            hosts = quoted(&self.hosts()),
            restrict = self.restrict_oom_scores,
            cni_config = quoted(&self.cni_config),
            verifiers = quoted(&self.folder.join("verifiers")),
        )
    }
}

/// Which containerd a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// As a program tells it by itself. One that says nothing that we understand is taken for an old one.
    pub(crate) fn of(program: &str) -> Self {
        let told = Command::new(program).arg("--version").output().map(|told| told.stdout);
        Self::read(&String::from_utf8_lossy(&told.unwrap_or_default()))
    }

    /// `containerd github.com/containerd/containerd/v2 v2.1.0 abcdef`.
    fn read(text: &str) -> Self {
        let word = text.split_whitespace().nth(2).unwrap_or_default();
        let mut numbers = word.trim_start_matches('v').split('.').map_while(|number| number.parse().ok());
        Self { major: numbers.next().unwrap_or(1), minor: numbers.next().unwrap_or(0) }
    }
}

/// A string of TOML, whatever a folder is called.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for letter in path.to_string_lossy().chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            letter if letter.is_control() => text.push_str(&format!("\\u{:04X}", u32::from(letter))),
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests;
