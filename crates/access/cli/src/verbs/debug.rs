//! `debug`: a look into a pod that has no shell of its own: a further container in it, a copy of it that may be changed, or a pod on a node
//! that sees the whole machine.

mod plan;
mod profile;

use serde_json::{Value, json};

use self::plan::Wish;
use self::profile::{Keep, Profile};
use super::{pods, stay};
use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::client::{STRATEGIC, with_all};
use crate::describe::shown::{items, text};
use crate::error::CliError;
use crate::input;
use crate::select;
use crate::session::Session;

const MANAGER: &str = "kubectl-debug";

const FLAGS: &[Flag] = &[
    value("image", "IMAGE", "What the container is made from"),
    value("container", "NAME", "What the container is called, or which one of a copy is changed").or('c'),
    value("target", "CONTAINER", "See the processes of this container"),
    switch("stdin", "Give it our input").or('i'),
    switch("tty", "Give it a terminal").or('t'),
    switch("attach", "Wait until it runs, then attach to it; so unless said otherwise with -i"),
    switch("arguments-only", "What follows -- are arguments, not the command"),
    value("env", "KEY=VALUE", "An environment variable; can be repeated"),
    value("image-pull-policy", "POLICY", "Always, IfNotPresent or Never"),
    value("profile", "NAME", "What it may do: general, baseline, restricted, netadmin, sysadmin"),
    value("custom", "FILE", "A part of a container, merged into the one that is made"),
    value("copy-to", "NAME", "Leave the pod alone and make a copy of this name"),
    switch("replace", "With --copy-to: delete the pod itself"),
    switch("same-node", "With --copy-to: on the same node"),
    value("set-image", "CONTAINER=IMAGE,…", "With --copy-to: other images; * is every container"),
    switch("share-processes", "With --copy-to: its containers see each other's processes; so unless =false"),
    switch("keep-labels", "With --copy-to: keep the labels"),
    switch("keep-annotations", "With --copy-to: keep the annotations"),
    switch("keep-liveness", "With --copy-to: keep the liveness probes"),
    switch("keep-readiness", "With --copy-to: keep the readiness probes"),
    switch("keep-startup", "With --copy-to: keep the startup probes"),
    switch("keep-init-containers", "With --copy-to: keep the init containers; so unless =false"),
    value("filename", "FILE", "A manifest that names the pod or node").or('f'),
    switch("quiet", "Show only what the container says").or('q'),
];

pub(crate) static COMMAND: Command = Command {
    name: "debug",
    about: "Look into a pod or node with a container made for it",
    usage: "(POD | KIND/NAME) --image=IMAGE [-it] [-- COMMAND [ARGUMENT…]]",
    examples: &[
        "debug web-1 -it --image=busybox",
        "debug web-1 -it --image=busybox --target=app -- sh",
        "debug web-1 -it --copy-to=web-copy --container=app -- sh",
        "debug node/n1 -it --image=busybox",
    ],
    flags: &[FLAGS],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let (targets, arguments) = typed.words.split_at(typed.dash.unwrap_or(typed.words.len()));
    let wish = wish(typed, arguments)?;
    possible(typed, &wish, targets)?;
    if let Some(target) = wish.target.filter(|_| !wish.quiet) {
        session.screen.line(&format!(
            "Targeting container {target:?}. If you don't see processes from this container it may be because the \
             container runtime doesn't support this feature."
        ))?;
    }
    if wish.profile == Profile::Legacy {
        session.screen.warn(
            "--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other \
             profile, for example \"--profile=general\".",
        );
    }
    for (kind, object) in meant(session, typed, targets).await? {
        let (pod, container) = match &*kind {
            "Pod" if wish.copy_to.is_some() => copied(session, typed, &wish, &object).await?,
            "Pod" => joined(session, &wish, &object).await?,
            "Node" => beside(session, &wish, text(&object["metadata"]["name"])).await?,
            other => return Err(CliError::unmet(format!("{other:?} not supported by debug"))),
        };
        if typed.is_or("attach", wish.stdin) && !container.is_empty() {
            let begun = stay::begun(session, typed, &pod, &container).await?;
            stay::along(session, typed, &begun, &container).await?;
        }
    }
    Ok(())
}

fn wish<'t>(typed: &'t Typed, arguments: &'t [String]) -> Result<Wish<'t>, CliError> {
    let text = |flag: &str| typed.text(flag).filter(|text| !text.is_empty());
    let custom = match typed.text("custom") {
        Some(path) => Some(input::read(&input::file(path.as_ref())?, path)?),
        None => None,
    };
    Ok(Wish {
        image: text("image"),
        container: text("container"),
        target: text("target"),
        arguments,
        arguments_only: typed.is("arguments-only"),
        stdin: typed.is("stdin"),
        tty: typed.is("tty"),
        env: typed.pairs("env")?,
        pull_policy: text("image-pull-policy"),
        copy_to: text("copy-to"),
        share: typed.given("share-processes").then(|| typed.is("share-processes")),
        same_node: typed.is("same-node"),
        images: typed.pairs("set-image")?,
        profile: Profile::parse(typed.text("profile").unwrap_or("general"))?,
        keep: Keep {
            labels: typed.is("keep-labels"),
            annotations: typed.is("keep-annotations"),
            liveness: typed.is("keep-liveness"),
            readiness: typed.is("keep-readiness"),
            startup: typed.is("keep-startup"),
            init_containers: typed.is_or("keep-init-containers", true),
        },
        custom,
        quiet: typed.is("quiet"),
    })
}

/// In kubectl's words.
fn possible(typed: &Typed, wish: &Wish<'_>, targets: &[String]) -> Result<(), CliError> {
    let own = ["name", "command", "image", "lifecycle", "volumeDevices"];
    let custom = |key: &&str| wish.custom.as_ref().is_some_and(|custom| !custom[*key].is_null());
    let wrong = if typed.is("attach") && wish.image.is_none() && wish.container.is_none() {
        "you must specify --container or create a new container using --image in order to attach."
    } else if wish.copy_to.is_some()
        && wish.image.is_none()
        && wish.images.is_empty()
        && wish.arguments.is_empty()
    {
        "you must specify --image, --set-image or command arguments."
    } else if wish.copy_to.is_some()
        && !wish.arguments.is_empty()
        && wish.container.is_none()
        && wish.image.is_none()
    {
        "you must specify an existing container or a new image when specifying args."
    } else if wish.copy_to.is_none() && typed.is("replace") {
        "--replace may only be used with --copy-to."
    } else if wish.copy_to.is_none() && wish.same_node {
        "--same-node may only be used with --copy-to."
    } else if wish.copy_to.is_none() && !wish.images.is_empty() {
        "--set-image may only be used with --copy-to."
    } else if wish.copy_to.is_none() && wish.image.is_none() {
        "you must specify --image when not using --copy-to."
    } else if targets.is_empty() && !typed.given("filename") {
        "NAME or filename is required for debug"
    } else if wish.copy_to.is_some() && wish.target.is_some() {
        "--target is incompatible with --copy-to. Use --share-processes instead."
    } else if wish.tty && !wish.stdin {
        "-i/--stdin is required for containers with -t/--tty=true"
    } else if own.iter().any(custom) {
        "name, command, image, lifecycle and volume devices are not modifiable via custom profile"
    } else {
        return Ok(());
    };
    Err(CliError::usage(wrong))
}

/// The pods and nodes that are named, each with its kind.
async fn meant(
    session: &Session<'_>,
    typed: &Typed,
    targets: &[String],
) -> Result<Vec<(String, Value)>, CliError> {
    let pods: Vec<String> = targets
        .iter()
        .map(|word| if word.contains('/') { word.clone() } else { format!("pods/{word}") })
        .collect();
    let found = select::found(session, typed, &pods).await?;
    Ok(found.into_iter().map(|one| (one.resource.kind.clone(), one.object)).collect())
}

/// A further container in the pod itself.
async fn joined(session: &Session<'_>, wish: &Wish<'_>, pod: &Value) -> Result<(Value, String), CliError> {
    let name = container_name(session, wish, pod)?;
    let container = plan::ephemeral(wish, &name)?;
    warn_of_user(session, pod, &container);
    // Without an order, what is new would come first.
    let known = items(&pod["spec"]["ephemeralContainers"]).iter().map(|one| json!({"name": one["name"]}));
    let order: Vec<Value> = known.chain([json!({"name": name})]).collect();
    let patch = json!({"spec": {
        "$setElementOrder/ephemeralContainers": order, "ephemeralContainers": [container],
    }});
    let path = with_all(&pods::path(pod, "ephemeralcontainers"), &session.writing(MANAGER)?);
    Ok((session.api().await?.patch(&path, STRATEGIC, &patch).await?, name))
}

async fn copied(
    session: &Session<'_>,
    typed: &Typed,
    wish: &Wish<'_>,
    pod: &Value,
) -> Result<(Value, String), CliError> {
    let name = match wish.container {
        Some(name) => name.to_owned(),
        // Whoever only sets images needs no further container.
        None if wish.image.is_none() => String::new(),
        None => container_name(session, wish, pod)?,
    };
    let copy = plan::copy(wish, pod, &name)?;
    let changed = items(&copy["spec"]["containers"]).iter().find(|one| one["name"] == name.as_str());
    changed.iter().for_each(|container| warn_of_user(session, &copy, container));
    let made = create(session, text(&pod["metadata"]["namespace"]), &copy).await?;
    if typed.is("replace") {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
        session.api().await?.delete(pods::path(pod, "").trim_end_matches('/'), &options).await?;
    }
    Ok((made, name))
}

/// A pod on a node, which sees the machine.
async fn beside(session: &Session<'_>, wish: &Wish<'_>, node: &str) -> Result<(Value, String), CliError> {
    let container = wish.container.unwrap_or("debugger");
    let name = format!("node-debugger-{node}-{}", letters(session));
    if !wish.quiet {
        session
            .screen
            .line(&format!("Creating debugging pod {name} with container {container} on node {node}."))?;
    }
    let pod = plan::on_node(wish, node, &name, container)?;
    Ok((create(session, &session.namespace()?, &pod).await?, container.to_owned()))
}

async fn create(session: &Session<'_>, namespace: &str, pod: &Value) -> Result<Value, CliError> {
    let path = with_all(&format!("/api/v1/namespaces/{namespace}/pods"), &session.writing(MANAGER)?);
    session.api().await?.post(&path, pod).await
}

fn container_name(session: &Session<'_>, wish: &Wish<'_>, pod: &Value) -> Result<String, CliError> {
    if let Some(name) = wish.container {
        return Ok(name.to_owned());
    }
    let taken = pods::containers(pod);
    let name = loop {
        let name = format!("debugger-{}", letters(session));
        if !taken.contains(&&*name) {
            break name;
        }
    };
    if !wish.quiet {
        session.screen.line(&format!("Defaulting debug container name to {name}."))?;
    }
    Ok(name)
}

/// Five that are unlike those of others, without vowels, so that they are no words.
fn letters(session: &Session<'_>) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut chance = session.clock.chance();
    let mut draw = || {
        let drawn = usize::try_from(chance % LETTERS.len() as u128).unwrap_or_default();
        chance /= LETTERS.len() as u128;
        LETTERS.get(drawn).copied().map_or('x', char::from)
    };
    (0..5).map(|_| draw()).collect()
}

/// Rights are of little use to those who are not root.
fn warn_of_user(session: &Session<'_>, pod: &Value, container: &Value) {
    let rights = &container["securityContext"];
    let is_user = |user: &Value| user.as_i64().is_some_and(|user| user != 0);
    let is_root = |user: &Value| user.as_i64() == Some(0);
    let given = rights["privileged"] == true || !items(&rights["capabilities"]["add"]).is_empty();
    if is_user(&pod["spec"]["securityContext"]["runAsUser"]) && !is_root(&rights["runAsUser"]) && given {
        session.screen.warn(
            "Warning: Non-root user is configured for the entire target Pod, and some capabilities granted by debug \
             profile may not work. Please consider using \"--custom\" with a custom profile that specifies \
             \"securityContext.runAsUser: 0\".",
        );
    }
}
