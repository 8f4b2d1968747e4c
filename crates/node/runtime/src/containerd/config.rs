//! What our containerd is told. The file is version 2, which 1.6 reads and 2.x understands.

use std::path::{Path, PathBuf};

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

    pub(crate) fn text(&self) -> String {
        let inside = |name: &str| quoted(&self.folder.join(name));
        format!(
            r#"# Written by kedge at every start; changes are lost.
version = 2
root = {root}
state = {state}
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing",
]

[grpc]
address = {socket}

[debug]
level = "warn"

[plugins."io.containerd.internal.v1.opt"]
path = {opt}

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
            root = inside("root"),
            state = inside("state"),
            socket = quoted(&self.socket()),
            opt = inside("opt"),
            pause = quoted(Path::new(&self.pause_image)),
            restrict = self.restrict_oom_scores,
            cni_programs = quoted(&self.cni_programs),
            cni_config = quoted(&self.cni_config),
            hosts = quoted(&self.hosts()),
        )
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
mod tests {
    use super::*;

    #[test]
    fn any_folder_is_a_string_of_toml() {
        for (path, text) in [
            ("/var/lib/kedge", r#""/var/lib/kedge""#),
            ("/a \"b\"\\c", r#""/a \"b\"\\c""#),
            ("/new\nline", r#""/new\u000Aline""#),
        ] {
            assert_eq!(quoted(Path::new(path)), text);
        }
    }
}
