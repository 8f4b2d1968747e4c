//! Flags that every command has, and tables that several commands share.

use super::{Flag, optional, switch, value};

/// Where the API is, who to be there, and in which namespace.
pub(crate) const GLOBAL: &[Flag] = &[
    value("namespace", "NAME", "The namespace to work in").or('n'),
    value("kubeconfig", "FILE", "Where the API is and who to be there [env: KUBECONFIG]"),
    value("context", "NAME", "The context of the kubeconfig to use"),
    value("cluster", "NAME", "The cluster of the kubeconfig to use"),
    value("user", "NAME", "The user of the kubeconfig to be"),
    value("server", "URL", "Where the API is").or('s'),
    value("token", "TOKEN", "The bearer token to show"),
    value("as", "USER", "Act as this user"),
    value("as-group", "GROUP", "Act as a member of this group; can be repeated"),
    value("as-uid", "UID", "Act as the user with this UID"),
    value("certificate-authority", "FILE", "Whom to trust"),
    value("client-certificate", "FILE", "The certificate to show"),
    value("client-key", "FILE", "The key to that certificate"),
    value("tls-server-name", "NAME", "What the server's certificate has to say"),
    switch("insecure-skip-tls-verify", "Trust whoever answers"),
    value("request-timeout", "DURATION", "How long one request may take; 0 is for ever"),
    value("v", "LEVEL", "Taken and ignored").or('v'),
    value("cache-dir", "DIR", "Taken and ignored: nothing is cached"),
    switch("warnings-as-errors", "Fail if the server warns"),
    switch("match-server-version", "Taken and ignored"),
    switch("help", "Show what can be typed").or('h'),
];

pub(crate) const OUTPUT: &[Flag] = &[
    value(
        "output",
        "FORMAT",
        "json, yaml, kyaml, name, wide, jsonpath=…, jsonpath-as-json=…, jsonpath-file=…, custom-columns=…, custom-columns-file=…, \
         go-template=…, go-template-file=…",
    )
    .or('o'),
    switch("show-managed-fields", "Show metadata.managedFields in json and yaml"),
    value("template", "TEMPLATE", "The template, for an -o without one; without -o it is a Go template"),
    switch("allow-missing-template-keys", "What is missing is left out of templates; true unless said otherwise"),
];

/// Manifests.
pub(crate) const FILES: &[Flag] = &[
    value(
        "filename",
        "FILE",
        "A file, folder or address of manifests, or - for standard input; can be repeated",
    )
    .or('f'),
    value(
        "kustomize",
        "DIR",
        "A folder that kustomize puts together; kustomize or kubectl has to be on the path",
    )
    .or('k'),
    switch("recursive", "Folders within folders too").or('R'),
];

/// Without a server.
pub(crate) const LOCAL: &[Flag] =
    &[switch("local", "Change what the manifests say and ask no server; needs -f")];

/// Which objects of a kind.
pub(crate) const SELECT: &[Flag] = &[
    value("selector", "SELECTOR", "Objects with these labels: key=value, key!=value, key in (a,b), !key")
        .or('l'),
    value("field-selector", "SELECTOR", "Objects with these fields: metadata.name=x, status.phase!=Running"),
];

pub(crate) const ALL: &[Flag] = &[switch("all", "Every object of the kind in the namespace")];

pub(crate) const EVERYWHERE: &[Flag] = &[switch("all-namespaces", "In every namespace").or('A')];

/// Writing.
pub(crate) const WRITE: &[Flag] = &[
    optional(
        "dry-run",
        "client",
        "none, client (print what would be sent) or server (ask the server to try)",
    ),
    value("field-manager", "NAME", "Whose the fields written are"),
    optional("validate", "strict", "What becomes of unknown fields: strict, warn or ignore"),
    switch("record", "Taken and ignored"),
    switch("save-config", "Keep what was applied in the object's annotation"),
];

/// Waiting.
pub(crate) const TIMEOUT: &[Flag] = &[value("timeout", "DURATION", "How long to wait for it; 0 is for ever")];
