//! HorizontalPodAutoscalers, in the form of `autoscaling/v2`.

use serde_json::{Value, json};

use super::fields::{fill, list, open, put};
use crate::strategy::Strategy;

pub(super) struct Autoscalers;

impl Strategy for Autoscalers {
    fn default(&self, autoscaler: &mut Value) {
        status(autoscaler);
        let Some(spec) = open(autoscaler, "spec") else { return };
        fill(spec, "minReplicas", 1);
        if list(spec, "metrics").is_empty() {
            let cpu = json!([{
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
            }]);
            put(spec, "metrics", cpu);
        }
        if let Some(behavior) = spec.get_mut("behavior") {
            if let Some(up) = open(behavior, "scaleUp") {
                fill(up, "stabilizationWindowSeconds", 0);
                fill(up, "selectPolicy", "Max");
                fill(
                    up,
                    "policies",
                    json!([
                        {"type": "Pods", "value": 4, "periodSeconds": 15},
                        {"type": "Percent", "value": 100, "periodSeconds": 15},
                    ]),
                );
            }
            if let Some(down) = open(behavior, "scaleDown") {
                fill(down, "selectPolicy", "Max");
                fill(down, "policies", json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]));
            }
        }
    }

    fn prepare_create(&self, autoscaler: &mut Value) {
        status(autoscaler);
    }
}

fn status(autoscaler: &mut Value) {
    if let Some(status) = open(autoscaler, "status") {
        fill(status, "desiredReplicas", 0);
        fill(status, "currentMetrics", Value::Null);
    }
}
