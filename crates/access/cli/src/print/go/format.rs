//! Values as text: Go's `%v`, and `printf` with the verbs and signs that templates use.

use serde_json::Value;

use super::value::{Val, sorted};

/// `%v`
pub(super) fn plain(value: &Val<'_>) -> String {
    with_verb(value, &Verb { letter: 'v', ..Verb::default() })
}

/// Go's `Sprint`: blanks stand between two values of which none is a text.
pub(super) fn printed(values: &[Val<'_>]) -> String {
    let mut out = String::new();
    let mut after_text = true;
    for (at, value) in values.iter().enumerate() {
        let is_text = matches!(value, Val::Text(_));
        if at > 0 && !is_text && !after_text {
            out.push(' ');
        }
        out.push_str(&plain(value));
        after_text = is_text;
    }
    out
}

/// What stands between a percent sign and its letter.
#[derive(Clone, Copy, Default)]
struct Verb {
    letter: char,
    left: bool,
    plus: bool,
    blank: bool,
    zero: bool,
    sharp: bool,
    width: usize,
    precision: Option<usize>,
}

pub(super) fn printf(form: &str, given: &[Val<'_>]) -> String {
    let mut out = String::new();
    let mut given = given.iter();
    let mut letters = form.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let mut verb = Verb::default();
        while let Some(sign) = letters.next_if(|letter| "-+ 0#".contains(*letter)) {
            match sign {
                '-' => verb.left = true,
                '+' => verb.plus = true,
                ' ' => verb.blank = true,
                '0' => verb.zero = true,
                _ => verb.sharp = true,
            }
        }
        let mut number = |letters: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            if letters.next_if_eq(&'*').is_some() {
                return match given.next() {
                    Some(Val::Int(number) | Val::Long(number)) => usize::try_from(*number).ok(),
                    _ => None,
                };
            }
            let mut digits = String::new();
            digits.extend(std::iter::from_fn(|| letters.next_if(char::is_ascii_digit)));
            digits.parse().ok()
        };
        verb.width = number(&mut letters).unwrap_or_default();
        if letters.next_if_eq(&'.').is_some() {
            verb.precision = Some(number(&mut letters).unwrap_or_default());
        }
        match letters.next() {
            None => out.push_str("%!(NOVERB)"),
            Some('%') => out.push('%'),
            Some(letter) => match given.next() {
                None => out.push_str(&format!("%!{letter}(MISSING)")),
                Some(value) => out.push_str(&with_verb(value, &Verb { letter, ..verb })),
            },
        }
    }
    let extra: Vec<String> =
        given.map(|value| format!("{}={}", value.type_name(), plain(value)).replace("<nil>=", "")).collect();
    if !extra.is_empty() {
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    out
}

fn with_verb(value: &Val<'_>, verb: &Verb) -> String {
    let bad = || match value {
        Val::None => format!("%!{}(<nil>)", verb.letter),
        value => {
            let shown = with_verb(value, &Verb { letter: 'v', ..*verb });
            format!("%!{}({}={shown})", verb.letter, value.type_name())
        }
    };
    match (value, verb.letter) {
        (value, 'T') => padded(value.type_name().to_owned(), verb),
        (Val::None, 'v') => padded("<nil>".to_owned(), verb),
        (Val::List(list), _) => {
            let items: Vec<String> = list.iter().map(|item| inner(item, verb)).collect();
            format!("[{}]", items.join(" "))
        }
        (Val::Map(map), _) => {
            let entry = |(key, item): (&String, &Value)| {
                format!("{}:{}", with_verb(&Val::Text(key.as_str().into()), verb), inner(item, verb))
            };
            format!("map[{}]", sorted(map).into_iter().map(entry).collect::<Vec<_>>().join(" "))
        }
        (Val::Bool(truth), 'v' | 't') => padded(truth.to_string(), verb),
        (Val::Text(text), letter) => match letter {
            'v' | 's' => padded(cut(text, verb), verb),
            'q' => padded(quoted(&cut(text, verb)), verb),
            'x' => padded(text.bytes().map(|byte| format!("{byte:02x}")).collect(), verb),
            'X' => padded(text.bytes().map(|byte| format!("{byte:02X}")).collect(), verb),
            _ => bad(),
        },
        (Val::Int(number) | Val::Long(number), letter) => {
            let digits = number.unsigned_abs();
            let digits = match letter {
                'v' | 'd' => format!("{digits:0>least$}", least = verb.precision.unwrap_or_default()),
                'x' => format!("{}{digits:x}", if verb.sharp { "0x" } else { "" }),
                'X' => format!("{}{digits:X}", if verb.sharp { "0X" } else { "" }),
                'o' => format!("{}{digits:o}", if verb.sharp { "0" } else { "" }),
                'b' => format!("{digits:b}"),
                'c' | 'q' => {
                    let meant = u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
                    return padded(
                        if letter == 'c' { meant.to_string() } else { format!("'{meant}'") },
                        verb,
                    );
                }
                _ => return bad(),
            };
            signed(*number < 0, digits, verb)
        }
        (Val::Float(number), letter) => {
            let size = number.abs();
            let digits = match (letter, verb.precision) {
                ('v' | 'g', None) => shortest(size),
                ('v' | 'g', Some(digits)) => general(size, digits.max(1)),
                ('f' | 'F', digits) => format!("{size:.*}", digits.unwrap_or(6)),
                ('e', digits) => exponent(&format!("{size:.*e}", digits.unwrap_or(6))),
                _ => return bad(),
            };
            signed(number.is_sign_negative(), digits, verb)
        }
        _ => bad(),
    }
}

/// A member of a list or map.
fn inner(item: &Value, verb: &Verb) -> String {
    match (Val::of(item), verb.letter) {
        (Val::None, 'v') => "<nil>".to_owned(),
        (value, _) => with_verb(&value, verb),
    }
}

fn cut(text: &str, verb: &Verb) -> String {
    match verb.precision {
        Some(most) => text.chars().take(most).collect(),
        None => text.to_owned(),
    }
}

fn padded(text: String, verb: &Verb) -> String {
    let missing = verb.width.saturating_sub(text.chars().count());
    match (verb.left, verb.zero) {
        (true, _) => text + &" ".repeat(missing),
        (false, true) => "0".repeat(missing) + &text,
        (false, false) => " ".repeat(missing) + &text,
    }
}

fn signed(negative: bool, digits: String, verb: &Verb) -> String {
    let sign = match negative {
        true => "-",
        false if verb.plus => "+",
        false if verb.blank => " ",
        false => "",
    };
    let whole = format!("{sign}{digits}");
    let missing = verb.width.saturating_sub(whole.len());
    match verb.zero && !verb.left {
        true => format!("{sign}{}{digits}", "0".repeat(missing)),
        false => padded(whole, verb),
    }
}

/// With as few digits as say what it is; from a million on with an exponent, as Go does.
fn shortest(number: f64) -> String {
    let short = format!("{number:e}");
    let power: i32 = short.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or_default();
    match (-4..6).contains(&power) || number == 0.0 {
        true => format!("{number}"),
        false => exponent(&short),
    }
}

/// `%.3g`
fn general(number: f64, digits: usize) -> String {
    let rounded = format!("{number:.*e}", digits - 1);
    let (mantissa, power) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    let bare = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let most = i32::try_from(digits).unwrap_or(i32::MAX);
    match (-4..most).contains(&power) {
        true => {
            let behind = usize::try_from(most - 1 - power).unwrap_or_default();
            bare(&format!("{number:.behind$}"))
        }
        false => exponent(&format!("{}e{power}", bare(mantissa))),
    }
}

/// `1.5e8` as Go writes it: `1.5e+08`.
fn exponent(short: &str) -> String {
    let (mantissa, power) = short.split_once('e').unwrap_or((short, "0"));
    let (sign, digits) = match power.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', power),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// As Go would write it in its source.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\x0b' => out.push_str("\\v"),
            '\0'..='\x1f' | '\x7f' => out.push_str(&format!("\\x{:02x}", u32::from(letter))),
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}
