//! `--sort-by`: times and quantities by what they mean, texts with the numbers in them as numbers. What lacks the field comes first.

use std::cmp::Ordering;

use kedge_kinds::Quantity;
use serde_json::Value;

use crate::error::CliError;
use crate::mapping::Resource;
use crate::print::jsonpath::{Path, relaxed};
use crate::print::yaml::natural;

/// Rows of a table that came with their objects.
pub(super) fn rows(rows: &mut [Value], path: &str) -> Result<(), CliError> {
    let path = relaxed(path)?;
    rows.sort_by(|a, b| compare(first(&path, &a["object"]), first(&path, &b["object"])));
    Ok(())
}

pub(super) fn objects(objects: &mut [(&Resource, Value)], path: &str) -> Result<(), CliError> {
    let path = relaxed(path)?;
    objects.sort_by(|(_, a), (_, b)| compare(first(&path, a), first(&path, b)));
    Ok(())
}

fn first<'v>(path: &Path, object: &'v Value) -> Option<&'v Value> {
    path.find(object, object).into_iter().next()
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return a.is_some().cmp(&b.is_some()) };
    if let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) {
        return a.total_cmp(&b);
    }
    let (Some(a), Some(b)) = (a.as_str(), b.as_str()) else { return a.to_string().cmp(&b.to_string()) };
    match (a.parse::<Quantity>(), b.parse::<Quantity>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        _ => natural(a, b),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn values_sort_by_what_they_mean() {
        for (mut values, sorted) in [
            (vec![json!("b10"), json!("b9"), json!("a")], vec![json!("a"), json!("b9"), json!("b10")]),
            (vec![json!("1Gi"), json!("500Mi"), json!("2")], vec![json!("2"), json!("500Mi"), json!("1Gi")]),
            (vec![json!(10), json!(9)], vec![json!(9), json!(10)]),
        ] {
            values.sort_by(|a: &Value, b| super::compare(Some(a), Some(b)));
            assert_eq!(values, sorted);
        }
        assert!(super::compare(None, Some(&json!(1))).is_lt());
    }
}
