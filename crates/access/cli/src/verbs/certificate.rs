//! `certificate`: approves and denies requests for certificates.

use serde_json::{Value, json};

use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, Typed, switch};
use crate::error::CliError;
use crate::print::Output;
use crate::select;
use crate::session::Session;

const FLAGS: &[Flag] = &[switch("force", "Also what was decided already")];

pub(crate) static COMMAND: Command = Command {
    name: "certificate",
    about: "Approve or deny requests for certificates",
    children: &[&APPROVE, &DENY],
    part: Part::Cluster,
    ..Command::EMPTY
};

static APPROVE: Command = Command {
    name: "approve",
    about: "Approve requests for certificates",
    usage: "(-f FILE | NAME…)",
    flags: &[FLAGS, FILES, OUTPUT, SELECT],
    run: Some(|session, typed| Box::pin(decide(session, typed, "Approved"))),
    ..Command::EMPTY
};

static DENY: Command = Command {
    name: "deny",
    about: "Deny requests for certificates",
    usage: "(-f FILE | NAME…)",
    flags: &[FLAGS, FILES, OUTPUT, SELECT],
    run: Some(|session, typed| Box::pin(decide(session, typed, "Denied"))),
    ..Command::EMPTY
};

async fn decide(session: &Session<'_>, typed: &Typed, decision: &str) -> Result<(), CliError> {
    let mut words = vec!["certificatesigningrequests".to_owned()];
    words.extend(typed.words.iter().map(|word| word.rsplit('/').next().unwrap_or_default().to_owned()));
    let files = crate::input::named(typed);
    if typed.words.is_empty() && !files {
        return Err(CliError::usage("one or more CSRs must be specified as <name> or -f <filename>"));
    }
    if !typed.words.is_empty() && files {
        return Err(CliError::usage("resource/name arguments cannot be provided when a path is specified"));
    }
    let words = if files { Vec::new() } else { words };
    let output = Output::of(typed)?;
    let (done, reason) = match decision {
        "Approved" => ("approved", "KubectlApprove"),
        _ => ("denied", "KubectlDeny"),
    };
    for found in select::found(session, typed, &words).await? {
        let mut object = found.object.clone();
        let mut conditions: Vec<Value> =
            object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let decided = conditions.iter().any(|condition| condition["type"] == decision);
        if decided && !typed.is("force") {
            output.done(session, found.resource, &object, done)?;
            continue;
        }
        conditions.retain(|condition| condition["type"] != decision);
        conditions.push(json!({
            "type": decision, "status": "True", "reason": reason,
            "message": format!("This CSR was {done} by kubectl certificate {}.", if done == "approved" { "approve" } else { "deny" }),
            "lastUpdateTime": kedge_kinds::time::seconds(session.clock.now()),
        }));
        object["status"]["conditions"] = conditions.into();
        let answer = session.api().await?.put(&format!("{}/approval", found.path()), &object).await?;
        output.done(session, found.resource, &answer, done)?;
    }
    Ok(())
}
