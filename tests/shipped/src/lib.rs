//! The binary that this build ships, as tests start it, and an image for it to run. Knows no story.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod asked;
mod kubectl;

use std::fs::File as LogFile;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kedge_images::{File, Store, build};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub use self::asked::{Asked, PATIENCE, text};
pub use self::kubectl::kubectl;

/// What the image is called that [`import`] brings.
pub const IMAGE: &str = "busybox:1";

/// What busybox does under its names in the image.
const NAMES: [&str; 17] = [
    "sh", "cat", "tar", "sleep", "httpd", "ls", "stty", "tty", "mkdir", "rm", "test", "id", "wget", "nc",
    "nslookup", "hostname", "timeout",
];

/// The binary of the build that this test belongs to: it lies one folder above the tests. `KEDGE_BIN` names another.
pub fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("KEDGE_BIN") {
        return named.into();
    }
    let built = std::env::current_exe().unwrap();
    let binary = built.parent().and_then(Path::parent).unwrap().join("kedge");
    assert!(binary.exists(), "build the binary first: cargo build ({} is not there)", binary.display());
    binary
}

/// Starts a program in the background; what it says is added to a file.
pub fn start(command: &mut Command, log: &Path) -> Child {
    let log = LogFile::options().create(true).append(true).open(log).unwrap();
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

/// Tries until it holds, and says what was still untrue when patience ran out.
#[track_caller]
pub fn eventually<T>(what: &str, patience: Duration, mut holds: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match holds() {
            Ok(done) => return done,
            Err(still) if begun.elapsed() > patience => panic!("{what}: still {still}"),
            Err(_) => std::thread::park_timeout(Duration::from_millis(20)),
        }
    }
}

/// Puts this machine's static busybox into the containerd of a node's data folder.
pub async fn import(data: &Path) {
    import_as(data, IMAGE, None, json!({"Env": ["PATH=/bin"]})).await;
}

/// The same under another name, with one page to be served, and what it runs.
pub async fn import_as(data: &Path, name: &str, page: Option<(&str, &'static str)>, config: Value) {
    let regular = |path: &str, mode, content| File::Regular { path: path.to_owned(), mode, content };
    let folder = |path: &str| File::Folder { path: path.to_owned(), mode: 0o755 };
    let busybox = Bytes::from(std::fs::read("/bin/busybox").unwrap());
    let mut files = vec![folder("/bin"), folder("/tmp"), regular("/bin/busybox", 0o755, busybox)];
    files.extend(NAMES.map(|name| File::Link { path: format!("/bin/{name}"), target: "busybox".to_owned() }));
    files.extend(page.map(|(path, text)| regular(path, 0o644, Bytes::from(text))));
    let image = build(name, &files, config).unwrap();
    let socket = data.join("containerd/containerd.sock");
    Store::at(&socket).import(&image, None, jiff::Timestamp::now(), |_| {}).await.unwrap();
}

/// Ends whatever still runs from a folder, and takes away what is still mounted in it: for a test that failed half way.
pub fn sweep(folder: &Path) {
    for pid in processes_of(folder) {
        let _gone = kill_process(pid, Signal::KILL);
    }
    // A mount may lie below another: the last one made goes first.
    for mount in mounts_below(folder).iter().rev() {
        let _unmounted = unmount(mount, UnmountFlags::DETACH);
    }
}

/// Processes that were started with something of this folder: containerd and the shims that outlive it.
pub fn processes_of(folder: &Path) -> Vec<Pid> {
    let folder = folder.to_string_lossy().into_owned();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let own = pid != std::process::id().cast_signed() && String::from_utf8_lossy(&line).contains(&folder);
        own.then(|| Pid::from_raw(pid)).flatten()
    })
    .collect()
}

pub fn mounts_below(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = table.lines().filter_map(|line| line.split(' ').nth(4));
    places.filter(|place| place.starts_with(&folder)).map(str::to_owned).collect()
}
