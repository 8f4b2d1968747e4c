//! Semantic versions: parse, compare, take apart.

use std::cmp::Ordering;
use std::fmt;

use super::{Fun, first, second};
use crate::error::EvalError;
use crate::value::{Opaque, Value};

pub(crate) const SIGNATURES: &str = "
semver string_to_semver (string) semver
semver string_bool_to_semver (string,bool) semver
isSemver is_semver_string (string) bool
isSemver is_semver_string_bool (string,bool) bool
major semver_major semver.() int
minor semver_minor semver.() int
patch semver_patch semver.() int
isGreaterThan semver_is_greater_than semver.(semver) bool
isLessThan semver_is_less_than semver.(semver) bool
compareTo semver_compare_to semver.(semver) int
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("semver", |args| {
        read(args)?.map(|version| Value::opaque(Opaque::Semver(version))).map_err(EvalError::function)
    }),
    ("isSemver", |args| Ok(Value::Bool(read(args)?.is_ok()))),
    ("major", |args| Ok(Value::Int(of(first(args)?)?.numbers[0] as i64))),
    ("minor", |args| Ok(Value::Int(of(first(args)?)?.numbers[1] as i64))),
    ("patch", |args| Ok(Value::Int(of(first(args)?)?.numbers[2] as i64))),
];

/// The order of two versions, for the comparisons that versions share with quantities.
pub(crate) fn order(args: &[Value<'_>]) -> Result<Ordering, EvalError> {
    Ok(of(first(args)?)?.cmp_precedence(of(second(args)?)?))
}

fn of<'v>(value: &'v Value<'_>) -> Result<&'v Semver, EvalError> {
    match value {
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Semver(version) => Ok(version),
            _ => Err(EvalError::NoSuchOverload),
        },
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn read(args: &[Value<'_>]) -> Result<Result<Semver, String>, EvalError> {
    match args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Ok(Semver::parse(text)),
        [Value::String(text), Value::Bool(true)] => Ok(normalize(text).and_then(|text| Semver::parse(&text))),
        _ => Err(EvalError::NoSuchOverload),
    }
}

/// `v01.2` becomes `1.2.0`.
fn normalize(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| match part.trim_start_matches('0') {
            _ if part.len() <= 1 => part.to_owned(),
            trimmed if trimmed.starts_with(|c: char| c.is_ascii_digit()) => trimmed.to_owned(),
            trimmed => format!("0{trimmed}"),
        })
        .collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return Err("short version cannot contain PreRelease/Build meta data".into());
    }
    parts.resize(3, "0".to_owned());
    Ok(parts.join("."))
}

#[derive(Clone, Debug)]
pub struct Semver {
    numbers: [u64; 3],
    pre: Vec<Pre>,
    build: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pre {
    /// Numbers come before words.
    Number(u64),
    Word(String),
}

impl Semver {
    pub(crate) fn parse(text: &str) -> Result<Semver, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts[..] else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, build.split('.').map(str::to_owned).collect()),
            None => (rest, Vec::new()),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, pre.split('.').map(pre_release).collect::<Result<_, _>>()?),
            None => (rest, Vec::new()),
        };
        for part in &build {
            check_word(part, "Build meta data is empty", "build meta data")?;
        }
        Ok(Semver {
            numbers: [number(major, "major")?, number(minor, "minor")?, number(patch, "patch")?],
            pre,
            build,
        })
    }

    fn cmp_precedence(&self, other: &Semver) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}

/// What was built does not count.
impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.cmp_precedence(other) == Ordering::Equal
    }
}

impl Eq for Semver {}

fn number(text: &str, which: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {which} number {text:?}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        let which = format!("{}{}", which[..1].to_uppercase(), &which[1..]);
        return Err(format!("{which} number must not contain leading zeroes {text:?}"));
    }
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {text:?}: value out of range"))
}

fn pre_release(text: &str) -> Result<Pre, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text:?}"));
        }
        return text
            .parse()
            .map(Pre::Number)
            .map_err(|_| format!("strconv.ParseUint: parsing {text:?}: value out of range"));
    }
    check_word(text, "Prerelease is empty", "prerelease")?;
    Ok(Pre::Word(text.to_owned()))
}

fn check_word(text: &str, empty: &str, what: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err(empty.into());
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(format!("Invalid character(s) found in {what} {text:?}"));
    }
    Ok(())
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.numbers[0], self.numbers[1], self.numbers[2])?;
        for (place, part) in self.pre.iter().enumerate() {
            let mark = if place == 0 { '-' } else { '.' };
            match part {
                Pre::Number(number) => write!(f, "{mark}{number}")?,
                Pre::Word(word) => write!(f, "{mark}{word}")?,
            }
        }
        for (place, part) in self.build.iter().enumerate() {
            write!(f, "{}{part}", if place == 0 { '+' } else { '.' })?;
        }
        Ok(())
    }
}
