//! Which objects are meant: by kind and names, `kind/name`, selectors, everything, or the manifests that `-f` names.

use serde_json::Value;

use crate::args::Typed;
use crate::client::with;
use crate::error::CliError;
use crate::input;
use crate::mapping::{Mapping, Resource};
use crate::session::Session;

/// A kind with the names asked for; no names means all of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked<'m> {
    pub(crate) resource: &'m Resource,
    pub(crate) names: Vec<String>,
}

/// An object that is there.
pub(crate) struct Found<'m> {
    pub(crate) resource: &'m Resource,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) object: Value,
}

impl Found<'_> {
    pub(crate) fn path(&self) -> String {
        self.resource.path(&self.namespace, &self.name)
    }

    /// `deployment.apps/web`
    pub(crate) fn told(&self) -> String {
        format!("{}/{}", self.resource.told(), self.name)
    }
}

/// What the words mean: `pods a b`, `pods,services`, `pod/a svc/b`, `all`.
pub(crate) fn asked<'m>(mapping: &'m Mapping, words: &[String]) -> Result<Vec<Asked<'m>>, CliError> {
    let Some((first, names)) = words.split_first() else {
        return Err(nothing_named());
    };
    if words.iter().any(|word| word.contains('/')) {
        return words.iter().map(|word| pair(mapping, word, words.len())).collect();
    }
    let mut found: Vec<Asked<'m>> = Vec::new();
    for kind in first.split(',').filter(|kind| !kind.is_empty()) {
        for resource in mapping.all(kind)? {
            if found.iter().all(|known| known.resource != resource) {
                found.push(Asked { resource, names: names.to_vec() });
            }
        }
    }
    if found.len() > 1 && !names.is_empty() {
        return Err(CliError::usage("you must specify only one resource"));
    }
    Ok(found)
}

pub(crate) fn nothing_named() -> CliError {
    CliError::usage(
        "You must provide one or more resources by argument or filename.\nExample resource specifications include:\n   \
         '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'",
    )
}

fn pair<'m>(mapping: &'m Mapping, word: &str, words: usize) -> Result<Asked<'m>, CliError> {
    match word.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(Asked { resource: mapping.find(kind)?, names: vec![name.to_owned()] })
        }
        Some((_, name)) if name.contains('/') => {
            Err(CliError::usage("arguments in resource/name form may not have more than one slash"))
        }
        None if words > 1 => Err(CliError::usage(
            "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form \
             (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
        )),
        _ => Err(CliError::usage("arguments in resource/name form must have a single resource and name")),
    }
}

/// The objects that exist of those that are meant. Errors come with what was found before them.
pub(crate) async fn found<'m>(
    session: &'m Session<'_>,
    typed: &Typed,
    words: &[String],
) -> Result<Vec<Found<'m>>, CliError> {
    meant(session, typed, words, false).await
}

/// The same for verbs that take a kind alone for all of that kind.
pub(crate) async fn found_or_all<'m>(
    session: &'m Session<'_>,
    typed: &Typed,
    words: &[String],
) -> Result<Vec<Found<'m>>, CliError> {
    meant(session, typed, words, true).await
}

async fn meant<'m>(
    session: &'m Session<'_>,
    typed: &Typed,
    words: &[String],
    all: bool,
) -> Result<Vec<Found<'m>>, CliError> {
    if typed.is("local") {
        return local(session, typed, words);
    }
    let mapping = session.mapping().await?;
    let mut found = Vec::new();
    if input::named(typed) {
        for (resource, namespace, name) in in_files(session, typed, words).await? {
            found.push(one(session, resource, &namespace, &name).await?);
        }
        return Ok(found);
    }
    let everywhere = typed.is("all-namespaces");
    let namespace = session.namespace()?;
    let selected = typed.given("selector") || typed.given("field-selector") || typed.is("all");
    for asked in asked(mapping, words)? {
        if asked.names.is_empty() && !selected && !all {
            return Err(CliError::usage("resource(s) were provided, but no name was specified"));
        }
        if !asked.names.is_empty() && selected {
            return Err(CliError::usage("name cannot be provided when a selector is specified"));
        }
        if asked.names.is_empty() {
            found.extend(listed(session, typed, asked.resource, (!everywhere).then_some(&*namespace)).await?);
        }
        for name in &asked.names {
            found.push(one(session, asked.resource, &namespace, name).await?);
        }
    }
    Ok(found)
}

/// What manifests say, as if it were there.
fn local<'m>(session: &'m Session<'_>, typed: &Typed, words: &[String]) -> Result<Vec<Found<'m>>, CliError> {
    if !words.is_empty() || !input::named(typed) {
        return Err(CliError::usage(
            "--local asks no server: name the manifests to work on with -f, and no objects of the server",
        ));
    }
    let manifests = input::manifests(typed)?;
    let Some(mapping) = session.supposed(&manifests) else { return Ok(Vec::new()) };
    let found = |object: Value| {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        Ok(Found { resource: mapping.of_object(&object)?, namespace, name, object })
    };
    manifests.into_iter().map(found).collect()
}

async fn one<'m>(
    session: &Session<'_>,
    resource: &'m Resource,
    namespace: &str,
    name: &str,
) -> Result<Found<'m>, CliError> {
    let object = session.read(&resource.path(namespace, name)).await?;
    Ok(Found { resource, namespace: namespace.to_owned(), name: name.to_owned(), object })
}

/// All of a kind that the flags select.
pub(crate) async fn listed<'m>(
    session: &Session<'_>,
    typed: &Typed,
    resource: &'m Resource,
    namespace: Option<&str>,
) -> Result<Vec<Found<'m>>, CliError> {
    let path = with(&resource.collection(namespace), selectors(typed));
    let mut list = session.read(&path).await.map_err(|error| unselected(error, typed, resource))?;
    let Value::Array(items) = list["items"].take() else { return Ok(Vec::new()) };
    let found = |mut object: Value| {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.clone().into();
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        Found { resource, namespace, name, object }
    };
    Ok(items.into_iter().map(found).collect())
}

/// The parameters of a list that the flags ask for.
pub(crate) fn selectors(typed: &Typed) -> [(&'static str, &str); 2] {
    [
        ("labelSelector", typed.text("selector").unwrap_or_default()),
        ("fieldSelector", typed.text("field-selector").unwrap_or_default()),
    ]
}

/// Says which selectors the server did not understand.
pub(crate) fn unselected(error: CliError, typed: &Typed, resource: &Resource) -> CliError {
    let [(_, labels), (_, fields)] = selectors(typed);
    match error {
        CliError::Server(mut refusal)
            if refusal.is("BadRequest") && !(labels.is_empty() && fields.is_empty()) =>
        {
            refusal.message = format!(
                "Unable to find \"{}/{}, Resource={}\" that match label selector {labels:?}, field selector {fields:?}: {}",
                resource.group, resource.version, resource.plural, refusal.message
            );
            CliError::Server(refusal)
        }
        other => other,
    }
}

/// Where the objects of all manifests belong; objects named beside them would be too much.
pub(crate) async fn in_files<'m>(
    session: &'m Session<'_>,
    typed: &Typed,
    words: &[String],
) -> Result<Vec<(&'m Resource, String, String)>, CliError> {
    if !words.is_empty() {
        return Err(CliError::usage(
            "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well",
        ));
    }
    let mut all = Vec::new();
    for (source, manifest) in input::sourced(typed)? {
        all.push(placed(session, &manifest).await.map_err(|error| error.from(&source))?);
    }
    Ok(all)
}

/// Where a manifest's object belongs: its kind, its namespace (or the one we work in), its name.
pub(crate) async fn placed<'m>(
    session: &'m Session<'_>,
    manifest: &Value,
) -> Result<(&'m Resource, String, String), CliError> {
    let resource = session.mapping().await?.of_object(manifest)?;
    let text = |key: &str| manifest["metadata"][key].as_str().unwrap_or_default();
    let wanted = session.namespace()?;
    let own = text("namespace");
    if resource.namespaced && !own.is_empty() && session.typed.given("namespace") && own != wanted {
        return Err(CliError::unmet(format!(
            "the namespace from the provided object {own:?} does not match the namespace {wanted:?}. You must pass \
             '--namespace={own}' to perform this operation."
        )));
    }
    let namespace = if own.is_empty() { wanted } else { own.to_owned() };
    Ok((resource, namespace, text("name").to_owned()))
}
