//! The page of one schema, as kubectl lays it out. Pure.

use serde_json::Value;

use crate::error::CliError;
use crate::mapping::Resource;

/// A kind as a document describes it.
pub(super) struct Page<'d> {
    document: &'d Value,
    resource: &'d Resource,
    schema: &'d Value,
}

impl<'d> Page<'d> {
    pub(super) fn of(document: &'d Value, resource: &'d Resource) -> Result<Self, CliError> {
        let is_it = |schema: &&Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten();
            kinds.into_iter().any(|kind| {
                kind["kind"] == *resource.kind
                    && kind["group"] == *resource.group
                    && kind["version"] == *resource.version
            })
        };
        let schemas =
            document["components"]["schemas"].as_object().into_iter().flat_map(|schemas| schemas.values());
        let schema = schemas.into_iter().find(is_it).ok_or_else(|| {
            CliError::unmet(format!(
                "couldn't find resource for {:?}: the server does not describe it",
                resource.kind
            ))
        })?;
        Ok(Self { document, resource, schema })
    }

    /// Stands there also if the field that was asked for does not exist.
    pub(super) fn heading(&self) -> String {
        let Resource { group, kind, version, .. } = self.resource;
        let group = if group.is_empty() { String::new() } else { format!("GROUP:      {group}\n") };
        format!("{group}KIND:       {kind}\nVERSION:    {version}\n\n")
    }

    pub(super) fn body(&self, path: &[&str], recursive: bool, plain: bool) -> Result<String, CliError> {
        let document = self.document;
        let here = self.at(path)?;
        let mut page = String::new();
        if let Some(name) = path.last() {
            page.push_str(&format!(
                "FIELD: {name} <{}>\n{}\n\n",
                type_of(document, here, plain),
                enumeration(document, here, None)
            ));
        }
        page.push_str("DESCRIPTION:\n");
        let told = description(document, here);
        page.push_str(&indented(&wrapped(if told.is_empty() { "<empty>" } else { &told }, 76), 4));
        let fields = fields(document, here, 1, recursive, plain, &mut Vec::new());
        if !fields.is_empty() {
            page.push_str(&format!("FIELDS:\n{fields}"));
        }
        page.push('\n');
        Ok(page)
    }

    /// The names of the fields there.
    pub(super) fn names(&self, path: &[&str]) -> Result<Vec<String>, CliError> {
        let mut found = Vec::new();
        names(self.document, self.at(path)?, &mut found);
        Ok(found)
    }

    fn at(&self, path: &[&str]) -> Result<&'d Value, CliError> {
        path.iter().try_fold(self.schema, |here, name| {
            field(self.document, here, name)
                .ok_or_else(|| CliError::unmet(format!("field {name:?} does not exist")))
        })
    }
}

fn names(document: &Value, schema: &Value, found: &mut Vec<String>) {
    let schema = resolved(document, schema);
    found.extend(schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().cloned()));
    inner(schema).for_each(|inner| names(document, inner, found));
}

/// What a reference leads to, or the schema itself.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let name = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    name.map_or(schema, |name| &document["components"]["schemas"][name])
}

/// Schemas inside this one: of items, of values, of those it is made of.
fn inner(schema: &Value) -> impl Iterator<Item = &Value> {
    let of_map = Some(&schema["additionalProperties"]).filter(|values| values.is_object());
    let of_list = Some(&schema["items"]).filter(|items| items.is_object());
    schema["allOf"].as_array().into_iter().flatten().chain(of_list).chain(of_map)
}

fn field<'d>(document: &'d Value, schema: &'d Value, name: &str) -> Option<&'d Value> {
    let schema = resolved(document, schema);
    match schema["properties"].get(name) {
        Some(field) => Some(field),
        None => inner(schema).find_map(|inner| field(document, inner, name)),
    }
}

fn description(document: &Value, schema: &Value) -> String {
    let schema = resolved(document, schema);
    let mut text = match schema["description"].as_str() {
        Some(text) if !text.is_empty() => format!("{text}\n"),
        _ => String::new(),
    };
    inner(schema).for_each(|inner| text.push_str(&description(document, inner)));
    text
}

/// Plain names are those of JSON; otherwise structs have their own.
fn type_of(document: &Value, schema: &Value, plain: bool) -> String {
    if schema["items"].is_object() {
        return format!("[]{}", type_of(document, &schema["items"], plain));
    }
    if schema["additionalProperties"].is_object() {
        return format!("map[string]{}", type_of(document, &schema["additionalProperties"], plain));
    }
    if let Some([one]) = schema["allOf"].as_array().map(Vec::as_slice)
        && schema["properties"].is_null()
    {
        return type_of(document, one, plain);
    }
    let named = match schema["$ref"].as_str() {
        Some(reference) => match resolved(document, schema)["type"].as_str() {
            None | Some("object") if plain => return "Object".to_owned(),
            None | Some("object") => {
                return reference.rsplit(['/', '.']).next().unwrap_or("Object").to_owned();
            }
            Some(plain) => plain,
        },
        None => schema["type"].as_str().unwrap_or("object"),
    };
    if named == "object" { "Object".to_owned() } else { named.to_owned() }
}

fn fields<'d>(
    document: &'d Value,
    schema: &'d Value,
    level: usize,
    recursive: bool,
    plain: bool,
    seen: &mut Vec<&'d str>,
) -> String {
    let name = schema["$ref"].as_str();
    if name.is_some_and(|name| seen.contains(&name)) {
        return String::new();
    }
    let depth = seen.len();
    seen.extend(name);
    let schema = resolved(document, schema);
    let mut text = String::new();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let indent = level * 2;
        let needed = if required.contains(&name.as_str()) { " -required-" } else { "" };
        text.push_str(&format!(
            "{}{name}\t<{}>{needed}{}\n",
            " ".repeat(indent),
            type_of(document, field, plain),
            enumeration(document, field, Some(indent)),
        ));
        match recursive {
            true => text.push_str(&fields(document, field, level + 1, recursive, plain, seen)),
            false => {
                let told = field["description"]
                    .as_str()
                    .filter(|text| !text.is_empty())
                    .unwrap_or("<no description>");
                text.push_str(&format!("{}\n", indented(&wrapped(told, 78 - indent), indent + 2)));
            }
        }
    }
    for inner in inner(schema) {
        text.push_str(&fields(document, inner, level, recursive, plain, seen));
    }
    seen.truncate(depth);
    text
}

/// The values that a field may have: all of them on its own page, the first few in a list of fields.
fn enumeration(document: &Value, schema: &Value, indent: Option<usize>) -> String {
    let schema = resolved(document, schema);
    let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) else {
        return String::new();
    };
    let told = |value: &Value| match value.as_str() {
        Some("") => "\"\"".to_owned(),
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    match indent {
        None => {
            let lines: Vec<String> = values.iter().map(|value| format!("    {}", told(value))).collect();
            format!("ENUM:\n{}", lines.join("\n"))
        }
        Some(indent) => {
            let shown: Vec<String> = values.iter().take(4).map(told).collect();
            let more = if values.len() > 4 { ", ...." } else { "" };
            format!("\n{}enum: {}{more}", " ".repeat(indent), shown.join(", "))
        }
    }
}

/// Lines of at most this many letters; words longer than that stand alone.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for (place, line) in text.split('\n').enumerate() {
        if place > 0 {
            out.push('\n');
        }
        let mut used = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > width {
                out.push('\n');
                used = 0;
            } else if used > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += length;
        }
    }
    out
}

fn indented(text: &str, by: usize) -> String {
    let space = " ".repeat(by);
    let lines: Vec<String> = text.split('\n').map(|line| format!("{space}{line}")).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Page;
    use crate::mapping::Resource;

    #[test]
    fn a_page_shows_the_field_that_was_asked_for() {
        let document = json!({"components": {"schemas": {
            "x.Cup": {
                "type": "object", "description": "A cup.", "required": ["size"],
                "x-kubernetes-group-version-kind": [{"group": "x", "version": "v1", "kind": "Cup"}],
                "properties": {
                    "size": {"type": "string", "description": "How big.", "enum": ["", "S"]},
                    "sips": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/x.Sip"}]}},
                },
            },
            "x.Sip": {"type": "object", "description": "A sip.", "properties": {"again": {"$ref": "#/components/schemas/x.Sip"}}},
        }}});
        let cup = Resource {
            group: "x".to_owned(),
            version: "v1".to_owned(),
            kind: "Cup".to_owned(),
            ..Resource::default()
        };
        let page = Page::of(&document, &cup).unwrap();
        let shown = page.body(&["sips"], false, false).unwrap();
        assert_eq!(
            page.heading() + &shown,
            "GROUP:      x\nKIND:       Cup\nVERSION:    v1\n\nFIELD: sips <[]Sip>\n\n\nDESCRIPTION:\n    A sip.\n    \nFIELDS:\n  \
             again\t<Sip>\n    <no description>\n\n\n"
        );
        let all = page.body(&[], true, false).unwrap();
        assert!(
            all.contains(
                "FIELDS:\n  sips\t<[]Sip>\n    again\t<Sip>\n  size\t<string> -required-\n  enum: \"\", S\n"
            ),
            "{all}"
        );
        assert!(page.body(&["nothing"], false, false).is_err());
        assert_eq!(page.names(&["sips"]).unwrap(), ["again"]);
    }
}
