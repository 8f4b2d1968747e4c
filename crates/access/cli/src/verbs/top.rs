//! `top`: what nodes and pods use right now, as the metrics API tells it.

use kedge_kinds::Quantity;
use serde_json::Value;

use crate::args::{Command, EVERYWHERE, Flag, Part, SELECT, Typed, switch, value};
use crate::client::with;
use crate::describe::shown::{items, text};
use crate::error::CliError;
use crate::print::table::{Widths, aligned};
use crate::select;
use crate::session::Session;

const METRICS: &str = "/apis/metrics.k8s.io/v1beta1";
const MEBI: i64 = 1024 * 1024;

const FLAGS: &[Flag] = &[
    value("sort-by", "FIELD", "cpu or memory, the most first"),
    switch("no-headers", "Leave the headings out"),
    switch("use-protocol-buffers", "Taken and ignored"),
];
const POD_FLAGS: &[Flag] =
    &[switch("containers", "Show containers one by one"), switch("sum", "Show the sum in the last line")];
const NODE_FLAGS: &[Flag] =
    &[switch("show-capacity", "Compare with all of the node, not with what pods can have")];

pub(crate) static COMMAND: Command = Command {
    name: "top",
    about: "Show what nodes or pods use",
    children: &[&NODES, &PODS],
    part: Part::Cluster,
    ..Command::EMPTY
};

static NODES: Command = Command {
    name: "node",
    aliases: &["nodes", "no"],
    about: "Show what nodes use",
    usage: "[NAME | -l SELECTOR]",
    examples: &["top node", "top node --sort-by=memory"],
    flags: &[FLAGS, NODE_FLAGS, SELECT],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(nodes(session, typed))),
    ..Command::EMPTY
};

static PODS: Command = Command {
    name: "pod",
    aliases: &["pods", "po"],
    about: "Show what pods use",
    usage: "[NAME | -l SELECTOR]",
    examples: &["top pod -A", "top pod web-1 --containers", "top pod -l app=web --sort-by=cpu"],
    flags: &[FLAGS, POD_FLAGS, SELECT, EVERYWHERE],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(pods(session, typed))),
    ..Command::EMPTY
};

/// CPU in thousandths and memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    cpu: i64,
    memory: i64,
}

impl Usage {
    fn of(list: &Value) -> Self {
        let amount = |name: &str| text(&list[name]).parse().unwrap_or(Quantity::ZERO);
        Self { cpu: amount("cpu").milli_value(), memory: amount("memory").value() }
    }

    fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |sum, one| Self { cpu: sum.cpu + one.cpu, memory: sum.memory + one.memory })
    }

    fn cells(self) -> [String; 2] {
        [format!("{}m", self.cpu), format!("{}Mi", self.memory / MEBI)]
    }
}

/// What rows are sorted by.
#[derive(Clone, Copy)]
enum Order {
    Name,
    Cpu,
    Memory,
}

impl Order {
    fn of(typed: &Typed) -> Result<Self, CliError> {
        match typed.text("sort-by") {
            None | Some("") => Ok(Self::Name),
            Some("cpu") => Ok(Self::Cpu),
            Some("memory") => Ok(Self::Memory),
            Some(_) => Err(CliError::usage("--sort-by accepts only cpu or memory")),
        }
    }

    fn sort<T>(self, rows: &mut [T], key: impl Fn(&T) -> (String, Usage)) {
        rows.sort_by_cached_key(|row| {
            let (name, usage) = key(row);
            let most_first = match self {
                Self::Name => 0,
                Self::Cpu => -usage.cpu,
                Self::Memory => -usage.memory,
            };
            (most_first, name)
        });
    }
}

/// All measurements, or the one of a name.
async fn measured(session: &Session<'_>, typed: &Typed, path: &str) -> Result<Vec<Value>, CliError> {
    if let [name] = typed.words.as_slice() {
        if typed.given("selector") {
            return Err(CliError::usage("only one of NAME or selector can be provided"));
        }
        return Ok(vec![session.read(&format!("{path}/{name}")).await.map_err(without)?]);
    }
    let list = session.read(&with(path, select::selectors(typed))).await.map_err(without)?;
    Ok(items(&list["items"]).to_vec())
}

/// Without measurements there is no such API at all.
fn without(error: CliError) -> CliError {
    match error {
        CliError::Server(refusal)
            if refusal.code == 404
                && refusal.status["details"]["name"].as_str().is_none_or(str::is_empty) =>
        {
            CliError::unmet("Metrics API not available")
        }
        other => other,
    }
}

async fn nodes(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let order = Order::of(typed)?;
    let mut measured = measured(session, typed, &format!("{METRICS}/nodes")).await?;
    if measured.is_empty() {
        return Err(CliError::unmet("metrics not available yet"));
    }
    let list = session.read("/api/v1/nodes").await?;
    order.sort(&mut measured, |one| (text(&one["metadata"]["name"]).to_owned(), Usage::of(&one["usage"])));
    let mut rows = Vec::new();
    if !typed.is("no-headers") {
        rows.push(["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"].map(str::to_owned).to_vec());
    }
    let whole = if typed.is("show-capacity") { "capacity" } else { "allocatable" };
    for one in &measured {
        let name = text(&one["metadata"]["name"]);
        let node = items(&list["items"]).iter().find(|node| node["metadata"]["name"] == name);
        let (used, all) = (Usage::of(&one["usage"]), node.map(|node| Usage::of(&node["status"][whole])));
        let percent = |part: i64, all: Option<i64>| match all {
            Some(all @ 1..) => format!("{}%", i128::from(part) * 100 / i128::from(all)),
            _ => "<unknown>".to_owned(),
        };
        let [cpu, memory] = used.cells();
        let cpu_part = percent(used.cpu, all.map(|all| all.cpu));
        let memory_part = percent(used.memory, all.map(|all| all.memory));
        rows.push(vec![name.to_owned(), cpu, cpu_part, memory, memory_part]);
    }
    session.screen.say(&aligned(&rows, &mut Widths::default()))
}

async fn pods(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let order = Order::of(typed)?;
    let everywhere = typed.is("all-namespaces");
    let namespace = session.namespace()?;
    let path = match everywhere {
        true => format!("{METRICS}/pods"),
        false => format!("{METRICS}/namespaces/{namespace}/pods"),
    };
    let mut measured = measured(session, typed, &path).await?;
    if measured.is_empty() {
        // Pods that are too young to have been measured are another thing than no pods.
        let path = if everywhere {
            "/api/v1/pods".to_owned()
        } else {
            format!("/api/v1/namespaces/{namespace}/pods")
        };
        let pods = session.read(&with(&path, select::selectors(typed))).await?;
        if !items(&pods["items"]).is_empty() {
            return Err(CliError::unmet("metrics not available yet"));
        }
        match everywhere {
            true => session.screen.warn("No resources found"),
            false => session.screen.warn(&format!("No resources found in {namespace} namespace.")),
        }
        return Ok(());
    }
    order.sort(&mut measured, |pod| {
        let meta = &pod["metadata"];
        (format!("{}/{}", text(&meta["namespace"]), text(&meta["name"])), of_pod(pod))
    });
    let one_by_one = typed.is("containers");
    let mut rows = Vec::new();
    if !typed.is("no-headers") {
        rows.push(headings(everywhere, one_by_one));
    }
    for pod in &measured {
        rows.extend(rows_of(pod, everywhere, one_by_one, order));
    }
    if typed.is("sum") {
        let [cpu, memory] = Usage::sum(measured.iter().map(of_pod)).cells();
        let before = usize::from(everywhere) + usize::from(one_by_one);
        let line = |name: &str, cpu: String, memory: String| {
            let mut line = vec![String::new(); before];
            line.extend([name.to_owned(), cpu, memory]);
            line
        };
        rows.push(line("", "________".to_owned(), "________".to_owned()));
        rows.push(line("", cpu, memory));
    }
    session.screen.say(&aligned(&rows, &mut Widths::default()))
}

fn headings(namespace: bool, one_by_one: bool) -> Vec<String> {
    let names = [
        ("NAMESPACE", namespace),
        ("POD", one_by_one),
        ("NAME", true),
        ("CPU(cores)", true),
        ("MEMORY(bytes)", true),
    ];
    names.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| name.to_owned()).collect()
}

fn rows_of(pod: &Value, namespace: bool, one_by_one: bool, order: Order) -> Vec<Vec<String>> {
    let meta = &pod["metadata"];
    let first = namespace.then(|| text(&meta["namespace"]).to_owned());
    let name = text(&meta["name"]).to_owned();
    if !one_by_one {
        let cells = first.into_iter().chain([name]).chain(of_pod(pod).cells());
        return vec![cells.collect()];
    }
    let mut containers: Vec<&Value> = items(&pod["containers"]).iter().collect();
    order.sort(&mut containers, |one| (text(&one["name"]).to_owned(), Usage::of(&one["usage"])));
    let rows = containers.into_iter().map(|container| {
        let own = [name.clone(), text(&container["name"]).to_owned()];
        first.clone().into_iter().chain(own).chain(Usage::of(&container["usage"]).cells()).collect()
    });
    rows.collect()
}

fn of_pod(pod: &Value) -> Usage {
    Usage::sum(items(&pod["containers"]).iter().map(|container| Usage::of(&container["usage"])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Order, rows_of};

    #[test]
    fn pods_are_told_whole_or_one_by_one() {
        let pod = json!({"metadata": {"name": "a", "namespace": "x"}, "containers": [
            {"name": "one", "usage": {"cpu": "1500u", "memory": "2Mi"}},
            {"name": "two", "usage": {"cpu": "250m", "memory": "1536Ki"}},
        ]});
        for (case, namespace, one_by_one, order, rows) in [
            ("whole", false, false, Order::Name, vec!["a 252m 3Mi"]),
            ("with its namespace", true, false, Order::Name, vec!["x a 252m 3Mi"]),
            ("by name", false, true, Order::Name, vec!["a one 2m 2Mi", "a two 250m 1Mi"]),
            ("by cpu", false, true, Order::Cpu, vec!["a two 250m 1Mi", "a one 2m 2Mi"]),
            ("by memory", false, true, Order::Memory, vec!["a one 2m 2Mi", "a two 250m 1Mi"]),
        ] {
            let got: Vec<String> =
                rows_of(&pod, namespace, one_by_one, order).iter().map(|row| row.join(" ")).collect();
            assert_eq!(got, rows, "{case}");
        }
    }
}
