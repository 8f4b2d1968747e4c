//! What is typed into real shells, Tab and all, and what it becomes. Each runs on a terminal of its own (`script` makes it), knows the
//! binary by the name `kedge`, and is asked to print the line that it was left with.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::cluster::{Cluster, binary, eventually};
use crate::own::WEB;

/// Its name, how it is started without anybody's settings, and what it is told first.
const BASH: [&str; 3] = ["bash", "bash --norc --noprofile -i", "source <(kedge completion bash)"];
const ZSH: [&str; 3] =
    ["zsh", "zsh -f -i", "autoload -Uz compinit; compinit -u -D; source <(kedge completion zsh)"];
/// The same from a folder of functions, as distributions and managers of settings lay it down.
const ZSH_LATER: [&str; 3] = [
    "zsh",
    "zsh -f -i",
    "mkdir later; kedge completion zsh > later/_kedge; fpath=($PWD/later $fpath); autoload -Uz compinit; compinit -u -D",
];
const FISH: [&str; 3] =
    ["fish", "fish --no-config -i", "set -g fish_autosuggestion_enabled 0; kedge completion fish | source"];

/// `⇥` is Tab.
const LINES: &[(&str, &str)] = &[
    // Verbs, the words below them, and the binary's own commands with their flags.
    ("kedge desc⇥", "kedge describe"),
    ("kedge rollout sta⇥", "kedge rollout status"),
    ("kedge cluster-info du⇥", "kedge cluster-info dump"),
    ("kedge cluster-info dump --output-d⇥", "kedge cluster-info dump --output-directory"),
    ("kedge apply edit-l⇥cm sett⇥", "kedge apply edit-last-applied cm settings"),
    ("kedge create -f manifest.yaml --edi⇥", "kedge create -f manifest.yaml --edit"),
    ("kedge plugi⇥li⇥--name-o⇥", "kedge plugin list --name-only"),
    ("kedge swab⇥", "kedge swab-decks"),
    ("kedge kustom⇥--load-r⇥", "kedge kustomize --load-restrictor"),
    ("kedge kustomize mani⇥", "kedge kustomize manifest.yaml"),
    ("kedge auth rec⇥", "kedge auth reconcile"),
    ("kedge auth reconcile --remove-extra-p⇥", "kedge auth reconcile --remove-extra-permissions"),
    ("kedge kubectl api-r⇥", "kedge kubectl api-resources"),
    ("kedge serv⇥", "kedge server"),
    ("kedge token cre⇥", "kedge token create"),
    ("kedge token create --print-j⇥", "kedge token create --print-join-command"),
    // Flags and their values.
    ("kedge get cm --all-n⇥", "kedge get cm --all-namespaces"),
    ("kedge get cm -o jsonpath-a⇥", "kedge get cm -o jsonpath-as-json="),
    ("kedge get cm --output=kya⇥", "kedge get cm --output=kyaml"),
    ("kedge delete cm --cascade=orp⇥", "kedge delete cm --cascade=orphan"),
    // Kinds that the server has, one or several.
    ("kedge get deploym⇥", "kedge get deployments"),
    ("kedge get pods,configm⇥", "kedge get pods,configmaps"),
    ("kedge explain deployment.spec.strat⇥", "kedge explain deployment.spec.strategy"),
    // Names, of the namespace that the line says, and those that stand behind their kind.
    ("kedge get configm⇥sett⇥", "kedge get configmaps settings"),
    ("kedge describe cm/sett⇥", "kedge describe cm/settings"),
    ("kedge rollout status deployment/w⇥", "kedge rollout status deployment/web"),
    ("kedge -n ot⇥get cm fa⇥", "kedge -n other get cm faraway"),
    ("kedge get --namespace=ot⇥cm fa⇥", "kedge get --namespace=other cm faraway"),
    ("kedge get clusterroles system:node-prox⇥", "kedge get clusterroles system:node-proxier"),
    ("kedge logs alo⇥-c si⇥", "kedge logs alone -c side"),
    // What the kubeconfig has, and files.
    ("kedge config use-context ked⇥", "kedge config use-context kedge"),
    ("kedge apply -f mani⇥", "kedge apply -f manifest.yaml"),
];

/// A shell on a terminal, and all that it has shown.
struct Shell {
    process: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<String>>,
}

impl Shell {
    fn start([_, line, told]: [&str; 3], cluster: &Cluster, home: &Path) -> Self {
        let path = format!("{}:{}", home.join("bin").display(), std::env::var("PATH").unwrap());
        let mut process = Command::new("script")
            .args(["--quiet", "--return", "--command", line, "/dev/null"])
            .current_dir(home)
            .env("PATH", path)
            .env("HOME", home)
            .env("KUBECONFIG", cluster.kubeconfig())
            .env("TERM", "xterm")
            .env("PS1", "% ")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut screen, page) = (process.stdout.take().unwrap(), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                page.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        let keys = process.stdin.take().unwrap();
        let mut shell = Self { process, keys, shown };
        // Wide enough for every line.
        shell.types(&format!("stty cols 200; {told}; echo now it is 'ready'\n"));
        shell.until_shows("now it is ready\r\n");
        shell
    }

    fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    #[track_caller]
    fn until_shows(&self, wanted: &str) {
        eventually(&format!("the terminal shows {wanted:?}"), || {
            let shown = self.shown.lock().unwrap();
            if shown.contains(wanted) {
                Ok(())
            } else {
                Err(format!("{:?}", shown.escape_debug().to_string()))
            }
        });
    }

    /// What a line becomes; the line is not carried out.
    #[track_caller]
    fn becomes(&mut self, typed: &str, wanted: &str) {
        self.shown.lock().unwrap().clear();
        self.types(&typed.replace('⇥', "\t"));
        // Back to its beginning (control and A), to make a question of it.
        self.types("\u{1}printf '<%s>' \n");
        let words: String = wanted.split(' ').map(|word| format!("<{word}>")).collect();
        self.until_shows(&words);
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _already_gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[test]
fn shells_complete_what_is_typed() {
    let cluster = Cluster::start();
    cluster.kubectl_with(WEB, ["apply", "--namespace=default", "-f", "-"]);
    cluster.kubectl(["create", "namespace", "other"]);
    cluster.kubectl(["create", "configmap", "faraway", "--namespace=other"]);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: alone}\nspec: {containers: [{name: main, image: x}, {name: side, image: z}]}\n";
    eventually("the pod is made", || {
        let output = cluster.output_with(pod, ["create", "--namespace=default", "-f", "-"]);
        if output.status.success() { Ok(()) } else { Err(crate::cluster::error(&output)) }
    });
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(binary(), home.path().join("bin/kedge")).unwrap();
    // A plugin: whoever may be run, `/bin/true` for one.
    std::os::unix::fs::symlink("/bin/true", home.path().join("bin/kubectl-swab_decks-dry")).unwrap();
    std::fs::write(home.path().join("manifest.yaml"), "").unwrap();
    for shell in [BASH, ZSH, ZSH_LATER, FISH] {
        let mut terminal = Shell::start(shell, &cluster, home.path());
        for (typed, wanted) in LINES {
            terminal.becomes(typed, wanted);
        }
    }
}
