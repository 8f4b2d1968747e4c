//! Says of settings that people rely on that this server keeps them and does not act on them yet. Silence would be
//! taken for protection. Each part that comes to be enforced takes its kind off the list.

use kedge_kinds::{Meta, Status};
use serde_json::Value;

use super::{Plugin, View};

const KINDS: [(&str, &str); 8] = [
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
];
const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";

pub(super) struct Unenforced;

impl Plugin for Unenforced {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.is("", "Namespace") || KINDS.iter().any(|(group, kind)| view.is(group, kind))
    }

    fn mutate(
        &self,
        view: &View<'_>,
        object: &mut Value,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        let asked = |object| Meta::of(object).label(POD_SECURITY).filter(|level| *level != "privileged");
        if !view.is("", "Namespace") {
            warnings.push(format!("this server stores a {} and does not enforce it yet", view.at.kind.kind));
        } else if let Some(level) = asked(object).filter(|level| old.and_then(asked) != Some(*level)) {
            warnings.push(format!(
                "this server stores the label {POD_SECURITY}={level} and does not enforce it yet"
            ));
        }
        Ok(())
    }
}
