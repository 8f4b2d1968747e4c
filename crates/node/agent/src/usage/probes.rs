//! `/metrics/probes`: how often probes were tried, and with which result. Pure.

use super::text::{Text, number};
use crate::probes::Tally;

const NAME: &str = "prober_probe_total";

pub(super) fn write(tally: &Tally) -> String {
    let mut text = Text::default();
    let help = "Cumulative number of a liveness, readiness or startup probe for a container by result.";
    text.family(NAME, "counter", help);
    for (counted, count) in tally.all() {
        let labels = [
            ("container", &*counted.container),
            ("namespace", &counted.namespace),
            ("pod", &counted.pod),
            ("pod_uid", &counted.uid),
            ("probe_type", counted.kind.title()),
            ("result", counted.result),
        ];
        text.line(NAME, &labels, number(count), None);
    }
    text.done()
}
