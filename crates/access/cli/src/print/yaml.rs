//! YAML as kubectl writes it, so that files compare: keys in natural order, lists not indented, quotes only where a reader would take a
//! text for something else. Pure.

use std::cmp::Ordering;

use serde_json::Value;

pub(crate) fn text(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => mapping(&mut out, map, 0),
        Value::Array(items) if !items.is_empty() => sequence(&mut out, items, 0),
        leaf => {
            out.push_str(&scalar(leaf, 0));
            out.push('\n');
        }
    }
    out
}

/// Written from where the cursor stands; further lines are indented.
fn mapping(out: &mut String, map: &serde_json::Map<String, Value>, indent: usize) {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_by(|a, b| natural(a, b));
    for (place, key) in keys.into_iter().enumerate() {
        let Some(value) = map.get(key) else { continue };
        if place > 0 {
            spaces(out, indent);
        }
        out.push_str(&quoted(key, None));
        out.push(':');
        match value {
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                spaces(out, indent + 2);
                mapping(out, map, indent + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                spaces(out, indent);
                sequence(out, items, indent);
            }
            leaf => {
                out.push(' ');
                out.push_str(&scalar(leaf, indent + 2));
                out.push('\n');
            }
        }
    }
}

fn sequence(out: &mut String, items: &[Value], indent: usize) {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            spaces(out, indent);
        }
        out.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => mapping(out, map, indent + 2),
            Value::Array(items) if !items.is_empty() => sequence(out, items, indent + 2),
            leaf => {
                out.push_str(&scalar(leaf, indent + 2));
                out.push('\n');
            }
        }
    }
}

fn spaces(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}

fn scalar(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) => quoted(text, Some(indent)),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        other => other.to_string(),
    }
}

/// A text, as plain as can be. `indent` is given where a block may stand.
fn quoted(text: &str, indent: Option<usize>) -> String {
    let facts = Facts::of(text);
    match indent {
        Some(indent) if text.contains('\n') && facts.can_be_block => return block(text, indent),
        _ if text.contains('\n') || facts.special => return double(text),
        _ => {}
    }
    if means_something_else(text) {
        return double(text);
    }
    match facts.can_be_plain {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

struct Facts {
    /// Has letters that have to be escaped.
    special: bool,
    can_be_block: bool,
    can_be_plain: bool,
}

impl Facts {
    fn of(text: &str) -> Self {
        let printable = |letter: char| letter == '\n' || (!letter.is_control() && letter != '\u{feff}');
        let special = !text.chars().all(printable);
        let space_before_break = text.contains(" \n");
        let can_be_block = !special && !space_before_break && !text.ends_with(' ');
        let inner = text.trim_matches(' ') == text && !text.starts_with("---") && !text.starts_with("...");
        let can_be_plain = inner && !has_indicator(text);
        Self { special: special || (space_before_break && !can_be_block), can_be_block, can_be_plain }
    }
}

/// Something in it would be read as structure.
fn has_indicator(text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    letters.iter().enumerate().any(|(place, letter)| {
        let ends = letters.get(place + 1).is_none_or(|next| next.is_whitespace());
        match letter {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`'
                if place == 0 =>
            {
                true
            }
            '-' | '?' if place == 0 => ends,
            ':' => ends,
            '#' => place
                .checked_sub(1)
                .and_then(|before| letters.get(before))
                .is_some_and(|before| before.is_whitespace()),
            _ => false,
        }
    })
}

fn block(text: &str, indent: usize) -> String {
    let hint = if text.starts_with([' ', '\n']) { "2" } else { "" };
    let chomp = match (text.ends_with('\n'), text.ends_with("\n\n") || text == "\n") {
        (false, _) => "-",
        (true, true) => "+",
        (true, false) => "",
    };
    let mut out = format!("|{hint}{chomp}");
    let lines = text.strip_suffix('\n').unwrap_or(text);
    for line in lines.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            spaces(&mut out, indent);
            out.push_str(line);
        }
    }
    out
}

fn double(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\u{1b}' => out.push_str("\\e"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\u{85}' => out.push_str("\\N"),
            '\u{feff}' => out.push_str("\\uFEFF"),
            letter if letter.is_control() => out.push_str(&format!("\\x{:02X}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Unquoted it would be read as a truth, a number, a time or nothing.
fn means_something_else(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan", ".inf", "+.inf",
        "-.inf", "<<", "=",
    ];
    let lower = text.to_ascii_lowercase();
    let as_word = WORDS.contains(&&*lower)
        && (text == lower || text.to_ascii_uppercase() == text || capitalized(text) || text == ".NaN");
    as_word || is_number(text) || is_time(text)
}

fn capitalized(text: &str) -> bool {
    let rest = text.trim_start_matches(['.', '+', '-']);
    let mut letters = rest.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
}

fn is_number(text: &str) -> bool {
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !bare.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return false;
    }
    let clean = bare.replace('_', "");
    let of_base = |prefixes: [&str; 2], digits: fn(char) -> bool| {
        prefixes.iter().any(|prefix| {
            clean.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.chars().all(digits))
        })
    };
    let hexadecimal = of_base(["0x", "0X"], |digit| digit.is_ascii_hexdigit());
    let octal = of_base(["0o", "0O"], |digit| ('0'..='7').contains(&digit));
    let binary = of_base(["0b", "0B"], |digit| digit == '0' || digit == '1');
    // `f64` reads more than a number of YAML, all of which begins with a letter.
    let decimal = clean.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && clean.parse::<f64>().is_ok()
        && !clean.contains(|letter: char| letter.is_alphabetic() && !matches!(letter, 'e' | 'E'));
    let mut parts = clean.split(':');
    let first =
        parts.next().is_some_and(|part| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit()));
    let base60 = first
        && clean.contains(':')
        && parts.all(|part| {
            let whole = part.split('.').next().unwrap_or_default();
            whole.parse::<u8>().is_ok_and(|value| value < 60) && whole.len() <= 2
        });
    hexadecimal || octal || binary || decimal || base60
}

/// `2024-01-31`, `2024-01-31T12:00:00Z` and their like.
fn is_time(text: &str) -> bool {
    let digits = |text: &str, least: usize, most: usize| {
        (least..=most).contains(&text.len()) && text.chars().all(|digit| digit.is_ascii_digit())
    };
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let is_date = parts.next().is_some_and(|year| digits(year, 4, 4))
        && parts.next().is_some_and(|month| digits(month, 1, 2))
        && parts.next().is_some_and(|day| digits(day, 1, 2))
        && parts.next().is_none();
    let is_clock = |time: &str| {
        let time = time.split(['Z', '+', '.']).next().unwrap_or_default();
        let time = time.split('-').next().unwrap_or_default().trim_end();
        time.split(':').count() == 3 && time.split(':').all(|part| digits(part, 1, 2))
    };
    is_date && time.is_none_or(is_clock)
}

/// Numbers inside keys count as numbers, and letters come after everything else.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(place) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let at = |letters: &[char]| letters.get(place).copied().unwrap_or_default();
    let (left, right) = (at(&a), at(&b));
    match (left.is_alphabetic(), right.is_alphabetic()) {
        (true, true) => return left.cmp(&right),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let run = |letters: &[char]| -> Vec<char> {
        letters.iter().skip(place).copied().take_while(char::is_ascii_digit).collect()
    };
    let number = |run: &[char]| run.iter().collect::<String>().parse::<u64>().unwrap_or_default();
    let (left_run, right_run) = (run(&a), run(&b));
    number(&left_run)
        .cmp(&number(&right_run))
        .then(left_run.len().cmp(&right_run.len()))
        .then(left.cmp(&right))
}

#[cfg(test)]
mod tests;
