//! `/metrics/resource`: CPU and memory of the node, its pods and containers, which is all that an autoscaler needs.

use jiff::Timestamp;

use super::text::{Text, number, seconds};
use super::{Measured, Use};

pub(super) fn write(measured: &Measured) -> String {
    let mut text = Text::default();
    let at = Some(measured.at);
    let cpu = |used: &Use| used.sample.cpu.map(|cpu| seconds(cpu.total));
    let memory = |used: &Use| used.sample.memory.map(|memory| number(memory.working_set));
    let swap = |used: &Use| used.sample.memory.and_then(|memory| memory.swap).map(number);
    type Read<'a> = &'a dyn Fn(&Use) -> Option<f64>;
    let families: [(&str, &str, &str, Read<'_>); 3] = [
        (
            "cpu_usage_seconds_total",
            "counter",
            "Cumulative cpu time consumed by the {} in core-seconds",
            &cpu,
        ),
        ("memory_working_set_bytes", "gauge", "Current working set of the {} in bytes", &memory),
        ("swap_usage_bytes", "gauge", "Current amount of the {} swap usage in bytes", &swap),
    ];
    for (end, kind, help, read) in families {
        let mut family = |what: &str, lines: Vec<(Vec<(&str, &str)>, f64)>| {
            let name = format!("{what}_{end}");
            text.family(&name, kind, &help.replace("{}", what));
            lines.iter().for_each(|(labels, value)| text.line(&name, labels, *value, at));
        };
        let of_containers = measured.pods.iter().flat_map(|pod| {
            pod.containers.iter().filter_map(move |container| {
                let labels = vec![
                    ("container", &*container.name),
                    ("namespace", &*pod.namespace),
                    ("pod", &*pod.name),
                ];
                Some((labels, read(container.used.as_ref()?)?))
            })
        });
        family("container", of_containers.collect());
        let node = read(&measured.node.used).map(|value| (Vec::new(), value));
        family("node", node.into_iter().collect());
        let of_pods = measured.pods.iter().filter_map(|pod| {
            Some((vec![("namespace", &*pod.namespace), ("pod", &*pod.name)], read(pod.used.as_ref()?)?))
        });
        family("pod", of_pods.collect());
    }
    let name = "container_start_time_seconds";
    text.family(name, "gauge", "Start time of the container since unix epoch in seconds");
    for pod in &measured.pods {
        for container in &pod.containers {
            let labels =
                [("container", &*container.name), ("namespace", &*pod.namespace), ("pod", &*pod.name)];
            let Some(since) = container.since.map(unix) else { continue };
            text.line(name, &labels, since, at);
        }
    }
    text.family(
        "resource_scrape_error",
        "gauge",
        "1 if there was an error while getting container metrics, 0 otherwise",
    );
    text.line("resource_scrape_error", &[], 0.0, None);
    text.done()
}

#[expect(clippy::cast_precision_loss, reason = "a millisecond of this century is exact")]
pub(super) fn unix(moment: Timestamp) -> f64 {
    moment.as_millisecond() as f64 / 1000.0
}
