//! The grammar of API paths: which resource a path names. Knows no kinds; whether there is such a resource is asked later.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// What a path under `/api` or `/apis` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place<'p> {
    /// Empty for the core group.
    pub(crate) group: Cow<'p, str>,
    pub(crate) version: Cow<'p, str>,
    pub(crate) namespace: Option<Cow<'p, str>>,
    pub(crate) resource: Cow<'p, str>,
    pub(crate) name: Option<Cow<'p, str>>,
    pub(crate) subresource: Option<Cow<'p, str>>,
    /// What follows the subresource: `…/proxy/<rest>`.
    pub(crate) rest: Option<String>,
    /// The old form `/api/v1/watch/…`.
    pub(crate) watch: bool,
}

/// `None` for what is no resource: `/healthz`, `/apis`, `/apis/apps/v1`…
pub(crate) fn parse(path: &str) -> Option<Place<'_>> {
    let mut segments = path.trim_matches('/').split('/').map(decoded);
    let group = match &*segments.next()? {
        "api" => Cow::Borrowed(""),
        "apis" => segments.next()?,
        _ => return None,
    };
    let version = segments.next()?;
    let mut rest = segments.peekable();
    let watch = rest.next_if(|segment| segment == "watch").is_some();
    let first = rest.next().filter(|segment| !segment.is_empty())?;
    let mut place = Place { group, version, watch, ..Place::default() };

    if first != "namespaces" {
        place.resource = first;
        place.name = rest.next();
        place.subresource = rest.next();
    } else {
        place.namespace = rest.next();
        match rest.next() {
            // A namespace is an object like any other, and lies in itself as far as permissions go.
            None => {
                place.resource = first;
                place.name = place.namespace.clone();
            }
            Some(sub) if sub == "status" || sub == "finalize" => {
                place.resource = first;
                place.name = place.namespace.clone();
                place.subresource = Some(sub);
            }
            Some(resource) => {
                place.resource = resource;
                place.name = rest.next();
                place.subresource = rest.next();
            }
        }
    }
    if rest.peek().is_some() {
        place.rest = Some(rest.collect::<Vec<_>>().join("/"));
    }
    Some(place)
}

fn decoded(segment: &str) -> Cow<'_, str> {
    if segment.contains('%') {
        percent_decode_str(segment).decode_utf8_lossy()
    } else {
        Cow::Borrowed(segment)
    }
}

#[cfg(test)]
mod tests;
