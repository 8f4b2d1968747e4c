//! The parameters that requests take, verb by verb. Names and types only.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: &'static str,
    pub(super) kind: &'static str,
}

const fn query(name: &'static str, kind: &'static str) -> Parameter {
    Parameter { name, place: "query", kind }
}

pub(super) const NAME: Parameter = Parameter { name: "name", place: "path", kind: "string" };
pub(super) const NAMESPACE: Parameter = Parameter { name: "namespace", place: "path", kind: "string" };
pub(super) const PRETTY: Parameter = query("pretty", "string");

pub(super) const LIST: &[Parameter] = &[
    query("allowWatchBookmarks", "boolean"),
    query("continue", "string"),
    query("fieldSelector", "string"),
    query("labelSelector", "string"),
    query("limit", "integer"),
    query("resourceVersion", "string"),
    query("resourceVersionMatch", "string"),
    query("sendInitialEvents", "boolean"),
    query("timeoutSeconds", "integer"),
    query("watch", "boolean"),
];

pub(super) const WRITE: &[Parameter] =
    &[query("dryRun", "string"), query("fieldManager", "string"), query("fieldValidation", "string")];

pub(super) const PATCHING: &[Parameter] = &[
    query("dryRun", "string"),
    query("fieldManager", "string"),
    query("fieldValidation", "string"),
    query("force", "boolean"),
];

pub(super) const DELETE: &[Parameter] = &[
    query("dryRun", "string"),
    query("gracePeriodSeconds", "integer"),
    query("orphanDependents", "boolean"),
    query("propagationPolicy", "string"),
];

pub(super) const DELETE_MANY: &[Parameter] = &[
    query("continue", "string"),
    query("dryRun", "string"),
    query("fieldSelector", "string"),
    query("gracePeriodSeconds", "integer"),
    query("labelSelector", "string"),
    query("limit", "integer"),
    query("orphanDependents", "boolean"),
    query("propagationPolicy", "string"),
    query("resourceVersion", "string"),
    query("resourceVersionMatch", "string"),
    query("sendInitialEvents", "boolean"),
    query("timeoutSeconds", "integer"),
];

const LOG: &[Parameter] = &[
    query("container", "string"),
    query("follow", "boolean"),
    query("insecureSkipTLSVerifyBackend", "boolean"),
    query("limitBytes", "integer"),
    query("previous", "boolean"),
    query("sinceSeconds", "integer"),
    query("stream", "string"),
    query("tailLines", "integer"),
    query("timestamps", "boolean"),
];

const ATTACH: &[Parameter] = &[
    query("container", "string"),
    query("stderr", "boolean"),
    query("stdin", "boolean"),
    query("stdout", "boolean"),
    query("tty", "boolean"),
];

const EXEC: &[Parameter] = &[
    query("command", "string"),
    query("container", "string"),
    query("stderr", "boolean"),
    query("stdin", "boolean"),
    query("stdout", "boolean"),
    query("tty", "boolean"),
];

const PORT_FORWARD: &[Parameter] = &[query("ports", "integer")];
const PROXY: &[Parameter] = &[query("path", "string")];

/// The query parameters of a subresource that streams; `None` for one that speaks objects.
pub(super) fn streamed(sub: &str) -> Option<&'static [Parameter]> {
    match sub {
        "log" => Some(LOG),
        "exec" => Some(EXEC),
        "attach" => Some(ATTACH),
        "portforward" => Some(PORT_FORWARD),
        "proxy" => Some(PROXY),
        _ => None,
    }
}
