//! `apply`: makes objects what manifests say, whether or not they are there; by a three-way merge with what was applied last, or by
//! server-side apply. `--prune` takes away what an earlier apply of the same set made and this one no longer has.

mod last_applied;
mod prune;

use serde_json::Value;

use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, TIMEOUT, Typed, WRITE, switch, value};
use crate::client::{APPLY, MERGE, with_all};
use crate::error::CliError;
use crate::input;
use crate::mapping::Resource;
use crate::merge::{difference, has_list, three_way};
use crate::print::Output;
use crate::select;
use crate::session::{DryRun, Session};
use crate::verbs::create::{LAST_APPLIED, remember};

/// How often somebody else may be faster.
const TRIES: usize = 5;
pub(super) const MANAGER: &str = "kubectl-client-side-apply";
const SERVER_SIDE_MANAGER: &str = "kubectl";

pub(super) const FLAGS: &[Flag] = &[
    switch("server-side", "Let the server merge, field by field"),
    switch("force-conflicts", "Take fields from whoever else has them (server side)"),
    switch("prune", "Delete what is no longer in the manifests"),
    value("applyset", "[KIND/]NAME", "The object that remembers what was applied, for --prune"),
    value(
        "prune-allowlist",
        "GROUP/VERSION/KIND",
        "Kinds to prune, for --prune without --applyset; can be repeated",
    ),
    switch("all", "With --prune: everything that was ever applied in the namespace"),
    switch("overwrite", "Taken: what the manifest says counts"),
    switch("force", "Delete and create again what cannot be changed"),
    switch("wait", "Wait for what is deleted"),
    switch("openapi-patch", "Taken: schemas are always used"),
    value("cascade", "MODE", "For deletions: background, foreground or orphan"),
    value("grace-period", "SECONDS", "For deletions"),
];

pub(crate) static COMMAND: Command = Command {
    name: "apply",
    about: "Make objects what manifests say",
    usage: "-f FILE",
    examples: &[
        "apply -f web.yaml",
        "apply -f manifests/ -R --server-side",
        "apply -f shop/ --prune --applyset=shop",
    ],
    flags: &[FLAGS, FILES, OUTPUT, WRITE, SELECT, TIMEOUT],
    children: &[&last_applied::VIEW, &last_applied::SET, &last_applied::EDIT],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    typed.no_words("Unexpected args")?;
    if !input::named(typed) {
        return Err(CliError::usage("must specify one of -f and -k"));
    }
    if typed.is("force") && typed.is("server-side") {
        return Err(CliError::usage("--force cannot be used with --server-side"));
    }
    if typed.is("force") && session.dry_run()? == DryRun::Server {
        return Err(CliError::usage("--dry-run=server cannot be used with --force"));
    }
    // What is unchanged is not written, and a wrong flag is told all the same.
    session.writing(MANAGER)?;
    if typed.is("force-conflicts") && !typed.is("server-side") {
        return Err(CliError::usage("--force-conflicts only works with --server-side"));
    }
    if typed.is("server-side") && session.dry_run()? == DryRun::Client {
        return Err(CliError::usage(
            "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)",
        ));
    }
    let output = Output::of(typed)?;
    let mut sourced = input::sourced(typed)?;
    if sourced.is_empty() {
        return Err(CliError::usage("no objects passed to apply"));
    }
    if let Some(selector) = typed.text("selector").filter(|_| !typed.given("applyset")) {
        let selector = kedge_kinds::LabelSelector::parse(selector)
            .map_err(|error| CliError::usage(format!("unable to parse selector: {error}")))?;
        sourced.retain(|(_, manifest)| selector.matches_object(manifest));
    }
    let (sources, mut manifests): (Vec<String>, Vec<Value>) = sourced.into_iter().unzip();
    let set = prune::Set::begin(session, typed, &mut manifests).await?;
    let mut errors = Vec::new();
    let mut applied = Vec::new();
    for (source, manifest) in sources.iter().zip(manifests) {
        match one(session, typed, &output, manifest, source).await {
            Ok(object) => applied.push(object),
            Err(error) => errors.push(error.from(source)),
        }
    }
    if !errors.is_empty() {
        return Err(CliError::Several(errors));
    }
    set.end(session, typed, &output, &applied).await
}

async fn one(
    session: &Session<'_>,
    typed: &Typed,
    output: &Output,
    mut manifest: Value,
    source: &str,
) -> Result<Value, CliError> {
    let (resource, namespace, name) = select::placed(session, &manifest).await?;
    if name.is_empty() {
        let made = manifest["metadata"]["generateName"].as_str().unwrap_or_default();
        return Err(match made.is_empty() {
            true => CliError::unmet(format!(
                "resource name may not be empty: the manifest of a {} has no metadata.name",
                resource.told()
            )),
            false => CliError::unmet(format!("from {made}: cannot use generate name with apply")),
        });
    }
    if resource.namespaced {
        manifest["metadata"]["namespace"] = namespace.clone().into();
    }
    let path = resource.path(&namespace, &name);
    let (object, done) = match typed.is("server-side") {
        true => {
            let applied = server_side(session, typed, &path, &manifest).await;
            (applied.map_err(|error| error.when("patching", source))?, "serverside-applied")
        }
        false => {
            let applied = client_side(session, typed, resource, &namespace, &path, manifest).await;
            let (object, done) = applied.map_err(|(doing, error)| error.when(doing, source))?;
            (object, done)
        }
    };
    output.done(session, resource, &object, done)?;
    Ok(object)
}

async fn server_side(
    session: &Session<'_>,
    typed: &Typed,
    path: &str,
    manifest: &Value,
) -> Result<Value, CliError> {
    let mut parameters = session.writing(SERVER_SIDE_MANAGER)?;
    parameters.push(("force", typed.is("force-conflicts").to_string()));
    let done = session.api().await?.patch(&with_all(path, &parameters), APPLY, manifest).await;
    match done {
        Err(CliError::Server(refusal)) if refusal.is("Conflict") => Err(CliError::unmet(format!(
            "{}\nPlease review the fields above--they currently have other managers. Here\nare the ways you can resolve this \
             warning:\n* To take them over, apply again with --force-conflicts.\n* To leave them to their managers, take them out of the \
             manifest.\n* To share them, give them the values they have there.",
            refusal.message
        ))),
        other => other,
    }
}

async fn client_side(
    session: &Session<'_>,
    typed: &Typed,
    resource: &Resource,
    namespace: &str,
    path: &str,
    mut manifest: Value,
) -> Result<(Value, &'static str), (&'static str, CliError)> {
    let creating = |error| ("creating", error);
    let patching = |error| ("patching", error);
    let retrieving = |error| ("retrieving what is there for", error);
    let live = session.read(path).await;
    remember(&mut manifest);
    let mut live = match live {
        Ok(live) => live,
        Err(error) if error.is_not_found() => {
            let made = create(session, resource, namespace, &manifest).await.map_err(creating)?;
            return Ok((made, "created"));
        }
        Err(error) => return Err(retrieving(error)),
    };
    warn_unless_ours(session, resource, &live);
    for _ in 0..TRIES {
        let merged = merged(resource, &manifest, &live);
        let Some(mut patch) = difference(&live, &merged) else { return Ok((live, "unchanged")) };
        if session.dry_run().map_err(patching)? == DryRun::Client {
            return Ok((merged, "configured"));
        }
        if has_list(&patch) {
            patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        }
        let sent = with_all(path, &session.writing(MANAGER).map_err(patching)?);
        match session.api().await.map_err(patching)?.patch(&sent, MERGE, &patch).await {
            Ok(object) => return Ok((object, "configured")),
            Err(error) if error.is_conflict() => live = session.read(path).await.map_err(retrieving)?,
            Err(CliError::Server(refusal)) if refusal.is("Invalid") && typed.is("force") => {
                return again(session, typed, resource, namespace, path, &manifest).await.map_err(creating);
            }
            Err(error) => return Err(patching(error)),
        }
    }
    Err(patching(CliError::unmet(format!("{path} changes faster than it can be written; try again"))))
}

/// What the object becomes.
pub(super) fn merged(resource: &Resource, manifest: &Value, live: &Value) -> Value {
    let before: Value = live["metadata"]["annotations"][LAST_APPLIED]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or(Value::Null);
    let schema = kedge_kinds::builtin().schema_of(&resource.group, &resource.version, &resource.kind);
    let mut merged = three_way(&before, manifest, live, schema);
    // What the server keeps is not the manifest's to say.
    for key in ["resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"] {
        if manifest["metadata"][key].is_null() || key != "resourceVersion" {
            merged["metadata"][key] = live["metadata"][key].clone();
            if live["metadata"][key].is_null()
                && let Some(metadata) = merged["metadata"].as_object_mut()
            {
                metadata.remove(key);
            }
        }
    }
    merged
}

async fn create(
    session: &Session<'_>,
    resource: &Resource,
    namespace: &str,
    manifest: &Value,
) -> Result<Value, CliError> {
    if session.dry_run()? == DryRun::Client {
        return Ok(manifest.clone());
    }
    let path = with_all(&resource.collection(Some(namespace)), &session.writing(MANAGER)?);
    session.api().await?.post(&path, manifest).await
}

/// Deletes and creates again.
async fn again(
    session: &Session<'_>,
    typed: &Typed,
    resource: &Resource,
    namespace: &str,
    path: &str,
    manifest: &Value,
) -> Result<(Value, &'static str), CliError> {
    crate::verbs::delete::and_wait(session, typed, path).await?;
    Ok((create(session, resource, namespace, manifest).await?, "configured"))
}

fn warn_unless_ours(session: &Session<'_>, resource: &Resource, live: &Value) {
    if live["metadata"]["annotations"][LAST_APPLIED].is_null() {
        session.screen.warn(&format!(
            "Warning: resource {}/{} is missing the {LAST_APPLIED} annotation which is required by {} apply. {} apply should only be \
             used on resources created declaratively by either {} create --save-config or {} apply. The missing annotation will be \
             patched automatically.",
            resource.plural,
            live["metadata"]["name"].as_str().unwrap_or_default(),
            session.program,
            session.program,
            session.program,
            session.program,
        ));
    }
}
