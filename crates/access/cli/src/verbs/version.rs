//! `version`: ours and the server's.

use serde_json::{Value, json};

use crate::args::{Command, Flag, OUTPUT, Part, Typed, switch};
use crate::error::CliError;
use crate::print::Output;
use crate::session::Session;

const FLAGS: &[Flag] =
    &[switch("client", "Ours alone, without asking the server"), switch("short", "Taken and ignored")];

pub(crate) static COMMAND: Command = Command {
    name: "version",
    about: "Show this program's version and the server's",
    flags: &[FLAGS, OUTPUT],
    part: Part::Setup,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let own = session.setting.version;
    typed.no_words("extra arguments")?;
    if typed.text("output").is_some_and(|form| !["", "json", "yaml"].contains(&form)) {
        return Err(CliError::usage("--output must be 'yaml' or 'json'"));
    }
    let output = Output::of(typed)?;
    let mut told = json!({"clientVersion": {"gitVersion": format!("v{own}"), "platform": "linux"}});
    let server = match typed.is("client") {
        true => Ok(Value::Null),
        false => session.read("/version").await,
    };
    if let Ok(server) = &server
        && !server.is_null()
    {
        told["serverVersion"] = server.clone();
    }
    match output {
        Output::Human { .. } => {
            session.screen.line(&format!("Client Version: v{own}"))?;
            if let Some(version) = told["serverVersion"]["gitVersion"].as_str() {
                session.screen.line(&format!("Server Version: {version}"))?;
            }
        }
        other => session.screen.say(&other.object(&told)?)?,
    }
    server.map(drop)
}
