//! Where objects lie: `/registry/<prefix>/[<namespace>/]<name>`. The only place that builds or takes apart a key.

use kedge_kinds::Kind;

/// Everything of a kind, or everything of it in one namespace.
pub(crate) fn prefix(kind: &Kind, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) if kind.namespaced => format!("/registry/{}/{namespace}/", kind.prefix),
        _ => format!("/registry/{}/", kind.prefix),
    }
}

pub(crate) fn object(kind: &Kind, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) if kind.namespaced => format!("/registry/{}/{namespace}/{name}", kind.prefix),
        _ => format!("/registry/{}/{name}", kind.prefix),
    }
}

pub(crate) fn namespace(name: &str) -> String {
    format!("/registry/namespaces/{name}")
}

/// The namespace and name at the end of a key of this kind.
pub(crate) fn parts<'k>(kind: &Kind, key: &'k str) -> (Option<&'k str>, &'k str) {
    let rest = key.strip_prefix("/registry/").and_then(|rest| rest.strip_prefix(&*kind.prefix));
    let rest = rest.unwrap_or_default().trim_start_matches('/');
    match rest.split_once('/') {
        Some((namespace, name)) if kind.namespaced => (Some(namespace), name),
        _ => (None, rest),
    }
}
