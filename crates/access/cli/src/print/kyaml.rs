//! KYAML: YAML that cannot be misread. Braces and brackets for everything, quotes around every text, and around keys where somebody
//! might take them for something else. Pure.

use serde_json::Value;

/// One document, with the line that tells it from JSON.
pub(crate) fn text(value: &Value) -> String {
    let mut out = "---\n".to_owned();
    node(&mut out, value, 0);
    out.push('\n');
    out
}

/// Written from where the cursor stands, on a line that is indented this far.
fn node(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) if map.is_empty() => out.push_str("{}"),
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push_str("{\n");
            for key in keys {
                spaces(out, indent + 1);
                match needs_quotes(key) {
                    true => quoted(out, key),
                    false => out.push_str(key),
                }
                out.push_str(": ");
                if let Some(value) = map.get(key) {
                    node(out, value, indent + 1);
                }
                out.push_str(",\n");
            }
            spaces(out, indent);
            out.push('}');
        }
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        // Brackets of the list and of what is in it stand together.
        Value::Array(items) if items.iter().all(|item| item.is_object() || item.is_array()) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                node(out, item, indent);
            }
            out.push(']');
        }
        Value::Array(items) => {
            out.push_str("[\n");
            for item in items {
                spaces(out, indent + 1);
                node(out, item, indent + 1);
                out.push_str(",\n");
            }
            spaces(out, indent);
            out.push(']');
        }
        Value::String(text) => string(out, text, indent + 1),
        leaf => out.push_str(&leaf.to_string()),
    }
}

fn spaces(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n("  ", indent));
}

/// A text of several lines has a line for each, folded away by whoever reads it.
fn string(out: &mut String, text: &str, indent: usize) {
    const FOLD: &str = "\\\n";
    let several = text.contains('\n');
    out.push('"');
    if several {
        out.push_str(FOLD);
    }
    let mut begins = several;
    for letter in text.chars() {
        if begins {
            spaces(out, indent);
            // A blank that belongs to the text is told from those that only indent it; the others stay in line with it.
            out.push(if letter == ' ' { '\\' } else { ' ' });
        }
        begins = letter == '\n';
        escaped(out, letter);
        if begins {
            out.push_str(FOLD);
        }
    }
    if several {
        if !begins {
            out.push_str(FOLD);
        }
        spaces(out, indent);
    }
    out.push('"');
}

/// A key stays on its line, whatever it says.
fn quoted(out: &mut String, key: &str) {
    out.push('"');
    key.chars().for_each(|letter| escaped(out, letter));
    out.push('"');
}

fn escaped(out: &mut String, letter: char) {
    let short = match letter {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\n' => "\\n",
        '\t' => "\\t",
        '\r' => "\\r",
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\u{1b}' => "\\e",
        '\u{85}' => "\\N",
        '\u{a0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => "",
    };
    match u32::from(letter) {
        _ if !short.is_empty() => out.push_str(short),
        _ if is_printed(letter) => out.push(letter),
        code if code < 0x20 || code == 0x7f => out.push_str(&format!("\\x{code:02x}")),
        code if code < 0x10000 => out.push_str(&format!("\\u{code:04x}")),
        code => out.push_str(&format!("\\U{code:08x}")),
    }
}

/// Something is seen where it is printed. Rust knows what it would show as a code; behind another letter marks are no such thing.
fn is_printed(letter: char) -> bool {
    let text: String = ['.', letter].into_iter().collect();
    matches!(letter, '"' | '\\' | '\'') || text.escape_debug().count() == 2
}

fn needs_quotes(key: &str) -> bool {
    let last = key.chars().count().saturating_sub(1);
    let plain = |(place, letter): (usize, char)| {
        letter.is_alphanumeric()
            || letter == '_'
            || (0 < place && place < last && matches!(letter, '-' | '.' | '/'))
    };
    key.is_empty() || means_something_else(key) || !key.chars().enumerate().all(plain)
}

/// Some reader takes it for nothing, a truth, a number or a day.
fn means_something_else(key: &str) -> bool {
    const WORDS: [&str; 11] = ["null", "true", "t", "y", "yes", "on", "false", "f", "n", "no", "off"];
    if WORDS.contains(&&*key.to_lowercase()) {
        return true;
    }
    let digits = key.replace('_', "");
    let based = |prefix: &str, base| {
        let rest = digits.to_lowercase();
        rest.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|digit| digit.is_digit(base)))
    };
    let is_number = digits.parse::<f64>().is_ok() || based("0x", 16) || based("0o", 8) || based("0b", 2);
    let mut parts = key.split('-').map(|part| (part.len(), part.chars().all(|digit| digit.is_ascii_digit())));
    let is_day = parts.next() == Some((4, true))
        && parts.clone().count() == 2
        && parts.all(|part| part.1 && (1..=2).contains(&part.0));
    is_number || is_day
}

#[cfg(test)]
mod tests;
