//! Tables as the server makes them, as text: columns wide enough, three spaces apart. Knows no kind.

use serde_json::Value;

/// Columns are never narrower than this, and this far apart.
const LEAST: usize = 6;
const APART: usize = 3;

/// How wide columns were so far: rows that come later stay below the headings.
#[derive(Default)]
pub(crate) struct Widths(Vec<usize>);

/// What of a table is shown.
#[derive(Default)]
pub(crate) struct Shape<'s> {
    pub(crate) wide: bool,
    pub(crate) headings: bool,
    pub(crate) namespace: bool,
    /// Put before names: `deployment.apps/`.
    pub(crate) prefix: String,
    pub(crate) labels: bool,
    pub(crate) label_columns: &'s [String],
    /// A first column that every row has, with its heading.
    pub(crate) event: Option<&'s str>,
}

/// The rows of a `Table`, the headings first if they are wanted.
pub(crate) fn rows(columns: &[Value], rows: &[Value], shape: &Shape<'_>) -> Vec<Vec<String>> {
    let shown = |column: &Value| shape.wide || column["priority"].as_i64().unwrap_or_default() == 0;
    let places: Vec<usize> =
        columns.iter().enumerate().filter(|(_, column)| shown(column)).map(|(at, _)| at).collect();
    let mut text = Vec::new();
    if shape.headings {
        text.push(headings(columns, &places, shape));
    }
    text.extend(rows.iter().map(|row| cells(row, columns, &places, shape)));
    text
}

fn headings(columns: &[Value], places: &[usize], shape: &Shape<'_>) -> Vec<String> {
    let mut line: Vec<String> = shape.event.iter().map(|_| format!("{:<8}", "EVENT")).collect();
    line.extend(shape.namespace.then(|| "NAMESPACE".to_owned()));
    let name = |at: &usize| columns.get(*at).and_then(|column| column["name"].as_str()).unwrap_or_default();
    line.extend(places.iter().map(|at| name(at).to_uppercase()));
    line.extend(
        shape.label_columns.iter().map(|label| label.rsplit('/').next().unwrap_or_default().to_uppercase()),
    );
    line.extend(shape.labels.then(|| "LABELS".to_owned()));
    line
}

fn cells(row: &Value, columns: &[Value], places: &[usize], shape: &Shape<'_>) -> Vec<String> {
    let metadata = &row["object"]["metadata"];
    let mut line: Vec<String> = shape.event.iter().map(|event| format!("{event:<8}")).collect();
    line.extend(shape.namespace.then(|| metadata["namespace"].as_str().unwrap_or_default().to_owned()));
    for at in places {
        let is_name =
            columns.get(*at).is_some_and(|column| column["format"] == "name" || column["name"] == "Name");
        let text = cell(&row["cells"][*at]);
        line.push(if is_name { format!("{}{text}", shape.prefix) } else { text });
    }
    let label = |key: &String| metadata["labels"][key].as_str().unwrap_or_default().to_owned();
    line.extend(shape.label_columns.iter().map(label));
    line.extend(shape.labels.then(|| labels(&metadata["labels"])));
    line
}

/// `a=1,b=2`
pub(crate) fn labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let pairs: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// The first line of what stands there.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => match text.split_once('\n') {
            Some((first, _)) => format!("{first}..."),
            None => text.clone(),
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Lines with every column as wide as its widest cell; the last one as it is.
pub(crate) fn aligned(rows: &[Vec<String>], widths: &mut Widths) -> String {
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            if widths.0.len() <= at {
                widths.0.push(0);
            }
            if let Some(width) = widths.0.get_mut(at) {
                *width = (*width).max((cell.chars().count() + APART).max(LEAST));
            }
        }
    }
    let mut out = String::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            out.push_str(cell);
            if at + 1 < row.len() {
                let width = widths.0.get(at).copied().unwrap_or_default();
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
