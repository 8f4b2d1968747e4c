//! What can come next at a place: flags, their values, kinds, and what the server or the kubeconfig has of a kind. Nobody wants to read
//! errors while typing: whoever cannot be asked has nothing to offer.

use serde_json::Value;

use super::place::{Place, Wants};
use crate::args::{Flag, Part, Takes};
use crate::client::kubeconfig;
use crate::error::CliError;
use crate::mapping::Resource;
use crate::session::Session;
use crate::verbs::{explain, plugin};

/// Only names are asked for, however much there is of each.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// A word that can come next, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub word: String,
    /// May be empty.
    pub about: String,
}

impl Candidate {
    pub fn of(word: impl Into<String>, about: impl Into<String>) -> Self {
        Self { word: word.into(), about: about.into() }
    }

    pub(super) fn line(&self) -> String {
        match self.about.is_empty() {
            true => self.word.clone(),
            false => format!("{}\t{}", self.word, self.about),
        }
    }
}

/// What can come next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Next {
    pub words: Vec<Candidate>,
    /// It may be the name of a file, too.
    pub files: bool,
}

impl Next {
    fn files() -> Self {
        Self { words: Vec::new(), files: true }
    }

    fn bare(words: impl IntoIterator<Item = String>) -> Self {
        Self { words: words.into_iter().map(|word| Candidate::of(word, "")).collect(), files: false }
    }

    fn some(words: &[&str]) -> Self {
        Self::bare(words.iter().map(|word| (*word).to_owned()))
    }

    /// Each behind what is typed already.
    fn behind(mut self, before: &str) -> Self {
        self.words.iter_mut().for_each(|candidate| candidate.word.insert_str(0, before));
        self
    }

    fn before(mut self, end: &str) -> Self {
        self.words.iter_mut().for_each(|candidate| candidate.word.push_str(end));
        self
    }

    fn and(mut self, more: Self) -> Self {
        self.words.extend(more.words);
        self.files |= more.files;
        self
    }
}

pub(super) async fn of(session: &Session<'_>, place: &Place<'_>, typing: &str) -> Next {
    match &place.wants {
        Wants::Anything => Next::files(),
        Wants::Value(flag) => values(session, place, flag, typing).await,
        Wants::Word if typing.starts_with("--") && typing.contains('=') => {
            let (name, begun) = typing.split_once('=').unwrap_or((typing, ""));
            match place.long(name.trim_start_matches('-')) {
                Some(flag) => values(session, place, flag, begun).await.behind(&format!("{name}=")),
                None => Next::default(),
            }
        }
        Wants::Word if typing.starts_with('-') => flags(place),
        Wants::Word if !place.command.children.is_empty() && place.words.is_empty() => {
            let shown = place.command.children.iter().filter(|child| child.part != Part::Hidden);
            let children = shown.map(|child| Candidate::of(child.name, child.about)).collect();
            let mut children = Next { words: children, files: false };
            if place.path.is_empty() {
                let told = |word: String| Candidate::of(word, "A plugin on the path");
                children.words.extend(plugin::words().into_iter().map(told));
            }
            match place.command.run {
                Some(_) => children.and(words(session, place, typing).await),
                None => children,
            }
        }
        Wants::Word => words(session, place, typing).await,
    }
}

fn flags(place: &Place<'_>) -> Next {
    let mut found = Vec::new();
    for flag in place.command.every_flag() {
        found.push(Candidate::of(format!("--{}", flag.long), flag.about));
        if matches!(flag.takes, Takes::Optional(_)) {
            found.push(Candidate::of(format!("--{}=", flag.long), flag.about));
        }
    }
    Next { words: found, files: false }
}

/// Values that a flag can have, as far as they are known.
async fn values(session: &Session<'_>, place: &Place<'_>, flag: &Flag, typing: &str) -> Next {
    let path = place.path.join(" ");
    match (flag.long, &*path) {
        ("namespace", _) => names(session, "namespaces").await,
        ("context" | "cluster" | "user", _) => configured(session, flag.long),
        ("container", _) => containers(session, place.words.first().copied().unwrap_or_default()).await,
        ("output", "kustomize") => Next::files(),
        ("load-restrictor", _) => Next::some(&["LoadRestrictionsRootOnly", "LoadRestrictionsNone"]),
        ("output", "explain") => Next::some(&["plaintext", "plaintext-openapiv2"]),
        ("output", "wait") => Next::some(&["name"]),
        ("output", "version") => Next::some(&["json", "yaml"]),
        ("output", "api-resources") => Next::some(&["name", "wide"]),
        ("output", _) => Next::some(&[
            "json",
            "yaml",
            "kyaml",
            "wide",
            "name",
            "jsonpath=",
            "jsonpath-as-json=",
            "jsonpath-file=",
            "go-template=",
            "go-template-file=",
            "custom-columns=",
            "custom-columns-file=",
        ]),
        ("dry-run", _) => Next::some(&["none", "client", "server"]),
        ("validate", _) => Next::some(&["strict", "warn", "ignore"]),
        ("cascade", _) => Next::some(&["background", "foreground", "orphan"]),
        ("restart", _) => Next::some(&["Always", "OnFailure", "Never"]),
        ("image-pull-policy", _) => Next::some(&["Always", "IfNotPresent", "Never"]),
        ("type", "patch") => Next::some(&["json", "merge", "strategic"]),
        ("type", "expose") => Next::some(&["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]),
        ("for", "wait") => Next::some(&["condition=", "jsonpath=", "create", "delete"]),
        ("for", "events") => objects(session, place, typing, None).await,
        ("subresource", _) => Next::some(&["status", "scale", "resize"]),
        ("profile", _) => {
            Next::some(&["general", "baseline", "restricted", "netadmin", "sysadmin", "legacy"])
        }
        ("clusterrole", _) => names(session, "clusterroles").await,
        ("role", _) => names(session, "roles").await,
        ("serviceaccount", "create token") => names(session, "serviceaccounts").await,
        ("types", "events") => Next::some(&["Normal", "Warning"]),
        _ => match flag.takes {
            Takes::Value(what) if ["FILE", "DIR", "PATH"].iter().any(|file| what.contains(file)) => {
                Next::files()
            }
            _ => Next::default(),
        },
    }
}

/// What a verb's words are. Kinds are those that it can do something with.
async fn words(session: &Session<'_>, place: &Place<'_>, typing: &str) -> Next {
    const SCALED: &[&str] = &["deployments", "replicasets", "statefulsets", "replicationcontrollers"];
    const ROLLED: &[&str] = &["deployments", "daemonsets", "statefulsets"];
    const EXPOSED: &[&str] = &["pods", "services", "deployments", "replicasets", "replicationcontrollers"];
    const WITH_PODS: &[&str] =
        &["pods", "deployments", "daemonsets", "statefulsets", "replicasets", "jobs", "cronjobs"];
    let first = place.words.first().copied();
    match &place.path[..] {
        ["get" | "describe" | "delete" | "edit" | "patch" | "label" | "annotate" | "wait"]
        | ["apply", "view-last-applied" | "edit-last-applied"] => objects(session, place, typing, None).await,
        ["rollout", _] => objects(session, place, typing, Some(ROLLED)).await,
        ["scale" | "autoscale"] => objects(session, place, typing, Some(SCALED)).await,
        ["expose"] => objects(session, place, typing, Some(EXPOSED)).await,
        ["set", "selector"] => objects(session, place, typing, Some(&["services"])).await,
        ["set", "subject"] => {
            objects(session, place, typing, Some(&["rolebindings", "clusterrolebindings"])).await
        }
        ["set", _] => objects(session, place, typing, Some(WITH_PODS)).await,
        ["taint"] => objects(session, place, typing, Some(&["nodes"])).await,
        ["logs" | "exec" | "attach" | "debug" | "port-forward"] => match first {
            None if typing.contains('/') => objects(session, place, typing, None).await,
            None if place.path == ["debug"] => {
                names(session, "pods").await.and(Next::some(&["pod/", "node/"]))
            }
            None => {
                let others = ["deployment/", "job/", "pod/", "replicaset/", "service/", "statefulset/"];
                names(session, "pods").await.and(Next::some(&others))
            }
            Some(pod) if place.path == ["logs"] && place.words.len() == 1 => containers(session, pod).await,
            Some(_) => Next::default(),
        },
        ["cp"] => names(session, "pods").await.before(":").and(Next::files()),
        ["cordon" | "uncordon" | "drain"] | ["top", "node"] => left(place, names(session, "nodes").await),
        ["top", "pod"] if first.is_none() => names(session, "pods").await,
        ["certificate", _] => left(place, names(session, "certificatesigningrequests").await),
        ["create", "token"] if first.is_none() => names(session, "serviceaccounts").await,
        ["config", "use-context" | "delete-context" | "rename-context" | "get-contexts" | "set-context"]
            if first.is_none() =>
        {
            configured(session, "context")
        }
        ["config", "delete-cluster" | "set-cluster"] if first.is_none() => configured(session, "cluster"),
        ["config", "delete-user" | "set-credentials"] if first.is_none() => configured(session, "user"),
        ["explain"] if first.is_none() => match typing.rsplit_once('.') {
            Some((before, _)) => {
                let fields = explain::fields(session, before).await.unwrap_or_default();
                Next::bare(fields).behind(&format!("{before}."))
            }
            None => kinds(session, None).await,
        },
        ["auth", "can-i"] => match place.words.len() {
            0 => Next::some(&[
                "create",
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "update",
                "watch",
                "*",
            ]),
            1 => kinds(session, None).await,
            _ => Next::default(),
        },
        ["kustomize"] if first.is_none() => Next::files(),
        ["completion"] if first.is_none() => Next::some(&["bash", "fish", "zsh"]),
        _ => Next::default(),
    }
}

/// Kinds, several with commas between them, and behind a kind the names of what there is.
async fn objects(session: &Session<'_>, place: &Place<'_>, typing: &str, only: Option<&[&str]>) -> Next {
    // A flag's value stands alone, whatever the words before it are.
    let first = place.words.first().copied().filter(|_| matches!(place.wants, Wants::Word));
    if let Some((kind, _)) = typing.split_once('/') {
        return left(place, names(session, kind).await.behind(&format!("{kind}/")));
    }
    match first {
        Some(word) if word.contains('/') => kinds(session, only).await.before("/"),
        Some(kind) => left(place, names(session, kind).await),
        None => match typing.rsplit_once(',') {
            Some((before, _)) => kinds(session, only).await.behind(&format!("{before},")),
            None => kinds(session, only).await,
        },
    }
}

/// What was typed already is not offered again.
fn left(place: &Place<'_>, mut next: Next) -> Next {
    next.words.retain(|candidate| !place.words.contains(&&*candidate.word));
    next
}

async fn kinds(session: &Session<'_>, only: Option<&[&str]>) -> Next {
    let Ok(mapping) = session.mapping().await else { return Next::default() };
    let wanted = |known: &&Resource| match only {
        Some(only) => only.contains(&&*known.plural),
        None => known.preferred && known.can("get"),
    };
    let found = mapping.resources.iter().filter(wanted).map(|known| {
        // Where two kinds have one name, the second needs its group.
        let first = mapping.matching(&known.plural) == Some(known);
        let name = if first { known.plural.clone() } else { known.qualified() };
        Candidate::of(name, known.short_names.join(", "))
    });
    Next { words: found.collect(), files: false }
}

async fn names(session: &Session<'_>, kind: &str) -> Next {
    let read = async {
        let resource = session.mapping().await?.find(kind)?;
        let path = resource.collection(Some(&session.namespace()?));
        session.api().await?.get_as(&path, METADATA).await
    };
    let Ok::<_, CliError>(list) = read.await else { return Next::default() };
    let items = list["items"].as_array().into_iter().flatten();
    Next::bare(items.filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned)))
}

async fn containers(session: &Session<'_>, pod: &str) -> Next {
    let name = pod.strip_prefix("pod/").or(pod.strip_prefix("pods/")).unwrap_or(pod);
    let read = async {
        let path = session.mapping().await?.find("pods")?.path(&session.namespace()?, name);
        session.read(&path).await
    };
    let Ok::<_, CliError>(pod) = read.await else { return Next::default() };
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let containers = lists.into_iter().flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
    let told = |container: &Value| {
        let text = |key: &str| container[key].as_str().unwrap_or_default().to_owned();
        Candidate::of(text("name"), text("image"))
    };
    Next { words: containers.map(told).collect(), files: false }
}

/// What the kubeconfig has of this.
fn configured(session: &Session<'_>, what: &str) -> Next {
    let Ok(Some(config)) = kubeconfig::merged(session.typed, session.setting) else { return Next::default() };
    match what {
        "context" => Next::bare(config.contexts.into_iter().map(|context| context.name)),
        "cluster" => Next::bare(config.clusters.into_iter().map(|cluster| cluster.name)),
        _ => Next::bare(config.auth_infos.into_iter().map(|user| user.name)),
    }
}
