//! What `get` asks the server for: each kind or object by itself, long lists in pieces.

use serde_json::Value;

use crate::args::Typed;
use crate::client::with;
use crate::error::CliError;
use crate::input;
use crate::mapping::Resource;
use crate::select::{self, selectors};
use crate::session::Session;

pub(super) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/// As kubectl asks.
const PIECE: i64 = 500;

/// One question.
pub(super) struct Query<'m> {
    pub(super) resource: &'m Resource,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
}

impl Query<'_> {
    pub(super) fn path(&self, typed: &Typed) -> String {
        match &self.name {
            Some(name) => {
                let path = self.resource.path(self.namespace.as_deref().unwrap_or_default(), name);
                match typed.text("subresource") {
                    Some(part) => format!("{path}/{part}"),
                    None => path,
                }
            }
            None => with(&self.resource.collection(self.namespace.as_deref()), selectors(typed)),
        }
    }
}

pub(super) struct Table<'m> {
    pub(super) resource: &'m Resource,
    pub(super) columns: Vec<Value>,
    pub(super) rows: Vec<Value>,
    pub(super) version: String,
}

/// More than one kind, so that each has to be told apart.
pub(super) fn several(queries: &[Query<'_>]) -> bool {
    queries.iter().any(|query| Some(query.resource) != queries.first().map(|first| first.resource))
}

pub(super) async fn asked<'m>(session: &'m Session<'_>, typed: &Typed) -> Result<Vec<Query<'m>>, CliError> {
    let mapping = session.mapping().await?;
    let mut queries = Vec::new();
    if input::named(typed) {
        for (resource, namespace, name) in select::in_files(session, typed, &typed.words).await? {
            queries.push(Query { resource, namespace: Some(namespace), name: Some(name) });
        }
        return Ok(queries);
    }
    let everywhere = typed.is("all-namespaces");
    let namespace = if everywhere { None } else { Some(session.namespace()?) };
    for asked in select::asked(mapping, &typed.words)? {
        let resource = asked.resource;
        if asked.names.is_empty() {
            if typed.given("subresource") {
                return Err(CliError::usage("subresource cannot be used when bulk resources are specified"));
            }
            queries.push(Query { resource, namespace: namespace.clone(), name: None });
            continue;
        }
        if everywhere && resource.namespaced {
            return Err(CliError::usage("a resource cannot be retrieved by name across all namespaces"));
        }
        if typed.given("selector") || typed.given("field-selector") {
            return Err(CliError::usage("name cannot be provided when a selector is specified"));
        }
        for name in asked.names {
            queries.push(Query { resource, namespace: namespace.clone(), name: Some(name) });
        }
    }
    Ok(queries)
}

/// The server's table, all pieces of it.
pub(super) async fn table<'m>(
    session: &Session<'_>,
    typed: &Typed,
    query: &Query<'m>,
) -> Result<Table<'m>, CliError> {
    let whole = if typed.given("sort-by") { "Object" } else { "" };
    let path = with(&query.path(typed), [("includeObject", whole)]);
    let mut table =
        Table { resource: query.resource, columns: Vec::new(), rows: Vec::new(), version: String::new() };
    pieces(session, typed, query, &path, TABLE, |mut piece| {
        if table.columns.is_empty() {
            table.columns = taken(&mut piece["columnDefinitions"]);
        }
        table.version = piece["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        table.rows.extend(taken(&mut piece["rows"]));
    })
    .await?;
    Ok(table)
}

/// The objects themselves, each saying what it is.
pub(super) async fn objects(
    session: &Session<'_>,
    typed: &Typed,
    query: &Query<'_>,
) -> Result<Vec<Value>, CliError> {
    if query.name.is_some() {
        return Ok(vec![session.read(&query.path(typed)).await?]);
    }
    let mut found = Vec::new();
    pieces(session, typed, query, &query.path(typed), crate::client::JSON, |mut piece| {
        for mut object in taken(&mut piece["items"]) {
            object["apiVersion"] = query.resource.api_version().into();
            object["kind"] = query.resource.kind.clone().into();
            found.push(object);
        }
    })
    .await?;
    Ok(found)
}

async fn pieces(
    session: &Session<'_>,
    typed: &Typed,
    query: &Query<'_>,
    path: &str,
    accept: &str,
    mut take: impl FnMut(Value),
) -> Result<(), CliError> {
    let api = session.api().await?;
    let limit = typed.number("chunk-size")?.unwrap_or(PIECE);
    let limit = if query.name.is_some() || limit <= 0 { String::new() } else { limit.to_string() };
    let mut next = String::new();
    loop {
        let piece = match api.get_as(&with(path, [("limit", &*limit), ("continue", &*next)]), accept).await {
            Err(error) if error.is_not_found() => return Err(session.nowhere(path, error).await),
            piece => piece.map_err(|error| select::unselected(error, typed, query.resource))?,
        };
        next = piece["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        take(piece);
        if next.is_empty() {
            return Ok(());
        }
    }
}

pub(super) fn taken(value: &mut Value) -> Vec<Value> {
    match value.take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}
