//! `run`: one pod from an image.

mod attached;

use serde_json::{Map, Value, json};

use crate::args::{Command, Flag, OUTPUT, Part, TIMEOUT, Typed, WRITE, switch, value};
use crate::error::CliError;
use crate::print::Output;
use crate::session::{DryRun, Session};
use crate::verbs::{create, expose};

const FLAGS: &[Flag] = &[
    value("image", "IMAGE", "What to run"),
    switch("command", "What follows -- is the command, not its arguments"),
    value("env", "KEY=VALUE", "An environment variable; can be repeated"),
    value("labels", "LABELS", "The pod's labels").or('l'),
    value("annotations", "KEY=VALUE", "An annotation; can be repeated"),
    value("port", "PORT", "The port that it listens on"),
    switch("expose", "Make a service for it too; needs --port"),
    value("restart", "POLICY", "Always, OnFailure or Never"),
    value("image-pull-policy", "POLICY", "Always, IfNotPresent or Never"),
    value("overrides", "JSON", "What is merged into the pod"),
    switch("privileged", "Run it with every right"),
    switch("stdin", "Keep its standard input open").or('i'),
    switch("tty", "Give it a terminal").or('t'),
    switch("attach", "Wait until it runs, then show what it writes"),
    switch("rm", "Delete it when it is left; for pods that are attached to"),
    switch("quiet", "Say no more than the pod does").or('q'),
    value("pod-running-timeout", "DURATION", "How long to wait until it runs"),
];

pub(crate) static COMMAND: Command = Command {
    name: "run",
    about: "Run an image in a pod",
    usage: "NAME --image=IMAGE [-- ARGUMENTS…]",
    examples: &[
        "run web --image=nginx --port=80 --expose",
        "run job --image=busybox --restart=Never -- echo hello",
    ],
    flags: &[FLAGS, OUTPUT, WRITE, TIMEOUT],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let [name, arguments @ ..] = &typed.words[..] else {
        return Err(typed.wrong("NAME is required for run"));
    };
    let attach = typed.is("attach") || typed.is("stdin");
    if session.dry_run()? != DryRun::None && (attach || typed.is("tty")) {
        return Err(typed.wrong(
            "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
        ));
    }
    for (flag, what, known) in [
        ("restart", "restart policy", ["Always", "OnFailure", "Never"]),
        ("image-pull-policy", "image pull policy", ["Always", "IfNotPresent", "Never"]),
    ] {
        if let Some(given) = typed.text(flag).filter(|given| !given.is_empty() && !known.contains(given)) {
            return Err(typed.wrong(format!("invalid {what}: {given}\nThere are {}", known.join(", "))));
        }
    }
    let mut pod = pod(typed, name, arguments)?;
    if let Some(text) = typed.text("overrides") {
        expose::merge(&mut pod, crate::input::read(text, "--overrides")?);
    }
    let output = Output::of(typed)?;
    if typed.is("expose") {
        let port = typed
            .number("port")?
            .ok_or_else(|| CliError::usage("--port must be set when exposing a service"))?;
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": pod["metadata"]["labels"], "ports": [{"port": port, "targetPort": port, "protocol": "TCP"}]},
        });
        create::one(session, typed, &output, service, "kubectl-run", "created").await?;
    }
    if typed.is("rm") && !attach {
        return Err(CliError::usage("--rm should only be used for attached containers"));
    }
    if !attach {
        return create::one(session, typed, &output, pod, "kubectl-run", "created").await.map(drop);
    }
    let made = attached::create(session, &pod).await?;
    let done = attached::follow(session, typed, &made).await;
    if typed.is("rm") {
        attached::remove(session, &made, typed.is("quiet")).await?;
    }
    done
}

fn pod(typed: &Typed, name: &str, arguments: &[String]) -> Result<Value, CliError> {
    let image = typed.text("image").ok_or_else(|| typed.wrong("required flag(s) \"image\" not set"))?;
    if image.is_empty() {
        return Err(CliError::usage("--image is required"));
    }
    let mut container = json!({"name": name, "image": image});
    if !arguments.is_empty() {
        container[if typed.is("command") { "command" } else { "args" }] = json!(arguments);
    }
    let variable = |text: &String| match text.split_once('=') {
        Some((key, value)) => Ok(json!({"name": key, "value": value})),
        None => Err(CliError::usage(format!("invalid env: {text}\nKEY=VALUE is meant"))),
    };
    let variables = typed.all("env").iter().map(variable).collect::<Result<Vec<_>, _>>()?;
    if !variables.is_empty() {
        container["env"] = variables.into();
    }
    if let Some(port) = typed.number("port")? {
        container["ports"] = json!([{"containerPort": port}]);
    }
    if let Some(policy) = typed.text("image-pull-policy") {
        container["imagePullPolicy"] = policy.into();
    }
    if typed.is("privileged") {
        container["securityContext"] = json!({"privileged": true});
    }
    if typed.is("stdin") {
        container["stdin"] = true.into();
        container["stdinOnce"] = true.into();
    }
    if typed.is("tty") {
        container["tty"] = true.into();
    }
    let labels = match typed.given("labels") {
        true => map(typed.pairs("labels")?),
        false => json!({"run": name}),
    };
    let mut metadata = json!({"name": name, "labels": labels});
    if typed.given("annotations") {
        metadata["annotations"] = map(typed.pairs("annotations")?);
    }
    Ok(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {
            "containers": [container], "dnsPolicy": "ClusterFirst",
            "restartPolicy": typed.text("restart").unwrap_or("Always"),
        },
    }))
}

fn map(pairs: Vec<(String, String)>) -> Value {
    pairs.into_iter().map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>().into()
}
