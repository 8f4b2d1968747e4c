//! Named formats: `format.dns1123Label().validate(x)`. The rules themselves are the API's own.

use base64::Engine as _;
use kedge_kinds::names;

use super::{Fun, first, url::Url};
use crate::error::EvalError;
use crate::value::{Instant, Opaque, Value};

pub(crate) const SIGNATURES: &str = "
format.named format-named (string) optional(format)
validate format-validate format.(string) optional(list(string))
format.dns1123Label format.dns1123Label () format
format.dns1123Subdomain format.dns1123Subdomain () format
format.dns1035Label format.dns1035Label () format
format.qualifiedName format.qualifiedName () format
format.dns1123LabelPrefix format.dns1123LabelPrefix () format
format.dns1123SubdomainPrefix format.dns1123SubdomainPrefix () format
format.dns1035LabelPrefix format.dns1035LabelPrefix () format
format.labelValue format.labelValue () format
format.uri format.uri () format
format.uuid format.uuid () format
format.byte format.byte () format
format.date format.date () format
format.datetime format.datetime () format
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("format.named", |args| match first(args)? {
        Value::String(name) => Ok(match NamedFormat::named(name) {
            Some(format) => Value::some(Value::opaque(Opaque::Format(format))),
            None => Value::none(),
        }),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("validate", |args| match args {
        [Value::Opaque(format), Value::String(text)] => match &**format {
            Opaque::Format(format) => Ok(validated(*format, text)),
            _ => Err(EvalError::NoSuchOverload),
        },
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("format.dns1123Label", |_| Ok(of(NamedFormat::Dns1123Label))),
    ("format.dns1123Subdomain", |_| Ok(of(NamedFormat::Dns1123Subdomain))),
    ("format.dns1035Label", |_| Ok(of(NamedFormat::Dns1035Label))),
    ("format.qualifiedName", |_| Ok(of(NamedFormat::QualifiedName))),
    ("format.dns1123LabelPrefix", |_| Ok(of(NamedFormat::Dns1123LabelPrefix))),
    ("format.dns1123SubdomainPrefix", |_| Ok(of(NamedFormat::Dns1123SubdomainPrefix))),
    ("format.dns1035LabelPrefix", |_| Ok(of(NamedFormat::Dns1035LabelPrefix))),
    ("format.labelValue", |_| Ok(of(NamedFormat::LabelValue))),
    ("format.uri", |_| Ok(of(NamedFormat::Uri))),
    ("format.uuid", |_| Ok(of(NamedFormat::Uuid))),
    ("format.byte", |_| Ok(of(NamedFormat::Byte))),
    ("format.date", |_| Ok(of(NamedFormat::Date))),
    ("format.datetime", |_| Ok(of(NamedFormat::DateTime))),
];

fn of(format: NamedFormat) -> Value<'static> {
    Value::opaque(Opaque::Format(format))
}

fn validated(format: NamedFormat, text: &str) -> Value<'static> {
    let messages = format.validate(text);
    if messages.is_empty() {
        return Value::none();
    }
    Value::some(Value::list(messages.into_iter().map(Value::shared).collect()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFormat {
    Dns1123Label,
    Dns1123Subdomain,
    Dns1035Label,
    QualifiedName,
    Dns1123LabelPrefix,
    Dns1123SubdomainPrefix,
    Dns1035LabelPrefix,
    LabelValue,
    Uri,
    Uuid,
    Byte,
    Date,
    DateTime,
}

impl NamedFormat {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "dns1123Label" => NamedFormat::Dns1123Label,
            "dns1123Subdomain" => NamedFormat::Dns1123Subdomain,
            "dns1035Label" => NamedFormat::Dns1035Label,
            "qualifiedName" => NamedFormat::QualifiedName,
            "dns1123LabelPrefix" => NamedFormat::Dns1123LabelPrefix,
            "dns1123SubdomainPrefix" => NamedFormat::Dns1123SubdomainPrefix,
            "dns1035LabelPrefix" => NamedFormat::Dns1035LabelPrefix,
            "labelValue" => NamedFormat::LabelValue,
            "uri" => NamedFormat::Uri,
            "uuid" => NamedFormat::Uuid,
            "byte" => NamedFormat::Byte,
            "date" => NamedFormat::Date,
            "datetime" => NamedFormat::DateTime,
            _ => return None,
        })
    }

    /// How long a regular expression the cost assumes.
    pub(crate) fn regex_size(self) -> u64 {
        match self {
            NamedFormat::Dns1123Label | NamedFormat::Dns1035Label => 30,
            NamedFormat::Dns1123LabelPrefix | NamedFormat::Dns1035LabelPrefix => 30,
            NamedFormat::Dns1123Subdomain
            | NamedFormat::Dns1123SubdomainPrefix
            | NamedFormat::QualifiedName => 60,
            NamedFormat::LabelValue => 40,
            NamedFormat::Uri => 1_123,
            NamedFormat::Uuid => 79,
            NamedFormat::Byte => 82,
            NamedFormat::Date | NamedFormat::DateTime => 83,
        }
    }

    fn validate(self, text: &str) -> Vec<String> {
        let unless = |fine: bool, message: &str| if fine { Vec::new() } else { vec![message.to_owned()] };
        match self {
            NamedFormat::Dns1123Label => names::dns1123_label(text),
            NamedFormat::Dns1123Subdomain => names::dns1123_subdomain(text),
            NamedFormat::Dns1035Label => names::dns1035_label(text),
            NamedFormat::QualifiedName => names::qualified_name(text),
            NamedFormat::Dns1123LabelPrefix => names::dns1123_label(&without_last_dash(text)),
            NamedFormat::Dns1123SubdomainPrefix => names::dns1123_subdomain(&without_last_dash(text)),
            NamedFormat::Dns1035LabelPrefix => names::dns1035_label(&without_last_dash(text)),
            NamedFormat::LabelValue => names::label_value(text),
            NamedFormat::Uri => Url::parse(text).err().into_iter().collect(),
            NamedFormat::Uuid => unless(is_uuid(text), "does not match the UUID format"),
            NamedFormat::Byte => {
                let decoded = base64::engine::general_purpose::STANDARD.decode(text);
                unless(!text.is_empty() && decoded.is_ok(), "invalid base64")
            }
            NamedFormat::Date => unless(Instant::parse_date(text).is_some(), "invalid date"),
            NamedFormat::DateTime => {
                unless(!text.is_empty() && Instant::parse(text, true).is_some(), "invalid datetime")
            }
        }
    }
}

/// A prefix may end with the dash that joins it to what follows.
fn without_last_dash(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut kept: String = rest.chars().take(rest.chars().count() - 1).collect();
            kept.push('a');
            kept
        }
        _ => text.to_owned(),
    }
}

/// Dashes may be left out, and letters may be large.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (place, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.as_bytes().get(..length) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => rest = &rest[length..],
            _ => return false,
        }
    }
    rest.is_empty()
}
