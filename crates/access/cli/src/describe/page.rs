//! A page of labelled lines whose columns line up: a tab ends a cell, and cells under each other that end in a tab get one width. Knows
//! no object.

use std::fmt::{Display, Write};

/// What stands between a column's widest cell and the next column.
const GAP: usize = 2;
const INDENT: &str = "  ";

/// Lines to be laid out, written from top to bottom.
#[derive(Default)]
pub(super) struct Page {
    text: String,
    /// Levels that all lines are moved to the right by.
    moved: usize,
}

impl Page {
    /// A line `level` steps from the left.
    pub(super) fn line(&mut self, level: usize, text: impl Display) {
        for _ in 0..self.moved + level {
            self.text.push_str(INDENT);
        }
        self.put(format_args!("{text}\n"));
    }

    /// `Label:` and, in the next column, its value.
    pub(super) fn field(&mut self, level: usize, label: impl Display, value: impl Display) {
        self.line(level, format_args!("{label}:\t{value}"));
    }

    /// A label alone, over what belongs to it.
    pub(super) fn head(&mut self, level: usize, label: impl Display) {
        self.line(level, format_args!("{label}:"));
    }

    /// A label and, in the next column, one value under the other.
    pub(super) fn list<T: Display>(
        &mut self,
        level: usize,
        label: &str,
        values: impl IntoIterator<Item = T>,
    ) {
        let mut values = values.into_iter();
        match values.next() {
            None => self.field(level, label, "<none>"),
            Some(first) => self.field(level, label, first),
        }
        for value in values {
            self.line(level, format_args!("\t{value}"));
        }
    }

    /// Names of columns and the rule under them.
    pub(super) fn columns(&mut self, level: usize, names: &[&str]) {
        self.line(level, names.join("\t"));
        let rules: Vec<String> = names.iter().map(|name| "-".repeat(name.len())).collect();
        self.line(level, rules.join("\t"));
    }

    /// What is written by `inner` stands `levels` further to the right.
    pub(super) fn nested(&mut self, levels: usize, inner: impl FnOnce(&mut Self)) {
        self.moved += levels;
        inner(self);
        self.moved -= levels;
    }

    pub(super) fn finish(self) -> String {
        lay_out(&self.text)
    }

    /// The lines with their tabs.
    pub(super) fn apart(self) -> String {
        // A value under another has no cell before it.
        let text = self.text.replace("\n  \t", "\n\t");
        text.split_inclusive('\n').map(harmless).collect()
    }

    fn put(&mut self, text: impl Display) {
        // A String takes everything that is written to it.
        let _written = write!(self.text, "{text}");
    }
}

fn lay_out(text: &str) -> String {
    let lines: Vec<Vec<String>> =
        text.split_terminator('\n').map(|line| line.split('\t').map(harmless).collect()).collect();
    let mut widths: Vec<Vec<usize>> = lines.iter().map(|line| vec![0; line.len() - 1]).collect();
    let most = widths.iter().map(Vec::len).max().unwrap_or(0);
    for column in 0..most {
        let mut start = 0;
        while start < lines.len() {
            let block = widths[start..].iter().take_while(|line| line.len() > column).count();
            let width = lines[start..start + block].iter().map(|line| line[column].chars().count()).max();
            for line in &mut widths[start..start + block] {
                line[column] = width.unwrap_or(0) + GAP;
            }
            start += block.max(1);
        }
    }
    let mut out = String::with_capacity(text.len() * 2);
    for (cells, widths) in lines.iter().zip(&widths) {
        for (place, cell) in cells.iter().enumerate() {
            out.push_str(cell);
            let width = widths.get(place).copied().unwrap_or(0);
            out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
        }
        out.push('\n');
    }
    out
}

/// What others wrote into an object must not steer the terminal of who reads it.
fn harmless(cell: &str) -> String {
    let escaped = cell.replace('\u{1b}', "^[");
    escaped.replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::{Page, lay_out};

    #[test]
    fn columns_line_up_within_their_block() {
        for (case, text, laid) in [
            ("one block", "a:\t1\nlonger:\t2\n", "a:       1\nlonger:  2\n"),
            ("a line without a tab ends the block", "a:\t1\nhead\nlonger:\t2\n", "a:  1\nhead\nlonger:  2\n"),
            ("the last cell has no width", "a\tb\nc\td\te\n", "a  b\nc  d  e\n"),
            ("an empty column is as wide as the gap", "a\t\tb\n", "a    b\n"),
            ("letters are counted, not bytes", "ä:\t1\nab:\t2\n", "ä:   1\nab:  2\n"),
            ("a tab at the end leaves room", "host\t\n", "host  \n"),
            ("escapes are shown", "a:\t\u{1b}[1m\n", "a:  ^[[1m\n"),
        ] {
            assert_eq!(lay_out(text), laid, "{case}");
        }
    }

    #[test]
    fn nested_lines_stand_to_the_right() {
        let mut page = Page::default();
        page.head(0, "Source");
        page.nested(2, |page| page.field(0, "Type", "x"));
        page.list(0, "Labels", ["a=1", "b=2"]);
        page.list(0, "None", Vec::<String>::new());
        assert_eq!(
            page.finish(),
            "Source:\n    Type:  x\nLabels:    a=1\n           b=2\nNone:      <none>\n"
        );
    }
}
