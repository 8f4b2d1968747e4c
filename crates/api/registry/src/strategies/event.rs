//! Events, in the core group's form. Clients write many, so nothing here is dear.

use serde_json::{Map, Value};

use super::fields::fill;
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
            field("type", "/type"),
        ];
        FIELDS
    }

    fn create_on_update(&self) -> bool {
        true
    }
}
