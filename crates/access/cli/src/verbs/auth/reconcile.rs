//! `auth reconcile`: roles and bindings of manifests become what is there already and more. What somebody else allowed stays, unless it is
//! asked to go.

use serde_json::{Value, json};

use super::rules;
use crate::args::{Command, FILES, Flag, OUTPUT, Typed, WRITE, switch};
use crate::client::with_all;
use crate::describe::shown::{items, text};
use crate::error::CliError;
use crate::input;
use crate::mapping::Resource;
use crate::print::Output;
use crate::select;
use crate::session::{DryRun, Session};

/// Who sets this to `false` wants an object left alone.
const UPDATES: &str = "rbac.authorization.kubernetes.io/autoupdate";

const FLAGS: &[Flag] = &[
    switch("remove-extra-permissions", "Roles lose what the manifests don't allow"),
    switch("remove-extra-subjects", "Bindings lose whom the manifests don't name"),
];

pub(super) static COMMAND: Command = Command {
    name: "reconcile",
    about: "Make roles and bindings allow what manifests say",
    usage: "-f FILE",
    examples: &["auth reconcile -f roles.yaml", "auth reconcile -f roles.yaml --remove-extra-permissions"],
    flags: &[FLAGS, FILES, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// What has to be done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Create,
    Update,
    /// Which role a binding gives cannot be changed.
    Recreate,
}

/// What an object becomes, and what that changes.
struct Plan {
    step: Step,
    object: Value,
    added: Vec<Value>,
    removed: Vec<Value>,
}

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if !typed.words.is_empty() {
        return Err(typed.wrong("no arguments are allowed"));
    }
    if !input::named(typed) {
        return Err(CliError::usage("must specify one of -f and -k"));
    }
    let output = Output::of(typed)?;
    for (source, mut manifest) in input::sourced(typed)? {
        let kind = text(&manifest["kind"]).to_owned();
        if !matches!(&*kind, "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding") {
            continue;
        }
        let (resource, namespace, name) =
            select::placed(session, &manifest).await.map_err(|error| error.from(&source))?;
        if resource.namespaced {
            manifest["metadata"]["namespace"] = namespace.clone().into();
        }
        let path = resource.path(&namespace, &name);
        let live = match session.api().await?.get(&path).await {
            Ok(live) => Some(live),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let binds = kind.ends_with("Binding");
        let plan = match &live {
            None => Plan::new(&manifest, if binds { "subjects" } else { "rules" }),
            Some(live) if binds => binding(live, &manifest, typed.is("remove-extra-subjects")),
            Some(live) => role(live, &manifest, typed.is("remove-extra-permissions")),
        };
        let object = carry_out(session, resource, &namespace, &path, &plan).await?;
        tell(session, &plan, binds);
        output.done(session, resource, &object, "reconciled")?;
    }
    Ok(())
}

impl Plan {
    /// For what is not there yet.
    fn new(wanted: &Value, part: &str) -> Self {
        let added = items(&wanted[part]).to_vec();
        Self { step: Step::Create, object: wanted.clone(), added, removed: Vec::new() }
    }
}

fn role(live: &Value, wanted: &Value, remove: bool) -> Plan {
    let rules = items(&wanted["rules"]);
    let mut object = described(live, wanted);
    let added = rules::missing(items(&live["rules"]), rules);
    let removed = if remove { rules::missing(rules, items(&live["rules"])) } else { Vec::new() };
    match removed.is_empty() {
        false => object["rules"] = wanted["rules"].clone(),
        true if !added.is_empty() => {
            object["rules"] = items(&live["rules"]).iter().chain(&added).cloned().collect();
        }
        true => {}
    }
    // A role that takes its rules from others says from which.
    let selectors = items(&wanted["aggregationRule"]["clusterRoleSelectors"]);
    if !selectors.is_empty() {
        let of_others = merged(items(&live["aggregationRule"]["clusterRoleSelectors"]), selectors, remove);
        object["aggregationRule"] = json!({"clusterRoleSelectors": of_others});
    }
    let step = if object == *live { Step::Nothing } else { Step::Update };
    Plan { step, object, added, removed }
}

fn binding(live: &Value, wanted: &Value, remove: bool) -> Plan {
    let subjects = items(&wanted["subjects"]);
    let given = |key: &str| (text(&live["roleRef"][key]), text(&wanted["roleRef"][key]));
    if ["kind", "name"].into_iter().map(given).any(|(is, wanted)| is != wanted) {
        let object = wanted.clone();
        return Plan { step: Step::Recreate, object, added: Vec::new(), removed: Vec::new() };
    }
    let there = items(&live["subjects"]);
    let without = |all: &[Value], others: &[Value]| -> Vec<Value> {
        all.iter().filter(|one| !others.iter().any(|other| is_same(one, other))).cloned().collect()
    };
    let added = without(subjects, there);
    let removed = if remove { without(there, subjects) } else { Vec::new() };
    let mut object = described(live, wanted);
    match removed.is_empty() {
        false => object["subjects"] = wanted["subjects"].clone(),
        true if !added.is_empty() => object["subjects"] = there.iter().chain(&added).cloned().collect(),
        true => {}
    }
    let step = if object == *live { Step::Nothing } else { Step::Update };
    Plan { step, object, added, removed }
}

/// The same subject, whether or not its group is said.
fn is_same(one: &Value, other: &Value) -> bool {
    ["kind", "name", "namespace"].into_iter().all(|key| text(&one[key]) == text(&other[key]))
}

/// With labels and annotations that it does not have yet.
fn described(live: &Value, wanted: &Value) -> Value {
    let mut object = live.clone();
    for map in ["labels", "annotations"] {
        for (key, value) in wanted["metadata"][map].as_object().into_iter().flatten() {
            if live["metadata"][map][key].is_null() {
                object["metadata"][map][key] = value.clone();
            }
        }
    }
    object
}

fn merged(there: &[Value], wanted: &[Value], remove: bool) -> Vec<Value> {
    if remove {
        return wanted.to_vec();
    }
    there.iter().chain(wanted.iter().filter(|one| !there.contains(one))).cloned().collect()
}

fn opted_out(plan: &Plan) -> bool {
    plan.step != Step::Create && plan.object["metadata"]["annotations"][UPDATES] == "false"
}

async fn carry_out(
    session: &Session<'_>,
    resource: &Resource,
    namespace: &str,
    path: &str,
    plan: &Plan,
) -> Result<Value, CliError> {
    if plan.step == Step::Nothing || opted_out(plan) || session.dry_run()? == DryRun::Client {
        return Ok(plan.object.clone());
    }
    let parameters = session.writing("kubectl-auth")?;
    let api = session.api().await?;
    let collection = with_all(&resource.collection(Some(namespace)), &parameters);
    match plan.step {
        Step::Update => return api.put(&with_all(path, &parameters), &plan.object).await,
        Step::Recreate => drop(api.delete(&with_all(path, &parameters), &json!({})).await?),
        Step::Create if resource.namespaced => {
            let place = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            // Mostly it is there, or not ours to make; what needs it says so itself.
            let _there = api.post(&with_all("/api/v1/namespaces", &parameters), &place).await;
        }
        Step::Create | Step::Nothing => {}
    }
    api.post(&collection, &plan.object).await
}

fn tell(session: &Session<'_>, plan: &Plan, binds: bool) {
    let step = match plan.step {
        Step::Nothing => return,
        Step::Create => "create",
        Step::Update => "update",
        Step::Recreate => "recreate",
    };
    let but = match opted_out(plan) {
        true => format!(", but object opted out ({UPDATES}: false)"),
        false => String::new(),
    };
    session.screen.warn(&format!("\treconciliation required {step}{but}"));
    let what = if binds { "subjects" } else { "rules" };
    for (done, all) in [("missing", &plan.added), ("extra", &plan.removed)] {
        if !all.is_empty() {
            let verb = if done == "missing" { "added" } else { "removed" };
            session.screen.warn(&format!("\t{done} {what} {verb}:"));
        }
        for one in all {
            let told = if binds { subject(one) } else { rules::told(one) };
            session.screen.warn(&format!("\t\t{told}"));
        }
    }
}

fn subject(one: &Value) -> String {
    let text = |key: &str| text(&one[key]);
    format!(
        "{{Kind:{} APIGroup:{} Name:{} Namespace:{}}}",
        text("kind"),
        text("apiGroup"),
        text("name"),
        text("namespace")
    )
}
