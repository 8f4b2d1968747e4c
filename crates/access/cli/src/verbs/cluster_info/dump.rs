//! `cluster-info dump`: nodes, and of each namespace what happens in it, what runs in it and what that has written; printed, or as files.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::args::{Command, EVERYWHERE, Flag, OUTPUT, Typed, value};
use crate::client::with;
use crate::describe::shown::{items, text};
use crate::error::CliError;
use crate::print::{Output, shown};
use crate::session::Session;

const FLAGS: &[Flag] = &[
    value("output-directory", "DIR", "Where to write files; without it, or -, everything is printed"),
    value("namespaces", "NAMES", "Of these namespaces [default: kube-system and the one we work in]"),
    value("pod-running-timeout", "DURATION", "Taken and ignored"),
];

pub(super) static COMMAND: Command = Command {
    name: "dump",
    about: "Print what is needed to find out what is wrong",
    usage: "[--output-directory=DIR] [-A | --namespaces=NAMES]",
    examples: &["cluster-info dump", "cluster-info dump -A --output-directory=state"],
    flags: &[FLAGS, EVERYWHERE, OUTPUT],
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// What is asked for of each namespace, with the names that files have.
const KINDS: [(&str, &str); 7] = [
    ("events", "events"),
    ("replicationcontrollers", "replication-controllers"),
    ("services", "services"),
    ("daemonsets.apps", "daemonsets"),
    ("deployments.apps", "deployments"),
    ("replicasets.apps", "replicasets"),
    ("pods", "pods"),
];

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let output = match Output::of(typed)? {
        Output::Human { .. } => Output::Json,
        Output::Name => {
            return Err(CliError::usage("list types are not supported by name printing: *v1.NodeList"));
        }
        other => other,
    };
    let dump = Dump {
        session,
        typed,
        output,
        folder: typed
            .text("output-directory")
            .filter(|folder| !matches!(*folder, "" | "-"))
            .map(PathBuf::from),
    };
    let mapping = session.mapping().await?;
    let nodes = session.read(&mapping.find("nodes")?.collection(None)).await?;
    dump.object(Path::new("nodes"), &nodes)?;
    for namespace in namespaces(session, typed).await? {
        let mut pods = Value::Null;
        for (kind, called) in KINDS {
            let list = session.read(&mapping.find(kind)?.collection(Some(&namespace))).await?;
            dump.object(&Path::new(&namespace).join(called), &list)?;
            if kind == "pods" {
                pods = list;
            }
        }
        for pod in items(&pods["items"]) {
            dump.logs(&namespace, pod).await?;
        }
    }
    match &dump.folder {
        Some(folder) => session.screen.line(&format!("Cluster info dumped to {}", folder.display())),
        None => Ok(()),
    }
}

async fn namespaces(session: &Session<'_>, typed: &Typed) -> Result<Vec<String>, CliError> {
    if typed.is("all-namespaces") {
        let list = session.read("/api/v1/namespaces").await?;
        return Ok(items(&list["items"])
            .iter()
            .map(|one| text(&one["metadata"]["name"]).to_owned())
            .collect());
    }
    match typed.list("namespaces") {
        named if named.is_empty() => Ok(vec!["kube-system".to_owned(), session.namespace()?]),
        named => Ok(named),
    }
}

struct Dump<'s> {
    session: &'s Session<'s>,
    typed: &'s Typed,
    output: Output,
    folder: Option<PathBuf>,
}

impl Dump<'_> {
    fn object(&self, name: &Path, object: &Value) -> Result<(), CliError> {
        let end = match self.output {
            Output::Json => "json",
            Output::Yaml => "yaml",
            _ => "txt",
        };
        self.write(&name.with_extension(end), self.output.object(&shown(object, self.typed))?.as_bytes())
    }

    async fn logs(&self, namespace: &str, pod: &Value) -> Result<(), CliError> {
        let name = text(&pod["metadata"]["name"]);
        let mut all = Vec::new();
        for container in
            ["initContainers", "containers"].into_iter().flat_map(|list| items(&pod["spec"][list]))
        {
            let container = text(&container["name"]);
            let what = format!("logs for container {container} of pod {namespace}/{name}");
            all.extend(format!("==== START {what} ====\n").into_bytes());
            all.extend(self.log(namespace, name, container).await?);
            all.extend(format!("==== END {what} ====\n").into_bytes());
        }
        self.write(&Path::new(namespace).join(name).join("logs.txt"), &all)
    }

    /// A log that cannot be read is no reason to stop.
    async fn log(&self, namespace: &str, pod: &str, container: &str) -> Result<Vec<u8>, CliError> {
        let path =
            with(&format!("/api/v1/namespaces/{namespace}/pods/{pod}/log"), [("container", container)]);
        let mut log = Vec::new();
        let read = async {
            let mut lines = self.session.api().await?.follow(&path).await?;
            while let Some(bytes) = lines.bytes().await? {
                log.extend_from_slice(&bytes);
            }
            Ok::<_, CliError>(())
        };
        match read.await {
            Err(CliError::Server(refusal)) => {
                log.extend(format!("Request log error: {}\n", refusal.message).into_bytes());
            }
            done => done?,
        }
        Ok(log)
    }

    fn write(&self, name: &Path, bytes: &[u8]) -> Result<(), CliError> {
        let Some(folder) = &self.folder else { return self.session.screen.bytes(bytes) };
        let path = folder.join(name);
        let wrong = |source| CliError::Io { what: format!("write {}", path.display()), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes)).map_err(wrong)
    }
}
