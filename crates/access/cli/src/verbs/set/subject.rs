//! `set subject`: who a role is bound to, added to what is there.

use serde_json::{Value, json};

use crate::args::{ALL, Command, EVERYWHERE, FILES, Flag, LOCAL, OUTPUT, SELECT, Typed, WRITE, value};
use crate::change::change;
use crate::error::CliError;
use crate::print::Output;
use crate::select;
use crate::session::Session;

const FLAGS: &[Flag] = &[
    value("user", "NAME", "A user; can be repeated"),
    value("group", "NAME", "A group; can be repeated"),
    value("serviceaccount", "NAMESPACE:NAME", "A service account; can be repeated"),
];

pub(super) static COMMAND: Command = Command {
    name: "subject",
    about: "Add users, groups or service accounts to a binding",
    usage: "(-f FILE | KIND NAME) [--user=NAME] [--group=NAME] [--serviceaccount=NAMESPACE:NAME]",
    examples: &["set subject rolebinding admin --user=jane --group=shop"],
    flags: &[FLAGS, FILES, LOCAL, OUTPUT, WRITE, SELECT, ALL, EVERYWHERE],
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let wanted = subjects(typed)?;
    let output = Output::of(typed)?;
    for found in select::found(session, typed, &typed.words).await? {
        if !matches!(&*found.resource.kind, "RoleBinding" | "ClusterRoleBinding") {
            return Err(CliError::unmet(format!(
                "{}/{} setting subjects is only supported for RoleBinding/ClusterRoleBinding",
                found.resource.plural, found.name
            )));
        }
        let changed = change(session, &found, "kubectl-set", |binding| {
            let mut all = binding["subjects"].as_array().cloned().unwrap_or_default();
            let new: Vec<&Value> = wanted.iter().filter(|subject| !all.contains(subject)).collect();
            all.extend(new.into_iter().cloned());
            binding["subjects"] = all.into();
            Ok(())
        })
        .await?;
        if changed.differs || !output.is_human() {
            output.done(session, found.resource, &changed.object, "subjects updated")?;
        }
    }
    Ok(())
}

fn subjects(typed: &Typed) -> Result<Vec<Value>, CliError> {
    let mut all = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        let named = typed.list(flag).into_iter().filter(|name| !name.is_empty());
        all.extend(
            named.map(|name| json!({"kind": kind, "apiGroup": "rbac.authorization.k8s.io", "name": name})),
        );
    }
    for account in typed.list("serviceaccount").into_iter().filter(|account| !account.is_empty()) {
        let Some((namespace, name)) =
            account.split_once(':').filter(|(one, other)| !one.is_empty() && !other.is_empty())
        else {
            return Err(CliError::usage("serviceaccount must be <namespace>:<name>"));
        };
        all.push(json!({"kind": "ServiceAccount", "namespace": namespace, "name": name}));
    }
    match all.is_empty() {
        true => Err(CliError::usage("you must specify at least one value of user, group or serviceaccount")),
        false => Ok(all),
    }
}
