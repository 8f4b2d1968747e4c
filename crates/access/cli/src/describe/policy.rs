//! How disruptions are limited and who goes first.

use super::page::Page;
use super::shown::{is_there, labels, number, plain, plain_or, selector_or_none, text, truth};
use super::{Given, name, name_and_namespace};

pub(super) fn budget(page: &mut Page, given: &Given<'_>) {
    let (spec, status) = (&given.object["spec"], &given.object["status"]);
    name_and_namespace(page, given.object);
    if is_there(&spec["minAvailable"]) {
        page.field(0, "Min available", plain(&spec["minAvailable"]));
    } else if is_there(&spec["maxUnavailable"]) {
        page.field(0, "Max unavailable", plain(&spec["maxUnavailable"]));
    }
    if spec["selector"].is_null() {
        page.field(0, "Selector", "<unset>");
    } else {
        page.field(0, "Selector", selector_or_none(&spec["selector"]));
    }
    page.head(0, "Status");
    for (label, field) in [
        ("Allowed disruptions", "disruptionsAllowed"),
        ("Current", "currentHealthy"),
        ("Desired", "desiredHealthy"),
        ("Total", "expectedPods"),
    ] {
        page.field(2, label, number(&status[field]));
    }
}

pub(super) fn priority_class(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name(page, object);
    page.field(0, "Value", number(&object["value"]));
    page.field(0, "GlobalDefault", truth(&object["globalDefault"]));
    page.field(0, "PreemptionPolicy", plain_or(&object["preemptionPolicy"], "PreemptLowerPriority"));
    page.field(0, "Description", text(&object["description"]));
    page.field(0, "Annotations", labels(&object["metadata"]["annotations"]));
}
