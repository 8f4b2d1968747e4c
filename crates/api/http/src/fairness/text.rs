//! The counters of priority and fairness, under the names that dashboards know.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use super::gate::Gate;

pub(super) fn metrics<'g>(gates: impl Iterator<Item = &'g Gate> + Clone) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, line: &dyn Fn(&mut String, &Gate)| {
        let _infallible = writeln!(text, "# TYPE apiserver_flowcontrol_{name} {kind}");
        gates.clone().for_each(|gate| line(&mut text, gate));
    };
    let mut gauge = |name: &'static str, value: fn(&Gate) -> usize| {
        family(name, "gauge", &move |text, gate| {
            let level = gate.name();
            let _infallible =
                writeln!(text, "apiserver_flowcontrol_{name}{{priority_level=\"{level}\"}} {}", value(gate));
        });
    };
    gauge("nominal_limit_seats", Gate::seats);
    gauge("current_limit_seats", Gate::seats);
    gauge("current_executing_requests", Gate::used);
    gauge("current_executing_seats", Gate::used);
    gauge("current_inqueue_requests", Gate::waiting);
    family("dispatched_requests", "counter", &|text, gate| {
        let (level, count) = (gate.name(), gate.counts.dispatched.load(Ordering::Relaxed));
        let _infallible = writeln!(
            text,
            "apiserver_flowcontrol_dispatched_requests_total{{priority_level=\"{level}\"}} {count}"
        );
    });
    family("rejected_requests", "counter", &|text, gate| {
        for (reason, count) in [("queue-full", &gate.counts.full), ("time-out", &gate.counts.late)] {
            let (level, count) = (gate.name(), count.load(Ordering::Relaxed));
            let _infallible = writeln!(
                text,
                "apiserver_flowcontrol_rejected_requests_total{{priority_level=\"{level}\",reason=\"{reason}\"}} {count}"
            );
        }
    });
    text
}
