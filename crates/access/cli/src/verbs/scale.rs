//! `scale`: how many there are to be, of anything that has a scale.

use std::time::Duration;

use serde_json::json;

use crate::args::{ALL, Command, FILES, Flag, OUTPUT, Part, SELECT, TIMEOUT, Typed, optional, value};
use crate::client::{MERGE, with_all};
use crate::error::CliError;
use crate::print::Output;
use crate::progress::Progress;
use crate::select::{self, Found};
use crate::session::{DryRun, Session};

const FLAGS: &[Flag] = &[
    value("replicas", "NUMBER", "How many"),
    value("current-replicas", "NUMBER", "Only if there are this many now"),
    value("resource-version", "VERSION", "Only if it is at this version"),
    optional("dry-run", "client", "none, client or server"),
];

pub(crate) static COMMAND: Command = Command {
    name: "scale",
    about: "Set how many pods a workload has",
    usage: "--replicas=NUMBER (-f FILE | KIND NAME…)",
    examples: &["scale deployment web --replicas=3", "scale --current-replicas=3 --replicas=2 rs/web"],
    flags: &[FLAGS, FILES, OUTPUT, SELECT, ALL, TIMEOUT],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if !typed.given("replicas") {
        return Err(typed.wrong("required flag(s) \"replicas\" not set\nAs in: --replicas=3"));
    }
    let wanted = typed.number("replicas")?.filter(|wanted| *wanted >= 0);
    let wanted = wanted.ok_or_else(|| {
        CliError::usage("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0")
    })?;
    let output = Output::of(typed)?;
    let found = select::found(session, typed, &typed.words).await?;
    if found.is_empty() {
        return Err(CliError::unmet("no objects passed to scale"));
    }
    for one in found {
        check(typed, &one)?;
        if !one.resource.has("scale") {
            return Err(CliError::unmet(format!("{} cannot be scaled", one.told())));
        }
        if session.dry_run()? != DryRun::Client {
            let path = with_all(&format!("{}/scale", one.path()), &session.writing("kubectl-scale")?);
            session.api().await?.patch(&path, MERGE, &json!({"spec": {"replicas": wanted}})).await?;
        }
        if let Some(most) = typed.duration("timeout")?.filter(|most| !most.is_zero()) {
            until(session, &one, wanted, most).await?;
        }
        output.done(session, one.resource, &one.object, "scaled")?;
    }
    Ok(())
}

fn check(typed: &Typed, one: &Found<'_>) -> Result<(), CliError> {
    let now = one.object["spec"]["replicas"].as_i64().unwrap_or(1);
    if let Some(expected) =
        typed.number("current-replicas")?.filter(|expected| *expected >= 0 && *expected != now)
    {
        return Err(CliError::unmet(format!("Expected replicas to be {expected}, was {now}")));
    }
    let version = one.object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    match typed.text("resource-version").filter(|expected| !expected.is_empty() && *expected != version) {
        Some(expected) => {
            Err(CliError::unmet(format!("Expected resource version to be {expected}, was {version}")))
        }
        None => Ok(()),
    }
}

async fn until(session: &Session<'_>, one: &Found<'_>, wanted: i64, most: Duration) -> Result<(), CliError> {
    let mut progress =
        Progress::new(session.screen, format!("waiting until {} has {wanted} replicas", one.told()));
    let reached = async {
        loop {
            let scale = session.read(&format!("{}/scale", one.path())).await?;
            if scale["status"]["replicas"].as_i64() == Some(wanted) {
                return Ok(());
            }
            progress.tick().await;
        }
    };
    let done =
        tokio::time::timeout(most, reached).await.unwrap_or_else(|_| Err(CliError::Timeout(one.told())));
    progress.end();
    done
}
