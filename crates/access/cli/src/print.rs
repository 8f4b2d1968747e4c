//! How objects are shown: which form was asked for, and an object in it. Knows no kind; tables come from the server.

pub(crate) mod age;
pub(crate) mod columns;
mod go;
pub(crate) mod jsonpath;
mod kyaml;
pub(crate) mod table;
pub(crate) mod yaml;

use serde_json::{Value, json};

use self::columns::Columns;
use self::go::GoTemplate;
use self::jsonpath::Template;
use crate::args::Typed;
use crate::error::{CliError, why};
use crate::mapping::Resource;
use crate::session::Session;

/// The form that `-o` names.
pub(crate) enum Output {
    /// A table, or a line about what was done.
    Human {
        wide: bool,
    },
    Name,
    Yaml,
    Kyaml,
    Json,
    Path(Template),
    /// What a template's paths lead to, as a list.
    Values(Template),
    Columns(Columns),
    Go(GoTemplate),
}

impl Output {
    pub(crate) fn of(typed: &Typed) -> Result<Self, CliError> {
        let given = typed.text("output").unwrap_or_default();
        let (form, template) = match given.split_once('=') {
            Some((form, template)) => (form, Some(template.to_owned())),
            None => (given, typed.text("template").map(str::to_owned)),
        };
        // Whoever gives a template and says no form means this one.
        let form = if form.is_empty() && template.is_some() { "go-template" } else { form };
        let template = template.filter(|template| !template.is_empty());
        let strict = !typed.is_or("allow-missing-template-keys", true);
        let template = |what: &str| {
            let missing = || {
                let said = match form.starts_with("custom-columns") {
                    true => "custom-columns format specified but no custom columns given",
                    false => "template format specified but no template given",
                };
                CliError::usage(format!("{said}\nAs in: -o {form}={what}"))
            };
            template.clone().ok_or_else(missing)
        };
        let read = |what: &str| {
            let path = template("FILE")?;
            std::fs::read_to_string(&path).map_err(|error| {
                CliError::usage(format!("error reading {what} {path}, open {path}: {}", why(&error)))
            })
        };
        Ok(match form {
            "" => Self::Human { wide: false },
            "wide" => Self::Human { wide: true },
            "name" => Self::Name,
            "yaml" => Self::Yaml,
            "kyaml" => Self::Kyaml,
            "json" => Self::Json,
            "jsonpath" => Self::Path(Template::parse(&template("{.metadata.name}")?)?),
            "jsonpath-as-json" => Self::Values(Template::parse(&template("{.metadata.name}")?)?),
            "jsonpath-file" => Self::Path(Template::parse(&read("--template")?)?),
            "custom-columns" => Self::Columns(Columns::parse(&template("NAME:.metadata.name")?)?),
            "custom-columns-file" => Self::Columns(Columns::parse_file(&read("template")?)?),
            "go-template" | "template" => {
                Self::Go(GoTemplate::parse(&template("{{.metadata.name}}")?, strict)?)
            }
            "go-template-file" | "templatefile" => Self::Go(GoTemplate::parse(&read("--template")?, strict)?),
            other => {
                let (columns, wide) = match typed.path.first() {
                    Some(&"get") => ("custom-columns,custom-columns-file,", "wide,"),
                    _ => ("", ""),
                };
                return Err(CliError::usage(format!(
                    "unable to match a printer suitable for the output format {other:?}, allowed formats are: \
                     {columns}go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,\
                     templatefile,{wide}yaml"
                )));
            }
        })
    }

    pub(crate) fn is_human(&self) -> bool {
        matches!(self, Self::Human { .. })
    }

    /// Says what was done to an object, in the form asked for.
    pub(crate) fn done(
        &self,
        session: &Session<'_>,
        resource: &Resource,
        object: &Value,
        done: &str,
    ) -> Result<(), CliError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match self {
            Self::Human { .. } => {
                let dry = session.dry_run()?.told();
                session.screen.line(&format!("{}/{name} {done}{dry}", resource.told()))
            }
            Self::Name => session.screen.line(&format!("{}/{name}", resource.told())),
            _ => session.screen.say(&self.object(&shown(object, session.typed))?),
        }
    }

    /// One object or list as text. Tables are not made here.
    pub(crate) fn object(&self, object: &Value) -> Result<String, CliError> {
        Ok(match self {
            Self::Human { .. } | Self::Name => {
                format!("{}\n", object["metadata"]["name"].as_str().unwrap_or_default())
            }
            Self::Yaml => yaml::text(object),
            Self::Kyaml => kyaml::text(object),
            Self::Json => json_text(object),
            Self::Path(template) => template.apply(object)?,
            Self::Values(template) => json_text(&template.values(object).into()),
            Self::Columns(columns) => columns.table(std::slice::from_ref(object), true)?,
            Self::Go(template) => template.apply(object)?,
        })
    }
}

/// Without what only few want to see.
pub(crate) fn shown(object: &Value, typed: &Typed) -> Value {
    let mut object = object.clone();
    if !typed.is("show-managed-fields") {
        strip(&mut object);
    }
    object
}

fn strip(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
        items.iter_mut().for_each(strip);
    }
}

/// Several objects as one.
pub(crate) fn list(items: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
}

/// Four spaces, as kubectl does.
pub(crate) fn json_text(value: &Value) -> String {
    let mut bytes = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, form);
    // A value that was read can always be written, and memory takes it.
    let _written = serde::Serialize::serialize(value, &mut writer);
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}
