//! PodTemplate objects, and what every workload does with the template inside it.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::{defaults, warnings};
use crate::strategies::fields::at;
use crate::strategies::workload;
use crate::strategy::Strategy;

pub(in crate::strategies) struct Templates;

impl Strategy for Templates {
    fn default(&self, object: &mut Value) {
        defaults::template(object);
    }

    fn validate(&self, object: &Value, errors: &mut Errors) {
        workload::template(errors, &Path::root("template"), at(object, "template"));
    }

    fn warnings(&self, object: &Value) -> Vec<String> {
        let mut found = Vec::new();
        let path = Path::root("template");
        warnings::of_spec(&path.child("spec"), at(at(object, "template"), "spec"), &mut found);
        found
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
