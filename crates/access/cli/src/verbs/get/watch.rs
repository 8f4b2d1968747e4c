//! `get -w`: what is there, then every change, until the user has seen enough.

use serde_json::Value;

use super::fetch::{self, Query, TABLE};
use crate::args::Typed;
use crate::client::{JSON, with};
use crate::error::CliError;
use crate::print::table::{Shape, Widths, aligned, rows};
use crate::print::{self, Output};
use crate::select::selectors;
use crate::session::Session;

pub(super) async fn run(
    session: &Session<'_>,
    typed: &Typed,
    output: &Output,
    asked: &[Query<'_>],
) -> Result<(), CliError> {
    let [query] = asked else {
        return Err(CliError::usage("you may only specify a single resource type"));
    };
    let mut state = Watching {
        session,
        typed,
        output,
        query,
        widths: Widths::default(),
        columns: Vec::new(),
        told: false,
    };
    let mut version = state.begin().await?;
    loop {
        match state.follow(&mut version).await {
            // The history is gone: what is there now is the new beginning.
            Err(CliError::Server(refusal)) if refusal.is("Expired") || refusal.code == 410 => {
                version = fetch::table(session, typed, query).await?.version;
            }
            Err(error) => return Err(error),
            Ok(()) => {}
        }
    }
}

struct Watching<'w, 'm> {
    session: &'w Session<'w>,
    typed: &'w Typed,
    output: &'w Output,
    query: &'w Query<'m>,
    widths: Widths,
    columns: Vec<Value>,
    /// The headings are there.
    told: bool,
}

impl Watching<'_, '_> {
    /// Shows what is there and answers with the revision from which to go on.
    async fn begin(&mut self) -> Result<String, CliError> {
        let mut table = fetch::table(self.session, self.typed, self.query).await?;
        self.columns = std::mem::take(&mut table.columns);
        if self.typed.is("watch-only") {
            return Ok(table.version);
        }
        match self.output {
            Output::Human { .. } if table.rows.is_empty() => {}
            Output::Human { .. } => self.rows(&table.rows, "ADDED")?,
            _ => {
                for object in fetch::objects(self.session, self.typed, self.query).await? {
                    self.object(object, "ADDED")?;
                }
            }
        }
        Ok(table.version)
    }

    async fn follow(&mut self, version: &mut String) -> Result<(), CliError> {
        let collection = self.query.resource.collection(self.query.namespace.as_deref());
        let by_name = self.query.name.as_ref().map(|name| format!("metadata.name={name}"));
        let path = match &by_name {
            Some(selector) => with(&collection, [("fieldSelector", selector.as_str())]),
            None => with(&collection, selectors(self.typed)),
        };
        let path =
            with(&path, [("watch", "true"), ("resourceVersion", version), ("allowWatchBookmarks", "true")]);
        let accept = if self.output.is_human() { TABLE } else { JSON };
        let mut events = self.session.api().await?.watch(&path, accept).await?;
        while let Some((what, mut object)) = events.event().await? {
            let seen = match object["kind"].as_str() {
                Some("Table") => object["rows"][0]["object"]["metadata"]["resourceVersion"].as_str(),
                _ => object["metadata"]["resourceVersion"].as_str(),
            };
            if let Some(seen) =
                seen.or(object["metadata"]["resourceVersion"].as_str()).filter(|seen| !seen.is_empty())
            {
                *version = seen.to_owned();
            }
            if what == "BOOKMARK" {
                continue;
            }
            match object["kind"] == "Table" {
                true => {
                    let columns = fetch::taken(&mut object["columnDefinitions"]);
                    if !columns.is_empty() {
                        self.columns = columns;
                    }
                    let changed = fetch::taken(&mut object["rows"]);
                    self.rows(&changed, &what)?;
                }
                false => self.object(object, &what)?,
            }
        }
        Ok(())
    }

    fn rows(&mut self, changed: &[Value], what: &str) -> Result<(), CliError> {
        let labels = self.typed.list("label-columns");
        let shape = Shape {
            wide: matches!(self.output, Output::Human { wide: true }),
            headings: !self.told && !self.typed.is("no-headers"),
            namespace: self.typed.is("all-namespaces") && self.query.resource.namespaced,
            prefix: match self.typed.is("show-kind") {
                true => format!("{}/", self.query.resource.told()),
                false => String::new(),
            },
            labels: self.typed.is("show-labels"),
            label_columns: &labels,
            event: self.typed.is("output-watch-events").then_some(what),
        };
        let lines = rows(&self.columns, changed, &shape);
        self.told = true;
        self.session.screen.say(&aligned(&lines, &mut self.widths))
    }

    fn object(&mut self, mut object: Value, what: &str) -> Result<(), CliError> {
        object["apiVersion"] = self.query.resource.api_version().into();
        object["kind"] = self.query.resource.kind.clone().into();
        let object = print::shown(&object, self.typed);
        let text = match self.output {
            Output::Name => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                format!("{}/{name}\n", self.query.resource.told())
            }
            _ if self.typed.is("output-watch-events") => {
                self.output.object(&serde_json::json!({"type": what, "object": object}))?
            }
            Output::Columns(columns) => {
                columns.table(&[object], !self.told && !self.typed.is("no-headers"))?
            }
            Output::Yaml if self.told => format!("---\n{}", self.output.object(&object)?),
            other => other.object(&object)?,
        };
        self.told = true;
        self.session.screen.say(&text)
    }
}
