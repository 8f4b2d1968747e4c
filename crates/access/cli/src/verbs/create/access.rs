//! Generators of who may do what and where: namespaces, accounts, tokens, roles, bindings, quotas.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{failed, generated, name, required};
use crate::args::{Command, Flag, OUTPUT, Typed, WRITE, value};
use crate::error::CliError;
use crate::print::Output;
use crate::session::Session;

pub(super) static NAMESPACE: Command = Command {
    name: "namespace",
    aliases: &["ns"],
    about: "Create a namespace",
    usage: "NAME",
    flags: &[OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name(typed)?}});
            generated(session, typed, object).await
        })
    }),
    ..Command::EMPTY
};

pub(super) static SERVICE_ACCOUNT: Command = Command {
    name: "serviceaccount",
    aliases: &["sa"],
    about: "Create a service account",
    usage: "NAME",
    flags: &[OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async {
            let object =
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name(typed)?}});
            generated(session, typed, object).await
        })
    }),
    ..Command::EMPTY
};

pub(super) static TOKEN: Command = Command {
    name: "token",
    about: "Ask for a token of a service account",
    usage: "ACCOUNT",
    flags: &[
        &[
            value("duration", "DURATION", "How long it is good for"),
            value("audience", "NAME", "Whom it may be shown to; can be repeated"),
            value("bound-object-kind", "KIND", "It ends with an object of this kind: Pod, Secret, Node"),
            value("bound-object-name", "NAME", "That object's name"),
            value("bound-object-uid", "UID", "That object's UID"),
        ],
        OUTPUT,
    ],
    run: Some(|session, typed| Box::pin(token(session, typed))),
    ..Command::EMPTY
};

async fn token(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let mut spec = json!({});
    if typed.given("audience") {
        spec["audiences"] = typed.list("audience").into();
    }
    if let Some(life) = typed.duration("duration")? {
        spec["expirationSeconds"] = life.as_secs().into();
    }
    let bound = typed.text("bound-object-name");
    if bound.is_some() && !typed.given("bound-object-kind") {
        return Err(CliError::usage(
            "--bound-object-name can only be set if --bound-object-kind is provided",
        ));
    }
    if let Some(kind) = typed.text("bound-object-kind") {
        if !["Node", "Pod", "Secret"].contains(&kind) {
            return Err(CliError::usage("supported --bound-object-kind values are Node, Pod, Secret"));
        }
        let bound = bound.ok_or_else(|| {
            CliError::usage("--bound-object-name is required if --bound-object-kind is provided")
        })?;
        spec["boundObjectRef"] = json!({"kind": kind, "apiVersion": "v1", "name": bound});
        if let Some(uid) = typed.text("bound-object-uid") {
            spec["boundObjectRef"]["uid"] = uid.into();
        }
    }
    let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    let accounts = session.mapping().await?.find("serviceaccounts")?;
    let path = format!("{}/token", accounts.path(&session.namespace()?, name(typed)?));
    let answer = session.api().await?.post(&path, &asked).await;
    let answer = answer.map_err(|error| failed(error, "token", ""))?;
    match Output::of(typed)? {
        Output::Human { .. } => session.screen.line(answer["status"]["token"].as_str().unwrap_or_default()),
        other => session.screen.say(&other.object(&answer)?),
    }
}

const RULES: &[Flag] = &[
    value("verb", "VERBS", "What may be done"),
    value("resource", "KINDS", "To what: pods, deployments.apps, pods/log"),
    value("resource-name", "NAMES", "To which of them; can be repeated"),
];

pub(super) static ROLE: Command = Command {
    name: "role",
    about: "Create a role",
    usage: "NAME --verb=VERBS --resource=KINDS",
    flags: &[RULES, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(role(session, typed, "Role"))),
    ..Command::EMPTY
};

pub(super) static CLUSTER_ROLE: Command = Command {
    name: "clusterrole",
    about: "Create a cluster role",
    usage: "NAME (--verb=VERBS --resource=KINDS | --aggregation-rule=LABELS)",
    flags: &[
        RULES,
        &[
            value("non-resource-url", "PATHS", "Paths of the API that are no resources"),
            value("aggregation-rule", "LABELS", "Take the rules of all cluster roles with these labels"),
        ],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| Box::pin(role(session, typed, "ClusterRole"))),
    ..Command::EMPTY
};

async fn role(session: &Session<'_>, typed: &Typed, kind: &str) -> Result<(), CliError> {
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name(typed)?}, "rules": null,
    });
    let labels = typed.pairs("aggregation-rule")?;
    if !labels.is_empty() {
        if ["verb", "resource", "resource-name", "non-resource-url"].into_iter().any(|flag| typed.given(flag))
        {
            return Err(CliError::usage(
                "aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames",
            ));
        }
        let labels: BTreeMap<String, String> = labels.into_iter().collect();
        role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": labels}]});
        return generated(session, typed, role).await;
    }
    let verbs = typed.list("verb");
    if verbs.is_empty() {
        return Err(CliError::usage("at least one verb must be specified"));
    }
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for word in typed.list("resource") {
        let (word, part) = word.split_once('/').unwrap_or((&word, ""));
        let (group, plural) = match word {
            "*" => (String::new(), "*".to_owned()),
            word => {
                let found = session.mapping().await?.find(word)?;
                (found.group.clone(), found.plural.clone())
            }
        };
        let whole = if part.is_empty() { plural } else { format!("{plural}/{part}") };
        let of_group = groups.entry(group).or_default();
        if !of_group.contains(&whole) {
            of_group.push(whole);
        }
    }
    let paths = typed.list("non-resource-url");
    if groups.is_empty() && paths.is_empty() {
        return Err(CliError::usage(match kind {
            "Role" => "at least one resource must be specified",
            _ => "one of resource or nonResourceURL must be specified",
        }));
    }
    if paths.iter().any(|path| path != "*" && !path.starts_with('/')) {
        return Err(CliError::usage("nonResourceURL should start with /"));
    }
    let of_paths = ["get", "post", "put", "delete", "patch", "head", "options", "*"];
    if let Some(verb) = verbs.iter().find(|verb| !paths.is_empty() && !of_paths.contains(&&***verb)) {
        return Err(CliError::usage(format!("invalid verb: '{verb}' for nonResourceURL")));
    }
    let names = typed.list("resource-name");
    let mut rules = Vec::new();
    for (group, resources) in groups {
        let mut rule = json!({"verbs": verbs, "apiGroups": [group], "resources": resources});
        if !names.is_empty() {
            rule["resourceNames"] = names.clone().into();
        }
        rules.push(rule);
    }
    if !paths.is_empty() {
        rules.push(json!({"verbs": verbs, "nonResourceURLs": paths}));
    }
    role["rules"] = rules.into();
    generated(session, typed, role).await
}

// `--user` names a subject here; who we are there is what every other command uses it for.
const SUBJECTS: &[Flag] = &[
    value("clusterrole", "NAME", "The cluster role that is given"),
    value("user", "NAME", "A user who gets it; can be repeated"),
    value("group", "NAME", "A group that gets it; can be repeated"),
    value("serviceaccount", "NAMESPACE:NAME", "A service account that gets it; can be repeated"),
];

pub(super) static ROLE_BINDING: Command = Command {
    name: "rolebinding",
    about: "Give a role to somebody, in a namespace",
    usage: "NAME (--role=NAME | --clusterrole=NAME) [--user=NAME] [--group=NAME] [--serviceaccount=NAMESPACE:NAME]",
    flags: &[SUBJECTS, &[value("role", "NAME", "The role that is given")], OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async { generated(session, typed, binding(typed, "RoleBinding")?).await })
    }),
    ..Command::EMPTY
};

pub(super) static CLUSTER_ROLE_BINDING: Command = Command {
    name: "clusterrolebinding",
    about: "Give a cluster role to somebody, everywhere",
    usage: "NAME --clusterrole=NAME [--user=NAME] [--group=NAME] [--serviceaccount=NAMESPACE:NAME]",
    flags: &[SUBJECTS, OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async { generated(session, typed, binding(typed, "ClusterRoleBinding")?).await })
    }),
    ..Command::EMPTY
};

fn binding(typed: &Typed, kind: &str) -> Result<Value, CliError> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let name = name(typed)?;
    if kind == "ClusterRoleBinding" {
        required(typed, "clusterrole")?;
    }
    let role = match (typed.text("role"), typed.text("clusterrole")) {
        (Some(role), None) => json!({"apiGroup": GROUP, "kind": "Role", "name": role}),
        (None, Some(role)) => json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": role}),
        _ => return Err(CliError::usage("exactly one of clusterrole or role must be specified")),
    };
    let mut subjects = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        subjects.extend(
            typed.list(flag).into_iter().map(|name| json!({"apiGroup": GROUP, "kind": kind, "name": name})),
        );
    }
    for account in typed.list("serviceaccount") {
        let (namespace, name) = account
            .split_once(':')
            .filter(|(_, name)| !name.contains(':'))
            .ok_or_else(|| CliError::usage("serviceaccount must be <namespace>:<name>"))?;
        subjects.push(json!({"kind": "ServiceAccount", "namespace": namespace, "name": name}));
    }
    Ok(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": {"name": name},
        "roleRef": role, "subjects": subjects,
    }))
}

pub(super) static QUOTA: Command = Command {
    name: "quota",
    aliases: &["resourcequota"],
    about: "Create a quota",
    usage: "NAME --hard=cpu=1,pods=10",
    flags: &[
        &[value("hard", "KEY=AMOUNT,…", "The limits"), value("scopes", "NAMES", "What it counts")],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, quota(typed)?).await })),
    ..Command::EMPTY
};

fn quota(typed: &Typed) -> Result<Value, CliError> {
    let mut spec = json!({});
    let hard: BTreeMap<String, String> = crate::verbs::set::amounts(typed, "hard")?.into_iter().collect();
    if !hard.is_empty() {
        spec["hard"] = json!(hard);
    }
    if typed.given("scopes") {
        spec["scopes"] = typed.list("scopes").into();
    }
    Ok(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name(typed)?}, "spec": spec}))
}
