//! A page on its way back: links to the server's own places get the prefix under which we show it. Reads as much of HTML as finding the
//! addresses in tags needs, a piece at a time, and changes nothing else.

use bytes::Bytes;

/// A tag that is longer is none: what follows is sent as it is.
const LONGEST_TAG: usize = 16 << 10;

/// What says where a link on the page leads from outside; `None` leaves it.
pub(super) type Rewrite = Box<dyn Fn(&str) -> Option<String> + Send>;

pub(super) struct Page {
    rewrite: Rewrite,
    /// The beginning of something whose end has not come yet.
    held: Vec<u8>,
    /// Inside of what holds no tags: what ends it.
    until: Option<&'static [u8]>,
}

enum Found {
    /// Up to here nothing needs to be changed.
    Plain(usize),
    Tag(usize),
    /// Nothing can be said before more has come.
    Unfinished,
}

impl Page {
    pub(super) fn new(rewrite: Rewrite) -> Self {
        Self { rewrite, held: Vec::new(), until: None }
    }

    pub(super) fn more(&mut self, piece: &[u8]) -> Bytes {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(piece);
        let mut out = Vec::with_capacity(all.len() + 256);
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            match self.look(rest) {
                Found::Plain(end) => {
                    let (plain, after) = rest.split_at(end);
                    out.extend_from_slice(plain);
                    rest = after;
                }
                Found::Tag(end) => {
                    let (tag, after) = rest.split_at(end);
                    self.tag(tag, &mut out);
                    rest = after;
                }
                Found::Unfinished => break,
            }
        }
        self.held = rest.to_vec();
        out.into()
    }

    /// What was waiting for an end that never came.
    pub(super) fn end(self) -> Bytes {
        self.held.into()
    }

    fn look(&mut self, text: &[u8]) -> Found {
        if let Some(end) = self.until {
            if let Some(at) = text.windows(end.len()).position(|window| window.eq_ignore_ascii_case(end)) {
                self.until = None;
                return Found::Plain(at + end.len());
            }
            let safe = text.len().saturating_sub(end.len() - 1);
            return if safe == 0 { Found::Unfinished } else { Found::Plain(safe) };
        }
        match text.iter().position(|&byte| byte == b'<') {
            None => return Found::Plain(text.len()),
            Some(0) => {}
            Some(at) => return Found::Plain(at),
        }
        const COMMENT: &[u8] = b"<!--";
        if text.starts_with(COMMENT) {
            self.until = Some(b"-->");
            return Found::Plain(COMMENT.len());
        }
        if COMMENT.starts_with(text) {
            return Found::Unfinished;
        }
        if !text.get(1).is_some_and(u8::is_ascii_alphabetic) {
            return Found::Plain(1);
        }
        match tag_end(text) {
            Some(end) => Found::Tag(end),
            None if text.len() > LONGEST_TAG => Found::Plain(1),
            None => Found::Unfinished,
        }
    }

    fn tag(&mut self, tag: &[u8], out: &mut Vec<u8>) {
        let name_end = tag.iter().position(|byte| ends_name(*byte)).unwrap_or(tag.len());
        let name = tag.get(1..name_end).unwrap_or_default().to_ascii_lowercase();
        self.until = match &*name {
            b"script" => Some(b"</script"),
            b"style" => Some(b"</style"),
            b"textarea" => Some(b"</textarea"),
            b"title" => Some(b"</title"),
            _ => None,
        };
        let mut sent = 0;
        for (key, start, end) in attributes(tag, name_end) {
            let value = tag.get(start..end).and_then(|value| std::str::from_utf8(value).ok());
            let Some(new) = value.filter(|_| is_link(&name, &key)).and_then(&self.rewrite) else { continue };
            out.extend_from_slice(tag.get(sent..start).unwrap_or_default());
            out.extend_from_slice(new.as_bytes());
            sent = end;
        }
        out.extend_from_slice(tag.get(sent..).unwrap_or_default());
    }
}

fn ends_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'=')
}

/// Behind the `>` that ends a tag, one in a quoted value not being it.
fn tag_end(tag: &[u8]) -> Option<usize> {
    let mut quote = None;
    let mut before = b' ';
    for (at, &byte) in tag.iter().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'>' => return Some(at + 1),
            None if before == b'=' && matches!(byte, b'"' | b'\'') => quote = Some(byte),
            None => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    None
}

/// The names of a tag's attributes, small, and where their values begin and end.
fn attributes(tag: &[u8], from: usize) -> Vec<(Vec<u8>, usize, usize)> {
    let mut found = Vec::new();
    let byte = |at: usize| tag.get(at).copied();
    let past = |mut at: usize, skip: &dyn Fn(u8) -> bool| {
        while byte(at).is_some_and(skip) {
            at += 1;
        }
        at
    };
    let mut at = from;
    loop {
        let key = past(at, &|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'='));
        let key_end = past(key, &|byte| !ends_name(byte));
        if key == key_end {
            return found;
        }
        let name = tag.get(key..key_end).unwrap_or_default().to_ascii_lowercase();
        let equals = past(key_end, &|byte| byte.is_ascii_whitespace());
        if byte(equals) != Some(b'=') {
            at = key_end;
            continue;
        }
        let value = past(equals + 1, &|byte| byte.is_ascii_whitespace());
        let (start, end) = match byte(value) {
            Some(quote @ (b'"' | b'\'')) => (value + 1, past(value + 1, &|byte| byte != quote)),
            _ => (value, past(value, &|byte| !byte.is_ascii_whitespace() && byte != b'>')),
        };
        found.push((name, start, end));
        at = if start > value { end + 1 } else { end };
    }
}

/// Whether an attribute of an element holds an address, as HTML says.
fn is_link(element: &[u8], attribute: &[u8]) -> bool {
    let links: &[&[u8]] = match element {
        b"a" | b"area" | b"base" | b"link" => &[b"href"],
        b"audio" | b"embed" | b"script" | b"source" => &[b"src"],
        b"blockquote" | b"del" | b"ins" | b"q" => &[b"cite"],
        b"frame" | b"iframe" => &[b"longdesc", b"src"],
        b"applet" => &[b"codebase"],
        b"body" => &[b"background"],
        b"button" => &[b"formaction"],
        b"command" => &[b"icon"],
        b"form" => &[b"action"],
        b"head" => &[b"profile"],
        b"html" => &[b"manifest"],
        b"img" => &[b"longdesc", b"src", b"usemap"],
        b"input" => &[b"formaction", b"src", b"usemap"],
        b"object" => &[b"classid", b"codebase", b"data", b"usemap"],
        b"video" => &[b"poster", b"src"],
        _ => &[],
    };
    links.contains(&attribute)
}

#[cfg(test)]
mod tests {
    use super::Page;

    fn through(pieces: &[&str]) -> String {
        let mut page = Page::new(Box::new(|link| link.starts_with('/').then(|| format!("/prefix{link}"))));
        let mut out: Vec<u8> = pieces.iter().flat_map(|piece| page.more(piece.as_bytes())).collect();
        out.extend(page.end());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn links_get_the_prefix_and_nothing_else_changes() {
        for (page, expected) in [
            ("<a href=\"/x\">test</a>", "<a href=\"/prefix/x\">test</a>"),
            ("<A HREF='/x'\n class=b>", "<A HREF='/prefix/x'\n class=b>"),
            ("<a href=/x>y", "<a href=/prefix/x>y"),
            ("<a href = \"/x?a=1&amp;b\" download>", "<a href = \"/prefix/x?a=1&amp;b\" download>"),
            ("<a href=\"x\">", "<a href=\"x\">"),
            ("<a title=\"/x\" href=\"\">", "<a title=\"/x\" href=\"\">"),
            ("<a title=\"> href='/no'\" href='/yes'>", "<a title=\"> href='/no'\" href='/prefix/yes'>"),
            ("<img src=\"/i\" longdesc='/l'/>", "<img src=\"/prefix/i\" longdesc='/prefix/l'/>"),
            ("<!-- <a href=\"/x\"> --><a href=\"/x\">", "<!-- <a href=\"/x\"> --><a href=\"/prefix/x\">"),
            (
                "<script src=\"/s\">if (a<b) '<a href=\"/x\">'</SCRIPT><a href=\"/x\">",
                "<script src=\"/prefix/s\">if (a<b) '<a href=\"/x\">'</SCRIPT><a href=\"/prefix/x\">",
            ),
            ("1 < 2 </a> <", "1 < 2 </a> <"),
            ("<a href=\"/never", "<a href=\"/never"),
        ] {
            assert_eq!(through(&[page]), expected);
            let bytes: Vec<String> = page.chars().map(String::from).collect();
            let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
            assert_eq!(through(&bytes), expected, "a byte at a time");
        }
    }

    #[test]
    fn a_tag_without_an_end_holds_nothing_up() {
        let mut page = Page::new(Box::new(|_| None));
        let long = format!("<a href=\"{}", "x".repeat(super::LONGEST_TAG));
        assert_eq!(page.more(long.as_bytes()), long.as_bytes());
    }
}
