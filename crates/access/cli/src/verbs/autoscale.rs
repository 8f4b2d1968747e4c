//! `autoscale`: a HorizontalPodAutoscaler for a workload.

use serde_json::{Value, json};

use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, Typed, WRITE, value};
use crate::error::CliError;
use crate::mapping::Resource;
use crate::print::Output;
use crate::select;
use crate::session::Session;
use crate::verbs::create;

const FLAGS: &[Flag] = &[
    value("min", "NUMBER", "At least this many pods"),
    value("max", "NUMBER", "At most this many pods"),
    value("cpu-percent", "PERCENT", "The part of the requested CPU that pods are to use"),
    value("cpu", "AMOUNT", "The CPU that a pod is to use: 70% of the request, or 500m"),
    value("memory", "AMOUNT", "The memory that a pod is to use: 70% of the request, or 200Mi"),
    value("name", "NAME", "The autoscaler's name, if not the workload's"),
];

pub(crate) static COMMAND: Command = Command {
    name: "autoscale",
    about: "Let load decide how many pods a workload has",
    usage: "(-f FILE | KIND NAME) --max=NUMBER [--min=NUMBER] [--cpu-percent=PERCENT]",
    examples: &["autoscale deployment web --min=2 --max=10 --cpu-percent=70"],
    flags: &[FLAGS, FILES, OUTPUT, WRITE, SELECT],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if !typed.given("max") {
        return Err(typed.wrong("required flag(s) \"max\" not set"));
    }
    let most = typed.number("max")?.unwrap_or(-1);
    if most < 1 {
        return Err(CliError::usage(format!(
            "--max=MAXPODS is required and must be at least 1, max: {most}"
        )));
    }
    let least = typed.number("min")?.filter(|least| *least >= 1);
    if least.is_some_and(|least| least > most) {
        return Err(CliError::usage(format!(
            "--max=MAXPODS must be larger or equal to --min=MINPODS, max: {most}, min: {}",
            least.unwrap_or_default()
        )));
    }
    let output = Output::of(typed)?;
    for found in select::found(session, typed, &typed.words).await? {
        if !found.resource.has("scale") {
            let Resource { group, version, plural, kind, .. } = found.resource;
            return Err(CliError::unmet(format!(
                "cannot autoscale a {kind}: could not find scale subresource for {group}/{version}, Resource={plural} in discovery \
                 information"
            )));
        }
        let mut spec = json!({
            "scaleTargetRef": {"apiVersion": found.resource.api_version(), "kind": found.resource.kind, "name": found.name},
            "maxReplicas": most,
        });
        if let Some(least) = least {
            spec["minReplicas"] = least.into();
        }
        let metrics = metrics(typed)?;
        if !metrics.is_empty() {
            spec["metrics"] = metrics.into();
        }
        let name = typed.text("name").unwrap_or(&found.name);
        let object = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name, "namespace": found.namespace}, "spec": spec,
        });
        create::one(session, typed, &output, object, "kubectl-autoscale", "autoscaled").await?;
    }
    Ok(())
}

fn metrics(typed: &Typed) -> Result<Vec<Value>, CliError> {
    let mut metrics = Vec::new();
    let mut add = |name: &str, target: Value| {
        metrics.push(json!({"type": "Resource", "resource": {"name": name, "target": target}}));
    };
    if let Some(part) = typed.number("cpu-percent")?.filter(|part| *part > 0) {
        add("cpu", json!({"type": "Utilization", "averageUtilization": part}));
    }
    for name in ["cpu", "memory"] {
        let Some(text) = typed.text(name) else { continue };
        add(
            name,
            match text.strip_suffix('%').map(str::parse::<i64>) {
                Some(Ok(part)) => json!({"type": "Utilization", "averageUtilization": part}),
                _ => json!({"type": "AverageValue", "averageValue": text}),
            },
        );
    }
    Ok(metrics)
}
