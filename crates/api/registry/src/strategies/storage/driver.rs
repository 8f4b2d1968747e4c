//! What a CSI driver wants of the cluster.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use crate::strategies::fields::{at, fill, has, int, list, number, open, put, same, text};
use crate::strategies::{names, workload};
use crate::strategy::Strategy;

const TOKENS_IN_THE_OPEN: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to \
    true to prevent possible logging of tokens in volume attributes";

pub(super) struct Drivers;

impl Strategy for Drivers {
    fn default(&self, driver: &mut Value) {
        let Some(spec) = open(driver, "spec") else { return };
        fill(spec, "attachRequired", true);
        for off in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
            fill(spec, off, false);
        }
        fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        if list(spec, "volumeLifecycleModes").is_empty() {
            put(spec, "volumeLifecycleModes", json!(["Persistent"]));
        }
    }

    // Counted from the first change on: a new driver has no generation.
    fn prepare_update(&self, new: &mut Value, old: &Value) {
        let changed = !same(at(new, "spec"), at(old, "spec"));
        if let Some(metadata) = open(new, "metadata").filter(|_| changed) {
            put(metadata, "generation", number(at(old, "metadata"), "generation") + 1);
        }
    }

    fn validate(&self, driver: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(driver, "spec"));
        let policies = &["File", "None", "ReadWriteOnceWithFSType"];
        names::one_of_if_set(errors, &path.child("fsGroupPolicy"), at(spec, "fsGroupPolicy"), policies);
        let requests = list(spec, "tokenRequests");
        for (i, request) in requests.iter().enumerate() {
            let path = path.child("tokenRequests");
            let path = path.index(i);
            let audience = text(request, "audience");
            if requests.iter().take(i).any(|other| text(other, "audience") == audience) {
                errors.duplicate(&path.child("audience"), &audience.into());
                continue;
            }
            if let Some(seconds) = int(request, "expirationSeconds") {
                let path = path.child("expirationSeconds");
                if seconds < 600 {
                    errors.invalid(&path, &seconds.into(), "may not specify a duration less than 10 minutes");
                }
                if seconds > 1 << 32 {
                    errors.invalid(
                        &path,
                        &seconds.into(),
                        "may not specify a duration larger than 2^32 seconds",
                    );
                }
            }
        }
        for mode in list(spec, "volumeLifecycleModes") {
            names::one_of_if_set(
                errors,
                &path.child("volumeLifecycleModes"),
                mode,
                &["Persistent", "Ephemeral"],
            );
        }
    }

    fn warnings(&self, driver: &Value) -> Vec<String> {
        let spec = at(driver, "spec");
        let careless = !list(spec, "tokenRequests").is_empty() && !has(spec, "serviceAccountTokenInSecrets");
        careless.then(|| TOKENS_IN_THE_OPEN.to_owned()).into_iter().collect()
    }

    fn warns_again(&self, new: &Value, old: &Value) -> bool {
        !same(at(at(new, "spec"), "tokenRequests"), at(at(old, "spec"), "tokenRequests"))
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let (path, now, before) = (Path::root("spec"), at(new, "spec"), at(old, "spec"));
        if !same(at(now, "attachRequired"), at(before, "attachRequired")) {
            errors.invalid(&path.child("attachedRequired"), at(now, "attachRequired"), workload::IMMUTABLE);
        }
        workload::immutable(errors, &path, now, before, &["volumeLifecycleModes"]);
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
