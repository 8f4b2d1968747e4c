//! Generators of what runs: deployments, jobs, cron jobs, and what rules over pods.

use serde_json::{Value, json};

use super::{generated, name, required};
use crate::args::{Command, Flag, OUTPUT, Typed, WRITE, switch, value};
use crate::error::CliError;
use crate::session::Session;

pub(super) static DEPLOYMENT: Command = Command {
    name: "deployment",
    aliases: &["deploy", "dep"],
    about: "Create a deployment",
    usage: "NAME --image=IMAGE [-- COMMAND…]",
    flags: &[
        &[
            value("image", "IMAGE", "What to run; can be repeated"),
            value("replicas", "NUMBER", "How many pods").or('r'),
            value("port", "PORT", "The port that it listens on"),
        ],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, deployment(typed)?).await })),
    ..Command::EMPTY
};

fn deployment(typed: &Typed) -> Result<Value, CliError> {
    let name = name(typed)?;
    required(typed, "image")?;
    let command = typed.words.get(1..).unwrap_or_default();
    let images = typed.list("image");
    if images.len() > 1 && !command.is_empty() {
        return Err(CliError::usage("cannot specify multiple --image options and command"));
    }
    let mut containers: Vec<Value> = Vec::new();
    for image in &images {
        let mut container = json!({"name": container_name(image), "image": image});
        if !command.is_empty() {
            container["command"] = json!(command);
        }
        containers.push(container);
    }
    if let (Some(port), Some(first)) = (typed.number("port")?, containers.first_mut()) {
        first["ports"] = json!([{"containerPort": port}]);
    }
    let labels = json!({"app": name});
    Ok(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": typed.number("replicas")?.unwrap_or(1),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }))
}

/// The image's last part without tag and digest, as a name can be.
fn container_name(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or_default();
    let bare = last.split([':', '@']).next().unwrap_or_default();
    bare.replace(['_', '.'], "-")
}

pub(super) static JOB: Command = Command {
    name: "job",
    about: "Create a job, also from a cron job",
    usage: "NAME (--image=IMAGE | --from=cronjob/NAME) [-- COMMAND…]",
    flags: &[
        &[
            value("image", "IMAGE", "What to run"),
            value("from", "cronjob/NAME", "Run what this cron job runs, now"),
        ],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| {
        Box::pin(async {
            let job = match (typed.text("from"), typed.text("image")) {
                (Some(from), None) => from_cron_job(session, typed, from).await?,
                (None, Some(image)) => job(typed, image)?,
                _ => {
                    name(typed)?;
                    return Err(CliError::usage("either --image or --from must be specified"));
                }
            };
            generated(session, typed, job).await
        })
    }),
    ..Command::EMPTY
};

fn job(typed: &Typed, image: &str) -> Result<Value, CliError> {
    let name = name(typed)?;
    let container = container(name, image, typed);
    Ok(json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }))
}

fn container(name: &str, image: &str, typed: &Typed) -> Value {
    let mut container = json!({"name": name, "image": image});
    let command = typed.words.get(1..).unwrap_or_default();
    if !command.is_empty() {
        container["command"] = json!(command);
    }
    container
}

async fn from_cron_job(session: &Session<'_>, typed: &Typed, from: &str) -> Result<Value, CliError> {
    if typed.words.len() > 1 {
        return Err(CliError::usage("cannot specify --from and command"));
    }
    let asked = crate::select::asked(session.mapping().await?, &[from.to_owned()])?;
    let (resource, cron) = match &asked[..] {
        [one] if one.resource.kind == "CronJob" && one.names.len() == 1 => (one.resource, one.names.concat()),
        _ => return Err(CliError::usage("from must be an existing cronjob: --from=cronjob/NAME")),
    };
    let cron = session.read(&resource.path(&session.namespace()?, &cron)).await?;
    let template = &cron["spec"]["jobTemplate"];
    let mut metadata =
        json!({"name": name(typed)?, "annotations": {"cronjob.kubernetes.io/instantiate": "manual"}});
    for (key, value) in template["metadata"]["annotations"].as_object().into_iter().flatten() {
        metadata["annotations"][key] = value.clone();
    }
    if !template["metadata"]["labels"].is_null() {
        metadata["labels"] = template["metadata"]["labels"].clone();
    }
    metadata["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "CronJob", "controller": true,
        "name": cron["metadata"]["name"], "uid": cron["metadata"]["uid"],
    }]);
    Ok(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}))
}

pub(super) static CRON_JOB: Command = Command {
    name: "cronjob",
    aliases: &["cj"],
    about: "Create a cron job",
    usage: "NAME --image=IMAGE --schedule='0/5 * * * *' [-- COMMAND…]",
    flags: &[
        &[
            value("image", "IMAGE", "What to run"),
            value("schedule", "CRON", "When"),
            value("restart", "POLICY", "OnFailure or Never"),
        ],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, cron_job(typed)?).await })),
    ..Command::EMPTY
};

fn cron_job(typed: &Typed) -> Result<Value, CliError> {
    let missing: Vec<String> = ["image", "schedule"]
        .into_iter()
        .filter(|flag| !typed.given(flag))
        .map(|flag| format!("{flag:?}"))
        .collect();
    if !missing.is_empty() {
        return Err(typed.wrong(format!("required flag(s) {} not set", missing.join(", "))));
    }
    let name = name(typed)?;
    let container = container(name, required(typed, "image")?, typed);
    let restart = typed.text("restart").unwrap_or("OnFailure");
    Ok(json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
        "spec": {
            "schedule": required(typed, "schedule")?,
            "jobTemplate": {
                "metadata": {"name": name},
                "spec": {"template": {"spec": {"containers": [container], "restartPolicy": restart}}},
            },
        },
    }))
}

const BUDGET: &[Flag] = &[
    value("selector", "SELECTOR", "Whose disruptions it limits"),
    value("min-available", "NUMBER", "How many stay, a number or a part in percent"),
    value("max-unavailable", "NUMBER", "How many may be missing, a number or a part in percent"),
];

pub(super) static DISRUPTION_BUDGET: Command = Command {
    name: "poddisruptionbudget",
    aliases: &["pdb"],
    about: "Create a pod disruption budget",
    usage: "NAME --selector=SELECTOR (--min-available=N | --max-unavailable=N)",
    flags: &[BUDGET, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, budget(typed)?).await })),
    ..Command::EMPTY
};

fn budget(typed: &Typed) -> Result<Value, CliError> {
    let name = name(typed)?;
    if !typed.given("selector") {
        return Err(CliError::usage("a selector must be specified"));
    }
    let labels: serde_json::Map<String, Value> =
        typed.pairs("selector")?.into_iter().map(|(key, value)| (key, value.into())).collect();
    let mut spec = json!({"selector": {"matchLabels": labels}});
    let amount = |text: &str| text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number));
    match (typed.text("min-available"), typed.text("max-unavailable")) {
        (Some(least), None) => spec["minAvailable"] = amount(least),
        (None, Some(most)) => spec["maxUnavailable"] = amount(most),
        (Some(_), Some(_)) => {
            return Err(CliError::usage("min-available and max-unavailable cannot be both specified"));
        }
        (None, None) => {
            return Err(CliError::usage("one of min-available or max-unavailable must be specified"));
        }
    }
    Ok(
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}),
    )
}

const PRIORITY: &[Flag] = &[
    value("value", "NUMBER", "The priority"),
    switch("global-default", "What pods have that name none"),
    value("description", "TEXT", "What it is for"),
    value("preemption-policy", "POLICY", "PreemptLowerPriority or Never"),
];

pub(super) static PRIORITY_CLASS: Command = Command {
    name: "priorityclass",
    aliases: &["pc"],
    about: "Create a priority class",
    usage: "NAME --value=NUMBER",
    flags: &[PRIORITY, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, priority(typed)?).await })),
    ..Command::EMPTY
};

fn priority(typed: &Typed) -> Result<Value, CliError> {
    let mut class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name(typed)?},
        "value": typed.number("value")?.unwrap_or_default(),
        "preemptionPolicy": typed.text("preemption-policy").unwrap_or("PreemptLowerPriority"),
    });
    if typed.is("global-default") {
        class["globalDefault"] = true.into();
    }
    if let Some(text) = typed.text("description") {
        class["description"] = text.into();
    }
    Ok(class)
}
