//! Plugins on the path and folders for kustomize, by us and by stock kubectl beside each other. No server is asked.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kedge_shipped::kubectl;
use tempfile::TempDir;

use crate::cluster::{assert_has, binary};
use crate::own::{Answer, answer, words};

/// Folders with programs in them, which come before the path of these tests.
struct Programs {
    dir: TempDir,
}

impl Programs {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A program that says its name, how it was called and what it was given, and ends with 3.
    fn script(&self, folder: &str, name: &str) {
        self.file(
            folder,
            name,
            &format!("#!/bin/sh\necho \"{folder} {name} from $0 with $*\"\nexit 3\n"),
            0o755,
        );
    }

    fn file(&self, folder: &str, name: &str, content: &str, mode: u32) {
        let path = self.folder(folder).join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// In its folder and with these folders before the path.
    fn run(&self, program: &Path, folders: &[&str], line: &str) -> Answer {
        let mut path: Vec<PathBuf> = folders.iter().map(|folder| self.dir.path().join(folder)).collect();
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let mut command = Command::new(program);
        command
            .args(words(line))
            .current_dir(self.dir.path())
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", self.dir.path())
            .stdin(Stdio::null());
        answer(command)
    }

    fn own(&self, folders: &[&str], line: &str) -> Answer {
        self.run(&binary(), folders, line)
    }

    fn stock(&self, folders: &[&str], line: &str) -> Answer {
        self.run(Path::new(&kubectl()), folders, line)
    }
}

fn installed() -> Programs {
    let programs = Programs::new();
    for name in
        ["foo", "foo-bar", "get", "version", "create-thing", "create-cm", "rollout-bar", "my_own", "token"]
    {
        programs.script("a", &format!("kubectl-{name}"));
    }
    programs.script("b", "kubectl-foo");
    programs.script("b", "kubectl-baz-qux");
    programs.script("b", "other-foo");
    programs.file("a", "kubectl-plain", "", 0o644);
    programs.folder("a/kubectl-folder");
    programs
}

#[test]
fn plugins_are_listed_with_what_is_wrong_with_them() {
    let programs = installed();
    programs.script("alone", "kubectl-foo");
    programs.script("one", "kubectl-get");
    for (folders, line) in [
        (&["a", "b", "nowhere"][..], "plugin list"),
        (&["b", "a", "b"], "plugin list --name-only"),
        (&["alone"], "plugin list"),
        (&["one"], "plugin list"),
        (&["nowhere"], "plugin list"),
        (&["a"], "plugin nothing"),
    ] {
        let ours = programs.own(folders, &format!("kubectl {line}"));
        let stock = programs.stock(folders, line);
        assert_eq!((ours.code, &ours.out), (stock.code, &stock.out), "{folders:?} {line}\n{}", ours.err);
        let our_words = ours.err.replace("kedge kubectl", "kubectl");
        match line {
            // Where help is to be found we say in words of our own.
            "plugin nothing" => assert_eq!(our_words.lines().next(), stock.err.lines().next()),
            _ => assert_eq!(our_words, stock.err, "{folders:?} {line}"),
        }
    }
    // Beside the verbs the binary's own commands hide plugins.
    let ours = programs.own(&["a"], "plugin list");
    assert_eq!(ours.code, Some(1));
    assert_has(
        &ours.err,
        &[
            "warning: kubectl-token overwrites existing command: \"kedge token\"",
            "warning: kubectl-create-cm overwrites existing command: \"kedge create configmap\"",
        ],
    );
}

#[test]
fn words_that_are_no_verbs_run_plugins() {
    let programs = installed();
    for (line, runs) in [
        ("foo", true),
        ("foo bar baz -n x", true),
        ("foo -n x bar", true),
        ("foo --help", true),
        ("foo 'two words'", true),
        ("my-own a", true),
        ("baz qux zot", true),
        ("create thing x", true),
        ("token x", true),
        ("baz", false),
        ("foo-bar x", false),
        ("plain", false),
        ("folder", false),
        ("-n x foo bar", false),
        ("--namespace=x foo", false),
        ("rollout bar", false),
    ] {
        let ours = programs.own(&["a", "b"], &format!("kubectl {line}"));
        let stock = programs.stock(&["a", "b"], line);
        assert_eq!((ours.code, &ours.out), (stock.code, &stock.out), "{line}\n{}", ours.err);
        assert_eq!(ours.code, Some(if runs { 3 } else { 1 }), "{line}");
        let first = |text: &str| {
            let line = text.lines().next().unwrap_or_default().replace("kedge kubectl", "kubectl");
            line.trim_start_matches("Error: ").trim_start_matches("error: ").to_owned()
        };
        assert_eq!(first(&ours.err), first(&stock.err), "{line}");
    }
    // Behind our own name verbs and the commands of the binary come first.
    for (line, said) in [
        ("foo bar baz", "a kubectl-foo-bar from"),
        ("baz qux", "b kubectl-baz-qux from"),
        ("token --help", "Look after the tokens"),
        ("version", "kedge "),
        ("create cm --help", "create configmap"),
        ("__complete -- fo", "foo\tA plugin"),
    ] {
        let ours = programs.own(&["a", "b"], line);
        assert_has(&ours.out, &[said]);
    }
    assert_has(&programs.own(&["a", "b"], "plain").err, &["unrecognized subcommand 'plain'"]);
}

#[test]
fn folders_for_kustomize_are_put_together() {
    let programs = Programs::new();
    programs.file("k", "kustomization.yaml", "resources: [one.yaml]\nnamePrefix: p-\n", 0o644);
    programs.file(
        "k",
        "one.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: '1'}\n",
        0o644,
    );
    programs.folder("empty");
    for line in [
        "kustomize k",
        "kustomize ./k/",
        "kustomize k --load-restrictor=LoadRestrictionsNone",
        "kustomize",
        "kustomize empty",
        "kustomize nowhere",
        "kustomize k k",
        "kustomize k --load-restrictor=bad",
    ] {
        let (ours, stock) = (programs.own(&[], line), programs.stock(&[], line));
        assert_eq!((ours.code, &ours.out), (stock.code, &stock.out), "{line}\n{}", ours.err);
        // Stock kubectl writes its complaint as a line of a log.
        let told = ours.err.trim().trim_start_matches("error: ");
        assert!(stock.err.contains(told), "{line}\nours: {}\nstock: {}", ours.err, stock.err);
        assert_eq!(told.is_empty(), ours.code == Some(0), "{line}");
    }
    let built = programs.stock(&[], "kustomize k").out;
    assert_has(&built, &["name: p-one"]);
    programs.folder("into");
    for (line, file) in
        [("kustomize k -o file.yaml", "file.yaml"), ("kustomize k -o into", "into/v1_configmap_p-one.yaml")]
    {
        let ours = programs.own(&[], line);
        assert_eq!((ours.code, &*ours.out), (Some(0), ""), "{line}: {}", ours.err);
        assert_eq!(std::fs::read_to_string(programs.dir.path().join(file)).unwrap(), built, "{line}");
    }
    // A kubectl that is this program asks the next one, not itself.
    symlink(binary(), programs.folder("ours").join("kubectl")).unwrap();
    assert_eq!(programs.own(&["ours"], "kustomize k").out, built);
    let again = format!("#!/bin/sh\nexec {} kubectl \"$@\"\n", binary().display());
    programs.file("copy", "kubectl", &again, 0o755);
    let ours = programs.own(&["copy"], "kustomize k");
    assert_eq!(ours.code, Some(1));
    assert_has(&ours.err, &["neither kustomize nor kubectl is on the path"]);
}
