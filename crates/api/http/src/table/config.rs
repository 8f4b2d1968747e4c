//! Config maps, secrets, service accounts and quotas as rows.

use serde_json::Value;

use super::{Column, Printer, age, count, name, text};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "ConfigMap" => Some(CONFIG_MAP),
        "Secret" => Some(SECRET),
        "ServiceAccount" => Some(SERVICE_ACCOUNT),
        "ResourceQuota" => Some(QUOTA),
        _ => None,
    }
}

const CONFIG_MAP: Printer =
    Printer::new(&[Column::name(), Column::text("Data"), Column::age()], |object, now| {
        let keys = count(&object["data"]) + count(&object["binaryData"]);
        vec![name(object), keys.into(), age(object, now)]
    });

const SECRET: Printer = Printer::new(
    &[Column::name(), Column::text("Type"), Column::text("Data"), Column::age()],
    |object, now| vec![name(object), text(&object["type"]), count(&object["data"]).into(), age(object, now)],
);

const SERVICE_ACCOUNT: Printer =
    Printer::new(&[Column::name(), Column::age()], |object, now| vec![name(object), age(object, now)]);

const QUOTA: Printer = Printer::new(
    &[Column::name(), Column::text("Request"), Column::text("Limit"), Column::age()],
    |object, now| {
        let status = &object["status"];
        let mut names: Vec<&String> =
            status["hard"].as_object().into_iter().flat_map(|hard| hard.keys()).collect();
        names.sort();
        let (limits, requests): (Vec<String>, Vec<String>) =
            names.into_iter().map(|name| used(status, name)).partition(|line| line.starts_with("limits."));
        vec![name(object), requests.join(", ").into(), limits.join(", ").into(), age(object, now)]
    },
);

/// `pods: 3/10`
fn used(status: &Value, name: &str) -> String {
    let quantity = |of: &str| match &status[of][name] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => "0".to_owned(),
    };
    format!("{name}: {}/{}", quantity("used"), quantity("hard"))
}
