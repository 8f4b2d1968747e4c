//! `create`: objects from manifests, or from a few flags by one of the generators below it.

mod access;
mod secrets;
mod traffic;
mod workloads;

use http::Method;
use serde_json::{Value, json};

use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, Typed, WRITE, switch, value};
use crate::client::with_all;
use crate::error::CliError;
use crate::input;
use crate::print::Output;
use crate::select;
use crate::session::{DryRun, Session};
use crate::verbs::edit::{self, Aim, Open};

pub(super) const MANAGER: &str = "kubectl-create";
/// Where `apply` keeps what was applied last.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const FLAGS: &[Flag] = &[
    switch("edit", "Open the manifests in your editor before"),
    value("raw", "PATH", "Send the file to this path of the API as it is"),
];

pub(crate) static COMMAND: Command = Command {
    name: "create",
    about: "Create objects from manifests or flags",
    usage: "-f FILE",
    examples: &[
        "create -f web.yaml",
        "create -f web.yaml --edit",
        "create deployment web --image=registry.k8s.io/pause:3.10 --replicas=2",
        "create configmap settings --from-literal=colour=blue",
        "create namespace shop --dry-run=client -o yaml",
    ],
    flags: &[FLAGS, FILES, OUTPUT, WRITE, SELECT],
    children: &[
        &access::CLUSTER_ROLE,
        &access::CLUSTER_ROLE_BINDING,
        &secrets::CONFIG_MAP,
        &workloads::CRON_JOB,
        &workloads::DEPLOYMENT,
        &traffic::INGRESS,
        &workloads::JOB,
        &access::NAMESPACE,
        &workloads::DISRUPTION_BUDGET,
        &workloads::PRIORITY_CLASS,
        &access::QUOTA,
        &access::ROLE,
        &access::ROLE_BINDING,
        &secrets::SECRET,
        &traffic::SERVICE,
        &access::SERVICE_ACCOUNT,
        &access::TOKEN,
    ],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    typed.no_words("Unexpected args")?;
    if !input::named(typed) {
        return Err(typed.wrong(
            "must specify one of -f and -k\nOr what to create: create deployment, create configmap…",
        ));
    }
    if typed.given("raw") && typed.is("edit") {
        return Err(CliError::usage("--raw and --edit are mutually exclusive"));
    }
    if let Some(path) = typed.text("raw") {
        let [file] = typed.all("filename") else {
            return Err(CliError::usage("--raw can only use a single local file or stdin"));
        };
        let text = if file == "-" { input::standard_input()? } else { input::file(file.as_ref())? };
        let answer = session.api().await?.raw(Method::POST, path, text.into()).await?;
        return session.screen.bytes(&answer);
    }
    let output = Output::of(typed)?;
    let mut errors = Vec::new();
    let sourced = input::sourced(typed)?;
    if sourced.is_empty() {
        return Err(CliError::usage("no objects passed to create"));
    }
    for (source, manifest) in sourced {
        if typed.is("edit") {
            errors.extend(edited(session, typed, manifest).await.err().map(|error| error.from(&source)));
            continue;
        }
        if let Err(error) = one(session, typed, &output, manifest, MANAGER, "created").await {
            errors.push(error.from(&source).when("creating", &source));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(CliError::Several(errors)) }
}

/// What the user makes of a manifest is created; one that was left as it is is not.
async fn edited(session: &Session<'_>, typed: &Typed, manifest: Value) -> Result<(), CliError> {
    let open = Open::manifest(session, manifest).await?;
    edit::until_done(session, typed, Aim::Create, vec![open]).await
}

/// What a generator made, under the first word as its name.
async fn generated(session: &Session<'_>, typed: &Typed, object: Value) -> Result<(), CliError> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let sort = object["spec"]["type"].as_str().unwrap_or_default().to_owned();
    let made = one(session, typed, &Output::of(typed)?, object, MANAGER, "created").await;
    made.map(drop).map_err(|error| failed(error, &kind, &sort))
}

/// In the words that kubectl has for each generator; of some it lets the server speak alone.
fn failed(error: CliError, kind: &str, sort: &str) -> CliError {
    let CliError::Server(refusal) = &error else { return error };
    let what = match kind {
        "Namespace" | "Role" | "ClusterRole" => return error,
        "Service" => format!("{sort} service:"),
        "Secret" => "secret".to_owned(),
        "ResourceQuota" => "quota:".to_owned(),
        "PodDisruptionBudget" => "poddisruptionbudgets:".to_owned(),
        kind => format!("{}:", kind.to_lowercase()),
    };
    CliError::unmet(format!("failed to create {what} {}", refusal.message))
}

/// Creates one object and says so.
pub(crate) async fn one(
    session: &Session<'_>,
    typed: &Typed,
    output: &Output,
    mut object: Value,
    manager: &str,
    done: &str,
) -> Result<Value, CliError> {
    let (resource, namespace, _) = select::placed(session, &object).await?;
    if resource.namespaced && (input::named(typed) || typed.given("namespace")) {
        object["metadata"]["namespace"] = namespace.clone().into();
    }
    if typed.is("save-config") {
        remember(&mut object);
    }
    let made = match session.dry_run()? {
        DryRun::Client => object,
        DryRun::None | DryRun::Server => {
            let path = with_all(&resource.collection(Some(&namespace)), &session.writing(manager)?);
            session.api().await?.post(&path, &object).await?
        }
    };
    output.done(session, resource, &made, done)?;
    Ok(made)
}

/// Keeps the object as the user said it in its annotation.
pub(crate) fn remember(object: &mut Value) {
    let mut said = object.clone();
    if let Some(annotations) = said["metadata"]["annotations"].as_object_mut() {
        annotations.remove(LAST_APPLIED);
    }
    if said["metadata"]["annotations"].is_null() {
        said["metadata"]["annotations"] = json!({});
    }
    crate::change::object_at(&mut object["metadata"], "annotations")[LAST_APPLIED] =
        format!("{said}\n").into();
}

/// The first word, which names what is created.
fn name(typed: &Typed) -> Result<&str, CliError> {
    // Behind `--` is a command, not a name.
    match (&typed.words[..], typed.dash.unwrap_or(typed.words.len())) {
        ([name, ..], 1) => Ok(name),
        (_, number) => Err(typed.wrong(format!("exactly one NAME is required, got {number}"))),
    }
}

fn required<'t>(typed: &'t Typed, flag: &str) -> Result<&'t str, CliError> {
    typed
        .text(flag)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| CliError::usage(format!("required flag(s) {flag:?} not set")))
}
