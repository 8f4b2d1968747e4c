//! `-o custom-columns`: a heading and a path for each column.

use serde_json::Value;

use super::jsonpath::{Path, relaxed, told};
use super::table::{Widths, aligned};
use crate::error::CliError;

pub(crate) struct Columns(Vec<(String, Path)>);

impl Columns {
    /// `NAME:.metadata.name,NODE:.spec.nodeName`
    pub(crate) fn parse(text: &str) -> Result<Self, CliError> {
        let column = |column: &str| match column.split_once(':') {
            Some((title, path)) => Ok((title.to_owned(), relaxed(path)?)),
            None => Err(CliError::usage(format!(
                "unexpected custom-columns spec: {column}, expected <header>:<json-path-expr>"
            ))),
        };
        text.split(',').map(column).collect::<Result<_, _>>().map(Self)
    }

    /// Headings in the first line, paths in the second.
    pub(crate) fn parse_file(text: &str) -> Result<Self, CliError> {
        let mut lines = text.lines();
        let mut words = || lines.next().unwrap_or_default().split_whitespace();
        let (titles, paths) = (words(), words());
        if titles.clone().next().is_none() {
            return Err(CliError::usage(
                "invalid template, missing header line. Expected format is one line of space separated headers, one line of space \
                 separated column specs.",
            ));
        }
        titles
            .zip(paths)
            .map(|(title, path)| Ok((title.to_owned(), relaxed(path)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// A row for each object, or for each item of a list.
    pub(crate) fn table(&self, objects: &[Value], headings: bool) -> Result<String, CliError> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        if headings {
            rows.push(self.0.iter().map(|(title, _)| title.clone()).collect());
        }
        for object in objects {
            match object["items"].as_array() {
                Some(items) if object["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => {
                    rows.extend(items.iter().map(|item| self.row(item)));
                }
                _ => rows.push(self.row(object)),
            }
        }
        Ok(aligned(&rows, &mut Widths::default()))
    }

    fn row(&self, object: &Value) -> Vec<String> {
        let cell = |(_, path): &(String, Path)| {
            let found: Vec<String> = path.find(object, object).into_iter().map(told).collect();
            if found.is_empty() { "<none>".to_owned() } else { found.join(",") }
        };
        self.0.iter().map(cell).collect()
    }
}
