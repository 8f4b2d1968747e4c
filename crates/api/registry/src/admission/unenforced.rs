//! Says of settings that people rely on that this server keeps them and does not act on them yet. Silence would be
//! taken for protection. Each part that comes to be enforced takes its kind off the list.

use kedge_kinds::Status;
use serde_json::Value;

use super::{Plugin, View};

const KINDS: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
];

pub(super) struct Unenforced;

impl Plugin for Unenforced {
    fn concerns(&self, view: &View<'_>) -> bool {
        KINDS.iter().any(|(group, kind)| view.is(group, kind))
    }

    fn mutate(
        &self,
        view: &View<'_>,
        _: &mut Value,
        _: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        warnings.push(format!("this server stores a {} and does not enforce it yet", view.at.kind.kind));
        Ok(())
    }
}
