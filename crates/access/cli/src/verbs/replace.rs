//! `replace`: puts manifests in the place of objects that are there.

use http::Method;
use serde_json::Value;

use crate::args::{Command, FILES, Flag, OUTPUT, Part, TIMEOUT, Typed, WRITE, switch, value};
use crate::client::with_all;
use crate::error::CliError;
use crate::input;
use crate::print::Output;
use crate::select;
use crate::session::{DryRun, Session};
use crate::verbs::create::remember;

const MANAGER: &str = "kubectl-replace";

const FLAGS: &[Flag] = &[
    switch("force", "Delete what is there and create it again"),
    value("grace-period", "SECONDS", "For deletions"),
    value("cascade", "MODE", "For deletions: background, foreground or orphan"),
    switch("wait", "Taken: deletions are always waited for"),
    value("subresource", "NAME", "The part that is replaced: status, scale"),
    value("raw", "PATH", "Put the file at this path of the API as it is"),
];

pub(crate) static COMMAND: Command = Command {
    name: "replace",
    about: "Put manifests in the place of objects",
    usage: "-f FILE",
    examples: &["replace -f web.yaml", "replace --force -f web.yaml"],
    flags: &[FLAGS, FILES, OUTPUT, WRITE, TIMEOUT],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if !input::named(typed) {
        return Err(CliError::usage("must specify one of -f and -k"));
    }
    for flag in ["grace-period", "timeout"] {
        if typed.given(flag) && !typed.is("force") {
            return Err(CliError::usage(format!("--{flag} must have --force specified")));
        }
    }
    if let (Some(path), [file]) = (typed.text("raw"), typed.all("filename")) {
        let text = if file == "-" { input::standard_input()? } else { input::file(file.as_ref())? };
        let answer = session.api().await?.raw(Method::PUT, path, text.into()).await?;
        return session.screen.bytes(&answer);
    }
    let output = Output::of(typed)?;
    for (source, manifest) in input::sourced(typed)? {
        let done = one(session, typed, &output, manifest).await;
        done.map_err(|error| error.from(&source).when("replacing", &source))?;
    }
    Ok(())
}

async fn one(
    session: &Session<'_>,
    typed: &Typed,
    output: &Output,
    mut manifest: Value,
) -> Result<(), CliError> {
    let (resource, namespace, name) = select::placed(session, &manifest).await?;
    if resource.namespaced {
        manifest["metadata"]["namespace"] = namespace.clone().into();
    }
    if typed.is("save-config") {
        remember(&mut manifest);
    }
    let mut path = resource.path(&namespace, &name);
    let dry = session.dry_run()?;
    if typed.is("force") && dry == DryRun::None {
        match crate::verbs::delete::and_wait(session, typed, &path).await {
            Ok(()) => session.screen.line(&format!("{} {name:?} deleted", resource.told()))?,
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        if let Some(metadata) = manifest["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
            metadata.remove("uid");
        }
        let path = with_all(&resource.collection(Some(&namespace)), &session.writing(MANAGER)?);
        let made = session.api().await?.post(&path, &manifest).await?;
        return output.done(session, resource, &made, "replaced");
    }
    if let Some(part) = typed.text("subresource") {
        path = format!("{path}/{part}");
    }
    let object = match dry {
        DryRun::Client => manifest,
        _ => session.api().await?.put(&with_all(&path, &session.writing(MANAGER)?), &manifest).await?,
    };
    output.done(session, resource, &object, "replaced")
}
