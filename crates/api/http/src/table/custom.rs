//! The columns that a definition gives its kind. Knows how a found value becomes a cell.

use jiff::Timestamp;
use kedge_kinds::Rules;
use kedge_kinds::kind;
use serde::Serialize;
use serde_json::Value;

use super::age;
use super::path::JsonPath;

/// What the first column says about itself.
const NAME: &str = "The name of the object, one of its kind in its namespace.";

/// The heads and paths of a custom kind's columns.
#[derive(Debug)]
pub(super) struct Columns {
    heads: Vec<Head>,
    paths: Vec<Option<JsonPath>>,
}

#[derive(Debug, Serialize)]
struct Head {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    format: String,
    description: String,
    priority: i32,
}

impl Columns {
    pub(super) fn of(rules: &dyn Rules) -> Self {
        let columns = rules.columns();
        let name = Head {
            name: "Name".to_owned(),
            kind: "string".to_owned(),
            format: "name".to_owned(),
            description: NAME.to_owned(),
            priority: 0,
        };
        Self {
            heads: std::iter::once(name).chain(columns.iter().map(head)).collect(),
            paths: columns.iter().map(|column| JsonPath::parse(&column.json_path)).collect(),
        }
    }

    pub(super) fn heads(&self) -> &impl Serialize {
        &self.heads
    }

    /// The object's name and a cell for each column.
    pub(super) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let kinds = self.heads.iter().skip(1).map(|head| &*head.kind);
        let cells = self.paths.iter().zip(kinds).map(|(path, kind)| {
            let found = path.as_ref().map(|path| path.find(object)).unwrap_or_default();
            found.first().map_or(Value::Null, |value| cell(kind, value, now))
        });
        std::iter::once(super::name(object)).chain(cells).collect()
    }
}

fn head(column: &kind::Column) -> Head {
    let described = match column.description.as_str() {
        "" => format!("Custom resource definition column (in JSONPath format): {}", column.json_path),
        said => said.to_owned(),
    };
    Head {
        name: column.name.clone(),
        kind: column.type_.clone(),
        format: column.format.clone(),
        description: described,
        priority: column.priority,
    }
}

/// A value that isn't what its column says is not shown.
fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        ("string", value) => printed(value).into(),
        ("integer", Value::Number(number)) => {
            number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)).into()
        }
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(_)) => match age::parse(value) {
            Some(_) => age::since(value, now).into(),
            None => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}

/// A value of any kind in one line, as Go prints it.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(printed).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}:{}", printed(value))).collect();
            pairs.sort();
            format!("map[{}]", pairs.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::cell;

    #[test]
    fn a_cell_shows_what_its_column_says_it_is() {
        let now = "2030-01-01T12:00:00Z".parse().unwrap();
        for (kind, value, shown) in [
            ("string", json!("red"), json!("red")),
            ("string", json!(3), json!("3")),
            ("string", json!(["a", "b"]), json!("[a b]")),
            ("string", json!({"b": 1, "a": true}), json!("map[a:true b:1]")),
            ("integer", json!(3), json!(3)),
            ("integer", json!(3.7), json!(3)),
            ("integer", json!("3"), Value::Null),
            ("number", json!(1.5), json!(1.5)),
            ("boolean", json!(true), json!(true)),
            ("boolean", json!("true"), Value::Null),
            ("date", json!("2030-01-01T11:55:00Z"), json!("5m")),
            ("date", json!("yesterday"), json!("<invalid>")),
            ("string", Value::Null, Value::Null),
        ] {
            assert_eq!(cell(kind, &value, now), shown, "{kind} {value}");
        }
    }
}
