//! OpenAPI v2 in protobuf, the only form that client-go's `OpenAPISchema()` asks for. Takes the JSON pieces and
//! numbers their fields as gnostic's `openapi.v2.Document` does; knows none of their meaning.

use std::io::{self, Write};

use kedge_kinds::Kind;
use serde_json::{Map, Value};

use super::operations::{Path, paths};
use super::schema::{Definitions, Style};
use super::{API_LEVEL, v2};

pub(super) fn write(kinds: &[&Kind], out: &mut impl Write) -> io::Result<()> {
    let mut head = Message::default();
    head.text(1, "2.0");
    let mut info = Message::default();
    info.text(1, "Kubernetes");
    info.text(2, API_LEVEL);
    head.message(2, &info);
    out.write_all(&head.0)?;

    let paths = paths(kinds);
    let item = |path: &Path| named(&path.template, &path_item(&v2::path(path)));
    write_all(out, 8, 2, || paths.iter().map(item))?;
    let definitions = Definitions::of(kinds);
    let definition = |(name, value): (String, Value)| named(&name, &schema(&value));
    write_all(out, 9, 1, || definitions.written(Style::V2).map(definition))
}

/// Writes a message of many messages. A message begins with its length, so each part is made twice; the whole of
/// them in memory would be far more than anything else that the server holds.
fn write_all<I: Iterator<Item = Message>>(
    out: &mut impl Write,
    tag: u32,
    inner: u32,
    parts: impl Fn() -> I,
) -> io::Result<()> {
    let length: usize = parts().map(|part| wrapped(inner, &part).0.len()).sum();
    let mut head = Message::default();
    head.begin(tag, length);
    out.write_all(&head.0)?;
    for part in parts() {
        out.write_all(&wrapped(inner, &part).0)?;
    }
    Ok(())
}

/// A protobuf message as it is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// The head of a field whose content has this length.
    fn begin(&mut self, tag: u32, length: usize) {
        self.varint(u64::from(tag) << 3 | 2);
        self.varint(length as u64);
    }

    fn bytes(&mut self, tag: u32, bytes: &[u8]) {
        self.begin(tag, bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, tag: u32, text: &str) {
        self.bytes(tag, text.as_bytes());
    }

    fn message(&mut self, tag: u32, message: &Message) {
        self.bytes(tag, &message.0);
    }

    fn truth(&mut self, tag: u32) {
        self.varint(u64::from(tag) << 3);
        self.varint(1);
    }

    /// A field that is a string in JSON, if it is there.
    fn text_of(&mut self, tag: u32, value: &Value) {
        if let Some(text) = value.as_str() {
            self.text(tag, text);
        }
    }

    fn texts_of(&mut self, tag: u32, value: &Value) {
        for text in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.text(tag, text);
        }
    }

    fn truth_of(&mut self, tag: u32, value: &Value) {
        if value == &Value::Bool(true) {
            self.truth(tag);
        }
    }

    /// All `x-…` fields of a JSON object.
    fn extensions_of(&mut self, tag: u32, value: &Value) {
        for (name, extension) in fields(value).filter(|(name, _)| name.starts_with("x-")) {
            self.message(tag, &named(name, &yaml(extension)));
        }
    }
}

/// `Any`: a value as YAML. JSON is YAML.
fn yaml(value: &Value) -> Message {
    let mut any = Message::default();
    any.text(2, &value.to_string());
    any
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// `NamedPathItem`, `NamedSchema`, `NamedAny`…: all have this form.
fn named(name: &str, value: &Message) -> Message {
    let mut message = Message::default();
    message.text(1, name);
    message.message(2, value);
    message
}

fn path_item(value: &Value) -> Message {
    let mut message = Message::default();
    for (tag, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if value[method].is_object() {
            message.message(tag, &operation(&value[method]));
        }
    }
    parameters(&mut message, 9, &value["parameters"]);
    message
}

fn operation(value: &Value) -> Message {
    let mut message = Message::default();
    message.texts_of(1, &value["tags"]);
    message.text_of(5, &value["operationId"]);
    message.texts_of(6, &value["produces"]);
    message.texts_of(7, &value["consumes"]);
    parameters(&mut message, 8, &value["parameters"]);
    let mut responses = Message::default();
    for (code, response) in fields(&value["responses"]) {
        let mut body = Message::default();
        body.text_of(1, &response["description"]);
        if response["schema"].is_object() {
            let mut item = Message::default();
            item.message(1, &schema(&response["schema"]));
            body.message(2, &item);
        }
        let mut response = Message::default();
        response.message(1, &body);
        responses.message(1, &named(code, &response));
    }
    message.message(9, &responses);
    message.texts_of(10, &value["schemes"]);
    message.extensions_of(13, value);
    message
}

fn parameters(message: &mut Message, tag: u32, values: &Value) {
    for value in values.as_array().into_iter().flatten() {
        let mut parameter = Message::default();
        match value["in"].as_str() {
            Some("body") => {
                let mut body = Message::default();
                body.text_of(2, &value["name"]);
                body.text_of(3, &value["in"]);
                body.truth_of(4, &value["required"]);
                body.message(5, &schema(&value["schema"]));
                parameter.message(1, &body);
            }
            Some("path") => {
                let mut path = Message::default();
                path.truth_of(1, &value["required"]);
                path.text_of(2, &value["in"]);
                path.text_of(4, &value["name"]);
                path.text_of(5, &value["type"]);
                path.truth_of(19, &value["uniqueItems"]);
                parameter.message(2, &wrapped(4, &path));
            }
            _ => {
                let mut query = Message::default();
                query.text_of(2, &value["in"]);
                query.text_of(4, &value["name"]);
                query.text_of(6, &value["type"]);
                query.truth_of(20, &value["uniqueItems"]);
                parameter.message(2, &wrapped(3, &query));
            }
        }
        message.message(tag, &wrapped(1, &parameter));
    }
}

/// One of several: a message that holds only this one.
fn wrapped(tag: u32, inner: &Message) -> Message {
    let mut message = Message::default();
    message.message(tag, inner);
    message
}

fn schema(value: &Value) -> Message {
    let mut message = Message::default();
    message.text_of(1, &value["$ref"]);
    message.text_of(2, &value["format"]);
    message.text_of(4, &value["description"]);
    message.texts_of(19, &value["required"]);
    for word in value["enum"].as_array().into_iter().flatten() {
        message.message(20, &yaml(word));
    }
    if value["additionalProperties"].is_object() {
        message.message(21, &wrapped(1, &schema(&value["additionalProperties"])));
    }
    if let Some(kind) = value["type"].as_str() {
        let mut item = Message::default();
        item.text(1, kind);
        message.message(22, &item);
    }
    if value["items"].is_object() {
        message.message(23, &wrapped(1, &schema(&value["items"])));
    }
    if value["properties"].is_object() {
        let mut properties = Message::default();
        for (name, property) in fields(&value["properties"]) {
            properties.message(1, &named(name, &schema(property)));
        }
        message.message(25, &properties);
    }
    message.extensions_of(31, value);
    message
}
