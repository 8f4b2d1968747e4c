//! What a validating policy says to one request: a verdict for each rule and each annotation. Decides; refusing, warning and
//! noting down is its caller's.

use kedge_cel::Value;

use super::policy::{Expression, Policy, Validation, Work};
use super::scene::{BUDGET, CONDITIONS_BUDGET, Failure, Inputs, Scene};

const LONGEST_MESSAGE: usize = 5 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// By the place of their rule among all.
    pub(super) denials: Vec<(usize, Denial)>,
    pub(super) annotations: Vec<(String, String)>,
    /// Annotations that could not be made.
    pub(super) broken: Vec<Denial>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Denial {
    pub(super) message: String,
    pub(super) reason: String,
}

impl Denial {
    fn by(failure: impl ToString) -> Self {
        Self { message: failure.to_string(), reason: String::new() }
    }
}

pub(super) fn judge(policy: &Policy, inputs: Inputs<'_>) -> Verdict {
    let Work::Validate { validations, annotations } = &policy.work else { return Verdict::default() };
    let failed = |failure: String| {
        let denials = if policy.fails_open { Vec::new() } else { vec![(0, Denial::by(failure))] };
        Verdict { denials, ..Verdict::default() }
    };
    match meets_conditions(policy, inputs) {
        Ok(true) => {}
        Ok(false) => return Verdict::default(),
        Err(why) => return failed(why),
    }

    let mut verdict = Verdict::default();
    let scene = Scene::new(policy, inputs, BUDGET);
    for (i, validation) in validations.iter().enumerate() {
        match rule(&scene, validation) {
            Ok(None) => {}
            Ok(Some(denial)) => verdict.denials.push((i, denial)),
            Err(Failure::OutOfBudget) => return failed(Failure::OutOfBudget.to_string()),
            Err(_) if policy.fails_open => {}
            Err(failure) => verdict.denials.push((i, Denial::by(failure))),
        }
    }
    let scene = Scene::new(policy, inputs, BUDGET);
    for (key, expression) in annotations {
        match annotation(&scene, expression) {
            Ok(None) => {}
            Ok(Some(value)) => verdict.annotations.push((key.clone(), value)),
            Err(Failure::OutOfBudget) => return failed(Failure::OutOfBudget.to_string()),
            Err(_) if policy.fails_open => {}
            Err(failure) => verdict.broken.push(Denial::by(failure)),
        }
    }
    verdict
}

/// Whether the policy is about the request at all; `Err` says why nobody can tell.
pub(super) fn meets_conditions(policy: &Policy, inputs: Inputs<'_>) -> Result<bool, String> {
    // The namespace is not among what conditions see.
    let inputs = Inputs { namespace: &serde_json::Value::Null, ..inputs };
    let scene = Scene::new(policy, inputs, CONDITIONS_BUDGET);
    let mut errors = Vec::new();
    for condition in &policy.conditions {
        match scene.eval(condition) {
            Ok(value) if value.as_bool() == Some(false) => return Ok(false),
            Ok(_) => {}
            Err(Failure::OutOfBudget) => {
                errors = vec![Failure::OutOfBudget.to_string()];
                break;
            }
            Err(failure) => errors.push(failure.to_string()),
        }
    }
    match &errors[..] {
        [] => Ok(true),
        _ if policy.fails_open => Ok(false),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn rule<'a>(scene: &Scene<'a>, validation: &'a Validation) -> Result<Option<Denial>, Failure> {
    if scene.eval(&validation.rule)?.as_bool() == Some(true) {
        return Ok(None);
    }
    let told = validation.message_rule.as_ref().map(|expression| scene.eval(expression));
    let told = match told {
        Some(Err(Failure::OutOfBudget)) => return Err(Failure::OutOfBudget),
        Some(Ok(value)) => value.as_str().map(|text| text.trim().to_owned()),
        Some(Err(_)) | None => None,
    };
    let usable = |text: &String| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
    let message = told
        .filter(usable)
        .or_else(|| Some(validation.message.clone()).filter(|text| !text.is_empty()))
        .unwrap_or_else(|| format!("failed expression: {}", validation.rule.source.trim()));
    Ok(Some(Denial { message, reason: validation.reason.clone() }))
}

fn annotation<'a>(scene: &Scene<'a>, expression: &'a Expression) -> Result<Option<String>, Failure> {
    let value = scene.eval(expression)?;
    let text = match &value {
        Value::String(text) => text.trim(),
        _ => "",
    };
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}
