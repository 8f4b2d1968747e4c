//! Events, in the core group's form. Clients write many, so nothing here is dear.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, has, text};
use super::names;
use crate::strategy::{Selectable, Strategy};

pub(super) struct Events;

impl Strategy for Events {
    fn default(&self, event: &mut Value) {
        for time in ["eventTime", "firstTimestamp", "lastTimestamp"] {
            fill(event, time, Value::Null);
        }
        fill(event, "involvedObject", Map::new());
        fill(event, "source", Map::new());
        fill(event, "reportingComponent", "");
        fill(event, "reportingInstance", "");
    }

    fn validate(&self, event: &Value, errors: &mut Errors) {
        let namespace = text(at(event, "metadata"), "namespace");
        let involved = text(at(event, "involvedObject"), "namespace");
        let mut elsewhere = || {
            let path = Path::root("involvedObject");
            names::wrong(errors, &path.child("namespace"), involved, "does not match event.namespace");
        };
        if !has(event, "eventTime") {
            // An old event about an object of the cluster lies in the default namespace.
            let expected =
                if involved.is_empty() { matches!(namespace, "" | "default") } else { namespace == involved };
            if !expected {
                elsewhere();
            }
            return;
        }
        if involved.is_empty() && !matches!(namespace, "default" | "kube-system") {
            elsewhere();
        }
        let reporter = text(event, "reportingComponent");
        if reporter.is_empty() {
            errors.required(&Path::root("reportingComponent"), "");
        }
        names::qualified(errors, &Path::root("reportingComponent"), reporter);
        for (field, most, needed) in [
            ("reportingInstance", 128, true),
            ("action", 128, true),
            ("reason", 128, true),
            ("message", 1024, false),
        ] {
            let length = text(event, field).len();
            if length == 0 && needed {
                errors.required(&Path::root(field), "");
            }
            if length > most {
                names::wrong(errors, &Path::root(field), "", &format!("can have at most {most} characters"));
            }
        }
    }

    fn selectable(&self) -> &'static [Selectable] {
        const fn field(field: &'static str, pointer: &'static str) -> Selectable {
            Selectable { field, pointer, absent: "" }
        }
        const FIELDS: &[Selectable] = &[
            field("involvedObject.kind", "/involvedObject/kind"),
            field("involvedObject.namespace", "/involvedObject/namespace"),
            field("involvedObject.name", "/involvedObject/name"),
            field("involvedObject.uid", "/involvedObject/uid"),
            field("involvedObject.apiVersion", "/involvedObject/apiVersion"),
            field("involvedObject.resourceVersion", "/involvedObject/resourceVersion"),
            field("involvedObject.fieldPath", "/involvedObject/fieldPath"),
            field("reason", "/reason"),
            field("reportingComponent", "/reportingComponent"),
            field("source", "/source/component"),
            field("source", "/reportingComponent"),
            field("type", "/type"),
        ];
        FIELDS
    }

    fn create_on_update(&self) -> bool {
        true
    }
}
