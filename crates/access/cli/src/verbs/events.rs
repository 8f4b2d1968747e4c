//! `events`: what happened lately, the newest last; and what happens from now on.

use serde_json::{Value, json};

use crate::args::{Command, EVERYWHERE, Flag, OUTPUT, Part, Typed, switch, value};
use crate::client::{JSON, with};
use crate::describe::events::age;
use crate::describe::shown::{Now, local_zone, parse, text};
use crate::error::CliError;
use crate::print::table::{Widths, aligned};
use crate::print::{self, Output};
use crate::select;
use crate::session::Session;

const FLAGS: &[Flag] = &[
    value("for", "KIND/NAME", "Only what happened to this object"),
    value("types", "TYPES", "Only these: Normal, Warning"),
    switch("watch", "Go on with what happens from now on").or('w'),
    switch("no-headers", "Leave the headings out"),
    value("chunk-size", "NUMBER", "Taken and ignored: everything is asked for at once"),
];

pub(crate) static COMMAND: Command = Command {
    name: "events",
    about: "Show what happened lately",
    examples: &["events", "events -A --types=Warning", "events --for pod/web-1 --watch"],
    flags: &[FLAGS, OUTPUT, EVERYWHERE],
    part: Part::Look,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let types = typed.list("types");
    if types.iter().any(|kind| !["normal", "warning"].contains(&kind.to_lowercase().as_str())) {
        return Err(CliError::usage("valid --types are Normal or Warning"));
    }
    let everywhere = typed.is("all-namespaces");
    let namespace = session.namespace()?;
    let path = match everywhere {
        true => "/api/v1/events".to_owned(),
        false => format!("/api/v1/namespaces/{namespace}/events"),
    };
    let path = with(&path, [("fieldSelector", &*about(session, typed).await?)]);
    let mut list = session.read(&path).await?;
    let revision = text(&list["metadata"]["resourceVersion"]).to_owned();
    let Value::Array(mut events) = list["items"].take() else { return Ok(()) };
    events.retain(|event| is_wanted(event, &types));
    events.sort_by_key(last_seen);
    let output = Output::of(typed)?;
    let mut shown = Shown { everywhere, headings: !typed.is("no-headers"), widths: Widths::default() };
    if events.is_empty() && !typed.is("watch") {
        match everywhere {
            true => session.screen.warn("No events found."),
            false => session.screen.warn(&format!("No events found in {namespace} namespace.")),
        }
        return Ok(());
    }
    match output.is_human() {
        true => shown.table(session, &events)?,
        false => {
            let mut events: Vec<Value> = events.iter().map(|event| print::shown(event, typed)).collect();
            for event in &mut events {
                event["apiVersion"] = "v1".into();
                event["kind"] = "Event".into();
            }
            let list = json!({"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": events});
            session.screen.say(&output.object(&list)?)?;
        }
    }
    if typed.is("watch") {
        watch(session, typed, &path, &revision, &output, &mut shown, &types).await?;
    }
    Ok(())
}

/// The object that `--for` names.
async fn about(session: &Session<'_>, typed: &Typed) -> Result<String, CliError> {
    let Some(word) = typed.text("for") else { return Ok(String::new()) };
    let asked = select::asked(session.mapping().await?, &[word.to_owned()])?;
    let ([asked], true) = (asked.as_slice(), word.contains('/')) else {
        return Err(CliError::usage("--for must be in resource/name form"));
    };
    let name = asked.names.first().map(String::as_str).unwrap_or_default();
    Ok(format!(
        "involvedObject.kind={},involvedObject.apiVersion={},involvedObject.name={name}",
        asked.resource.kind,
        asked.resource.api_version()
    ))
}

fn is_wanted(event: &Value, types: &[String]) -> bool {
    types.is_empty() || types.iter().any(|kind| kind.eq_ignore_ascii_case(text(&event["type"])))
}

fn last_seen(event: &Value) -> Option<jiff::Timestamp> {
    let times = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
    times.into_iter().find_map(parse)
}

async fn watch(
    session: &Session<'_>,
    typed: &Typed,
    path: &str,
    revision: &str,
    output: &Output,
    shown: &mut Shown,
    types: &[String],
) -> Result<(), CliError> {
    let path = with(path, [("watch", "true"), ("resourceVersion", revision)]);
    let mut changes = session.api().await?.watch(&path, JSON).await?;
    while let Some((change, event)) = changes.event().await? {
        // Events are forgotten after a while; nobody wants to hear of that.
        if change == "DELETED" || change == "BOOKMARK" || !is_wanted(&event, types) {
            continue;
        }
        match output.is_human() {
            true => shown.table(session, std::slice::from_ref(&event))?,
            false => session.screen.say(&output.object(&print::shown(&event, typed))?)?,
        }
    }
    Ok(())
}

/// A table that grows.
struct Shown {
    everywhere: bool,
    headings: bool,
    widths: Widths,
}

impl Shown {
    fn table(&mut self, session: &Session<'_>, events: &[Value]) -> Result<(), CliError> {
        let now = Now { at: session.clock.now(), zone: local_zone() };
        let mut rows = Vec::new();
        if std::mem::take(&mut self.headings) {
            let names = ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];
            rows.push(self.row("NAMESPACE", names.map(str::to_owned)));
        }
        for event in events {
            let object = &event["involvedObject"];
            let cells = [
                age(event, &now),
                text(&event["type"]).to_owned(),
                text(&event["reason"]).to_owned(),
                format!("{}/{}", text(&object["kind"]), text(&object["name"])),
                text(&event["message"]).trim().replace('\u{1b}', "^["),
            ];
            rows.push(self.row(text(&event["metadata"]["namespace"]), cells));
        }
        session.screen.say(&aligned(&rows, &mut self.widths))
    }

    fn row(&self, namespace: &str, cells: [String; 5]) -> Vec<String> {
        self.everywhere.then(|| namespace.to_owned()).into_iter().chain(cells).collect()
    }
}
