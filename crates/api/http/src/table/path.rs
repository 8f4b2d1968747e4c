//! JSONPath as far as printer columns use it: keys, indices, slices, `*`, `..` and filters, as in kubectl's dialect.
//! Finds values; how one is shown is decided elsewhere.

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    /// From, to and step; a negative bound counts from the end.
    Slice(Option<i64>, Option<i64>, i64),
    Index(i64),
    Wildcard,
    /// This value and everything below it.
    Descend,
    Filter(Filter),
    Union(Vec<Step>),
}

/// `@.type=="Ready"`
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    path: JsonPath,
    /// `None`: it is enough that something is there.
    test: Option<(Compare, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl JsonPath {
    /// `.spec.parts[*].name`; `None` where it is no such path.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let mut rest = text.strip_prefix(['$', '@']).unwrap_or(text);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            rest = step(rest, &mut steps)?;
        }
        Some(Self(steps))
    }

    /// Everything that the path leads to.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| follow(step, value)).collect();
        }
        found
    }
}

fn step<'t>(text: &'t str, steps: &mut Vec<Step>) -> Option<&'t str> {
    if let Some(rest) = text.strip_prefix("..") {
        steps.push(Step::Descend);
        return if rest.starts_with('[') { Some(rest) } else { key(rest, steps) };
    }
    if let Some(rest) = text.strip_prefix('.') {
        return if rest.starts_with('[') || rest.is_empty() { Some(rest) } else { key(rest, steps) };
    }
    if let Some(rest) = text.strip_prefix('[') {
        let end = closing(rest)?;
        let (inner, rest) = rest.split_at_checked(end)?;
        steps.push(bracket(inner.trim())?);
        return rest.strip_prefix(']');
    }
    // A path may begin without its dot.
    if steps.is_empty() { key(text, steps) } else { None }
}

/// A key up to the next dot or bracket; a backslash takes away what the next character means.
fn key<'t>(text: &'t str, steps: &mut Vec<Step>) -> Option<&'t str> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    let mut end = text.len();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?.1),
            '.' | '[' => {
                end = at;
                break;
            }
            letter => name.push(letter),
        }
    }
    if name.is_empty() {
        return None;
    }
    steps.push(if name == "*" { Step::Wildcard } else { Step::Key(name) });
    text.get(end..)
}

/// Where the bracket that was opened ends, quotes and inner brackets respected.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[' | '(') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']' | ')') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::Wildcard);
    }
    if let Some(filter) = inner.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self::filter(filter.trim()).map(Step::Filter);
    }
    if let Some(name) = quoted(inner) {
        return Some(Step::Key(name));
    }
    if inner.contains(',') {
        return inner.split(',').map(|part| bracket(part.trim())).collect::<Option<_>>().map(Step::Union);
    }
    if inner.contains(':') {
        let mut bounds = inner.split(':').map(|bound| match bound.trim() {
            "" => Some(None),
            bound => bound.parse().ok().map(Some),
        });
        let (from, to) = (bounds.next()??, bounds.next()??);
        let by = bounds.next().unwrap_or(Some(None))?.unwrap_or(1);
        return Some(Step::Slice(from, to, by));
    }
    inner.parse().ok().map(Step::Index)
}

fn quoted(text: &str) -> Option<String> {
    ['\'', '"'].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.contains(*quote)).then(|| inner.to_owned())
    })
}

fn filter(text: &str) -> Option<Filter> {
    let operators = [
        ("==", Compare::Equal),
        ("!=", Compare::Different),
        ("<=", Compare::AtMost),
        (">=", Compare::AtLeast),
        ("<", Compare::Less),
        (">", Compare::Greater),
    ];
    for (sign, compare) in operators {
        if let Some((path, value)) = text.split_once(sign) {
            let value = value.trim();
            let value = quoted(value).map(Value::from).or_else(|| serde_json::from_str(value).ok())?;
            return Some(Filter { path: JsonPath::parse(path)?, test: Some((compare, value)) });
        }
    }
    Some(Filter { path: JsonPath::parse(text)?, test: None })
}

fn follow<'v>(step: &Step, value: &'v Value) -> Vec<&'v Value> {
    match step {
        Step::Key(name) => value.get(name).into_iter().collect(),
        Step::Index(at) => match value.as_array() {
            Some(list) => place(*at, list.len()).and_then(|at| list.get(at)).into_iter().collect(),
            None => Vec::new(),
        },
        Step::Wildcard => match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(map) => map.values().collect(),
            _ => Vec::new(),
        },
        Step::Slice(from, to, by) => {
            let list = value.as_array().map_or(&[][..], Vec::as_slice);
            let bound = |bound: &Option<i64>, otherwise: usize| match bound {
                None => otherwise,
                Some(at) => place(*at, list.len()).unwrap_or(0).min(list.len()),
            };
            let (from, to) = (bound(from, 0), bound(to, list.len()));
            let by = usize::try_from(*by).unwrap_or(1).max(1);
            list.get(from..to.max(from)).unwrap_or_default().iter().step_by(by).collect()
        }
        Step::Descend => {
            let mut all = vec![value];
            for below in follow(&Step::Wildcard, value) {
                all.extend(follow(&Step::Descend, below));
            }
            all
        }
        Step::Filter(filter) => {
            let list = value.as_array().map_or(&[][..], Vec::as_slice);
            list.iter().filter(|item| filter.takes(item)).collect()
        }
        Step::Union(steps) => steps.iter().flat_map(|step| follow(step, value)).collect(),
    }
}

fn place(at: i64, length: usize) -> Option<usize> {
    match usize::try_from(at) {
        Ok(at) => Some(at),
        Err(_) => length.checked_sub(usize::try_from(at.unsigned_abs()).ok()?),
    }
}

impl Filter {
    fn takes(&self, item: &Value) -> bool {
        let found = self.path.find(item);
        let Some(first) = found.first() else { return false };
        let Some((compare, value)) = &self.test else { return true };
        let order = match (first, value) {
            (Value::String(a), Value::String(b)) => a.partial_cmp(b),
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            (Value::Bool(a), Value::Bool(b)) => a.partial_cmp(b),
            _ => None,
        };
        match (compare, order) {
            (Compare::Equal, order) => order.is_some_and(|order| order.is_eq()),
            (Compare::Different, order) => !order.is_some_and(|order| order.is_eq()),
            (Compare::Less, Some(order)) => order.is_lt(),
            (Compare::AtMost, Some(order)) => order.is_le(),
            (Compare::Greater, Some(order)) => order.is_gt(),
            (Compare::AtLeast, Some(order)) => order.is_ge(),
            (_, None) => false,
        }
    }
}

#[cfg(test)]
mod tests;
