//! YAML, one document. The parser bounds depth, nodes and what aliases may expand to.

use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

use super::{DecodeError, Decoded};

pub(super) fn read(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    // JSON is YAML too, and this way its duplicates are found with their paths.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
        && let Ok(decoded) = super::json::read(bytes)
    {
        return Ok(decoded);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| DecodeError::Yaml(error.to_string()))?;
    let text = first_document(text);
    let parse = |policy| {
        let options = serde_saphyr::options! {
            duplicate_keys: policy, legacy_octal_numbers: true, with_snippet: false
        };
        serde_saphyr::from_str_with_options::<Value>(text, options)
    };
    let mut duplicates = Vec::new();
    let value = match parse(DuplicateKeyPolicy::Error) {
        Ok(value) => value,
        Err(serde_saphyr::Error::DuplicateMappingKey { key, location }) => {
            let value = parse(DuplicateKeyPolicy::LastWins).map_err(|error| told(&error))?;
            let key = key.unwrap_or_default();
            let line = location.line();
            duplicates
                .push(format!("yaml: unmarshal errors:\n  line {line}: key {key:?} already set in map"));
            value
        }
        Err(error) => return Err(told(&error)),
    };
    match value {
        Value::Object(_) => Ok(Decoded { value, duplicates }),
        _ => Err(DecodeError::Json("json: cannot unmarshal a YAML document that is not a map".into())),
    }
}

/// `line 3: did not find …`, upstream's form.
fn told(error: &serde_saphyr::Error) -> DecodeError {
    let error = error.without_snippet();
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    DecodeError::Yaml(match error.location() {
        Some(location) => format!("line {}: {said}", location.line()),
        None => said.to_owned(),
    })
}

/// Upstream reads the first document of a body and leaves the rest.
fn first_document(text: &str) -> &str {
    let body = text.strip_prefix("---").unwrap_or(text);
    let end = body.match_indices("\n---").find(|(at, _)| {
        let after = body.get(at + 4..).unwrap_or_default();
        after.is_empty() || after.starts_with(['\n', '\r', ' '])
    });
    end.and_then(|(at, _)| body.get(..=at)).unwrap_or(body)
}
