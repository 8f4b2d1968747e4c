//! One path through a value: fields, indexes, slices, everything, anything below, those that pass a filter.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    /// From the top of the document, not from where a range stands.
    from_root: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Every,
    Below,
    Slice { from: Option<i64>, to: Option<i64>, step: usize },
    Index(i64),
    Union(Vec<Step>),
    Filter { left: Operand, compare: Option<(Compare, Operand)> },
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Path),
    Value(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Compare {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Path {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (from_root, rest) = match text.strip_prefix('$') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('@').unwrap_or(text)),
        };
        let mut steps = Vec::new();
        let mut rest = rest;
        while !rest.is_empty() {
            rest = if let Some(behind) = rest.strip_prefix("..") {
                steps.push(Step::Below);
                if behind.starts_with('[') { behind } else { field(behind, &mut steps)? }
            } else if let Some(behind) = rest.strip_prefix('.') {
                if behind.is_empty() || behind.starts_with('[') { behind } else { field(behind, &mut steps)? }
            } else if let Some(behind) = rest.strip_prefix('[') {
                let end = bracket(behind).ok_or("unterminated array")?;
                steps.push(inside(behind.get(..end).unwrap_or_default().trim())?);
                behind.get(end + 1..).unwrap_or_default()
            } else {
                return Err(format!("unrecognized character in action: {text:?}"));
            };
        }
        Ok(Self { from_root, steps })
    }

    /// Everything that it leads to.
    pub(crate) fn find<'v>(&self, root: &'v Value, here: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![if self.from_root { root } else { here }];
        for step in &self.steps {
            found = found.into_iter().flat_map(|value| step.take(root, value)).collect();
        }
        found
    }
}

/// A name up to the next dot or bracket; `\.` is a dot in it.
fn field<'t>(text: &'t str, steps: &mut Vec<Step>) -> Result<&'t str, String> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    let mut end = text.len();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => {
                end = at;
                break;
            }
            other => name.push(other),
        }
    }
    match &*name {
        "" => return Err("a name is missing".to_owned()),
        "*" => steps.push(Step::Every),
        _ => steps.push(Step::Field(name)),
    }
    Ok(text.get(end..).unwrap_or_default())
}

/// Where the bracket closes, quotes and inner brackets minded.
fn bracket(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn inside(text: &str) -> Result<Step, String> {
    if text == "*" {
        return Ok(Step::Every);
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|text| text.strip_suffix(')')) {
        return self::filter(filter.trim());
    }
    if let Some(name) = quoted(text) {
        return Ok(Step::Field(name));
    }
    if text.contains(',') {
        let parts = text.split(',').map(|part| inside(part.trim())).collect::<Result<_, _>>()?;
        return Ok(Step::Union(parts));
    }
    let wrong = || format!("invalid array index {text}");
    if !text.contains(':') {
        return text.parse().map(Step::Index).map_err(|_| wrong());
    }
    let number = |part: Option<&str>| match part.map(str::trim) {
        None | Some("") => Ok(None),
        Some(part) => part.parse::<i64>().map(Some).map_err(|_| wrong()),
    };
    let mut parts = text.split(':');
    let (from, to, step) = (number(parts.next())?, number(parts.next())?, number(parts.next())?);
    let step = usize::try_from(step.unwrap_or(1)).ok().filter(|step| *step > 0).ok_or_else(wrong)?;
    Ok(Step::Slice { from, to, step })
}

fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then(|| inner.to_owned())
}

fn filter(text: &str) -> Result<Step, String> {
    const COMPARES: &[(&str, Compare)] = &[
        ("==", Compare::Equal),
        ("!=", Compare::Unequal),
        ("<=", Compare::LessOrEqual),
        (">=", Compare::GreaterOrEqual),
        ("<", Compare::Less),
        (">", Compare::Greater),
    ];
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, _) => {
                let rest = text.get(at..).unwrap_or_default();
                if let Some((sign, compare)) = COMPARES.iter().find(|(sign, _)| rest.starts_with(sign)) {
                    let left = operand(text.get(..at).unwrap_or_default())?;
                    let right = operand(rest.get(sign.len()..).unwrap_or_default())?;
                    return Ok(Step::Filter { left, compare: Some((*compare, right)) });
                }
            }
        }
    }
    Ok(Step::Filter { left: operand(text)?, compare: None })
}

fn operand(text: &str) -> Result<Operand, String> {
    let text = text.trim();
    if let Some(text) = quoted(text) {
        return Ok(Operand::Value(text.into()));
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok(Operand::Value(value)),
        Err(_) => Path::parse(text).map(Operand::Path),
    }
}

impl Step {
    fn take<'v>(&self, root: &'v Value, value: &'v Value) -> Vec<&'v Value> {
        match self {
            Self::Field(name) => value.get(name).filter(|value| !value.is_null()).into_iter().collect(),
            Self::Every => children(value),
            Self::Below => {
                let mut all = Vec::new();
                below(value, &mut all);
                all
            }
            Self::Index(at) => {
                value.as_array().and_then(|items| items.get(place(*at, items.len())?)).into_iter().collect()
            }
            Self::Slice { from, to, step } => {
                let Some(items) = value.as_array() else { return Vec::new() };
                let bound = |at: i64| place(at, items.len()).unwrap_or(0).min(items.len());
                let from = from.map_or(0, bound);
                let to = to.map_or(items.len(), bound);
                items.iter().take(to).skip(from).step_by(*step).collect()
            }
            Self::Union(steps) => steps.iter().flat_map(|step| step.take(root, value)).collect(),
            Self::Filter { left, compare } => children(value)
                .into_iter()
                .filter(|item| passes(root, item, left, compare.as_ref()))
                .collect(),
        }
    }
}

/// Negative places count from the end.
fn place(at: i64, len: usize) -> Option<usize> {
    match usize::try_from(at) {
        Ok(at) => Some(at),
        Err(_) => len.checked_sub(usize::try_from(at.unsigned_abs()).ok()?),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn below<'v>(value: &'v Value, all: &mut Vec<&'v Value>) {
    all.push(value);
    children(value).into_iter().for_each(|child| below(child, all));
}

fn passes(root: &Value, item: &Value, left: &Operand, compare: Option<&(Compare, Operand)>) -> bool {
    let Some(left) = left.value(root, item) else { return false };
    let Some((compare, right)) = compare else { return true };
    let Some(right) = right.value(root, item) else { return false };
    let order = match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left.partial_cmp(&right),
        _ => left.as_str().zip(right.as_str()).map(|(left, right)| left.cmp(right)),
    };
    match compare {
        Compare::Equal => order.map_or(left == right, std::cmp::Ordering::is_eq),
        Compare::Unequal => order.map_or(left != right, std::cmp::Ordering::is_ne),
        Compare::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        Compare::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
        Compare::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        Compare::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}

impl Operand {
    fn value<'v>(&'v self, root: &'v Value, item: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Path(path) => path.find(root, item).into_iter().next(),
        }
    }
}
