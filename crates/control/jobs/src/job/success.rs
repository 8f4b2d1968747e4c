//! Whether enough indexes have succeeded, by the job's own rules.

use k8s_openapi::api::batch::v1::{SuccessPolicy, SuccessPolicyRule};

use super::indexes::Indexes;

/// Which rule is met, in the words for the condition.
pub(super) fn met(policy: Option<&SuccessPolicy>, end: usize, succeeded: &Indexes) -> Option<String> {
    if succeeded.is_empty() {
        return None;
    }
    let at = policy?.rules.iter().position(|rule| is_met(rule, end, succeeded))?;
    Some(format!("Matched rules at index {at}"))
}

fn is_met(rule: &SuccessPolicyRule, end: usize, succeeded: &Indexes) -> bool {
    let enough = |count: usize| {
        rule.succeeded_count.is_some_and(|wanted| usize::try_from(wanted).is_ok_and(|wanted| count >= wanted))
    };
    match &rule.succeeded_indexes {
        None => enough(succeeded.len()),
        Some(text) => {
            let wanted = Indexes::parse(text, end);
            let there = wanted.shared_with(succeeded);
            !wanted.is_empty() && (there == wanted.len() || enough(there))
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::batch::v1::SuccessPolicyRule;

    use super::*;

    #[test]
    fn a_rule_names_indexes_or_a_number_or_both() {
        for (indexes, count, succeeded, expected) in [
            (None, Some(2), "0", false),
            (None, Some(2), "0,3", true),
            (Some("0,2-4"), None, "0,2,3", false),
            (Some("0,2-4"), None, "0-5", true),
            (Some("0,2-4"), Some(2), "1,2", false),
            (Some("0,2-4"), Some(2), "2,3", true),
            (Some("7-9"), None, "0-4", false),
            (Some("0"), None, "", false),
        ] {
            let rule =
                SuccessPolicyRule { succeeded_indexes: indexes.map(str::to_owned), succeeded_count: count };
            let policy = SuccessPolicy { rules: vec![rule] };
            let found = met(Some(&policy), 6, &Indexes::parse(succeeded, 6));
            let told = expected.then(|| "Matched rules at index 0".to_owned());
            assert_eq!(found, told, "{indexes:?} {count:?} of {succeeded}");
        }
    }
}
