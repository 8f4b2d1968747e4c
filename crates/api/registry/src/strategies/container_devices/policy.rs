//! How much of a capacity may be asked for where several claims share a device: certain amounts, or those of a range.

use kedge_kinds::Quantity;
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::super::amounts::{amount, shown};
use super::super::fields::{at, has, list};
use super::super::names::wrong;
use super::parts;

const MOST_VALUES: usize = 10;

/// `whole` is all that there is of it.
pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, policy: &Value, whole: &Value) {
    let values = list(policy, "validValues");
    let way = match (values.is_empty(), has(policy, "validRange")) {
        (true, false) => return,
        (false, true) => {
            let detail = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time";
            return errors.forbidden(path, detail);
        }
        (false, false) => "validValues",
        (true, true) => "validRange",
    };
    if !has(policy, "default") {
        return errors.required(&path.child("default"), &format!("required when {way} is defined"));
    }
    let (usual, whole, path) = (amount(at(policy, "default")), amount(whole), path.child(way));
    match way {
        "validValues" => amounts(errors, &path, values, &usual, &whole),
        _ => range(errors, &path, at(policy, "validRange"), &usual, &whole),
    }
}

fn amounts(errors: &mut Errors, path: &Path<'_>, values: &[Value], usual: &Quantity, whole: &Quantity) {
    let amounts: Vec<Quantity> = values.iter().map(amount).collect();
    for (i, pair) in (1..).zip(amounts.windows(2)) {
        if let [before, this] = pair
            && before > this
        {
            wrong(errors, &path.index(i), &this.to_string(), "values must be sorted in ascending order");
        }
    }
    parts::at_most(errors, path, amounts.len(), MOST_VALUES);
    for (i, (this, value)) in amounts.iter().zip(values).enumerate() {
        if this > whole {
            let detail = format!("option is larger than capacity value: {whole}");
            wrong(errors, &path.index(i), &this.to_string(), &detail);
        }
        if amounts.iter().take(i).any(|other| other == this) {
            errors.duplicate(&path.index(i), &shown(value));
        }
    }
    if !amounts.contains(usual) {
        let detail = "default value is not valid according to the requestPolicy";
        wrong(errors, path, &usual.to_string(), detail);
    }
}

fn range(errors: &mut Errors, path: &Path<'_>, range: &Value, usual: &Quantity, whole: &Quantity) {
    let end = |name: &str| has(range, name).then(|| amount(at(range, name)));
    let Some(least) = end("min") else {
        return errors.required(&path.child("min"), "required when validRange is defined");
    };
    let mut say = |is_wrong: bool, field: &str, found: &Quantity, detail: String| {
        if is_wrong {
            wrong(errors, &path.child(field), &found.to_string(), &detail);
        }
    };
    say(least > *whole, "min", &least, format!("min is larger than capacity value: {whole}"));
    say(*usual < least, "min", usual, format!("default is less than min: {least}"));
    let most = end("max");
    if let Some(most) = &most {
        say(least > *most, "max", &least, format!("min is larger than max: {most}"));
        say(most > whole, "max", most, format!("max is larger than capacity value: {whole}"));
        say(usual > most, "max", usual, format!("default is more than max: {most}"));
    }
    if let Some(step) = end("step") {
        let first = least.plus(&step);
        say(
            first > *whole,
            "step",
            &step,
            format!("one step {first} is larger than capacity value: {whole}"),
        );
        for value in [Some(usual), most.as_ref()].into_iter().flatten() {
            let rest = value.value().wrapping_sub(least.value()).checked_rem(step.value());
            let detail = format!("value is not a multiple of a given step ({step}) from ({least})");
            say(rest != Some(0), "step", value, detail);
        }
    }
}
