//! Reads an object's JSON once, guided by its schema, and notes where each value stands. What the schema doesn't have is passed over, and
//! what it calls free JSON is not looked into.

use super::EncodeError;
use crate::decode::protobuf::JSON_SCHEMA;
use crate::schema::{Field, ObjectType, Schemas, Shape, TypeId, Wire};

/// A value with all that it holds behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Where it stands in the JSON; a text's without its quotes.
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where the next value stands that is not a part of this one.
    pub(super) next: u32,
    /// Which of its struct's fields it is.
    pub(super) field: u16,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Text,
    /// A text with characters that are written otherwise than they are read.
    EscapedText,
    /// A number, `true` or `false`.
    Bare,
    /// A struct, a list, or a map as keys and values in turn.
    Nested,
    /// JSON that is taken as it is.
    Raw,
    /// A key's value that is none; elsewhere nothing is noted of those.
    Null,
}

#[derive(Debug, Default)]
pub(super) struct Tape {
    nodes: Vec<Node>,
}

/// No built-in kind but a CRD's schema nests without end.
const MAX_DEPTH: usize = 200;

impl Tape {
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn held(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    pub(super) fn read(&mut self, schemas: &Schemas, root: TypeId, json: &[u8]) -> Result<(), EncodeError> {
        self.nodes.clear();
        let mut scan = Scan { schemas, json, at: 0, nodes: &mut self.nodes, depth: 0 };
        scan.value(&Shape::Object(root), &Wire::Plain, 0)?;
        Ok(())
    }
}

struct Scan<'a> {
    schemas: &'a Schemas,
    json: &'a [u8],
    at: usize,
    nodes: &'a mut Vec<Node>,
    depth: usize,
}

impl Scan<'_> {
    fn wrong<T>(&self) -> Result<T, EncodeError> {
        Err(EncodeError::Json(self.at))
    }

    /// The next byte that is no space, still to be read.
    fn peek(&mut self) -> Result<u8, EncodeError> {
        loop {
            match self.json.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(&byte) => return Ok(byte),
                None => return self.wrong(),
            }
        }
    }

    /// Reads the byte if it is the one that comes.
    fn take(&mut self, wanted: u8) -> Result<bool, EncodeError> {
        let there = self.peek()? == wanted;
        self.at += usize::from(there);
        Ok(there)
    }

    fn expect(&mut self, wanted: u8) -> Result<(), EncodeError> {
        if self.take(wanted)? { Ok(()) } else { self.wrong() }
    }

    /// Notes a value, or nothing for null and for what is of another type than the schema has.
    fn value(&mut self, shape: &Shape, wire: &Wire, field: u16) -> Result<(), EncodeError> {
        if let (Shape::Any, Wire::Plain | Wire::Within(_)) = (shape, wire) {
            return self.raw(field);
        }
        match (self.peek()?, shape) {
            (b'{', Shape::Object(id)) => self.object(*id, field),
            (b'{', Shape::Map(item)) => self.map(item, wire, field),
            (b'{', Shape::Any) => match self.schemas.named(JSON_SCHEMA) {
                Some(id) => self.object(id, field),
                None => self.skip(),
            },
            // Of schemas or of texts; each says by itself which.
            (b'[', Shape::Any) => self.list(&Shape::Any, wire, field),
            (b'[', Shape::List(item)) => self.list(item, wire, field),
            (b'{' | b'[', _) => self.skip(),
            (b'"', _) => {
                let (start, escaped) = self.text()?;
                let what = if escaped { What::EscapedText } else { What::Text };
                self.note(start, self.at - 1, field, what)
            }
            (b'n', _) => self.skip(),
            _ => {
                let start = self.at;
                self.bare()?;
                self.note(start, self.at, field, What::Bare)
            }
        }
    }

    /// What cannot be told from its place: too long an object is none that was stored.
    fn note(&mut self, start: usize, end: usize, field: u16, what: What) -> Result<(), EncodeError> {
        let place = |at: usize| u32::try_from(at).map_err(|_| EncodeError::Json(at));
        let next = place(self.nodes.len() + 1)?;
        self.nodes.push(Node { start: place(start)?, end: place(end)?, next, field, what });
        Ok(())
    }

    /// A value that holds others, which `inner` reads.
    fn nested(
        &mut self,
        field: u16,
        inner: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(EncodeError::Depth);
        }
        let (own, start) = (self.nodes.len(), self.at);
        self.note(start, start, field, What::Nested)?;
        self.at += 1;
        inner(self)?;
        let (next, end) = (self.nodes.len() as u32, self.at as u32);
        if let Some(node) = self.nodes.get_mut(own) {
            (node.next, node.end) = (next, end);
        }
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self, id: TypeId, field: u16) -> Result<(), EncodeError> {
        let Some(object) = self.schemas.get(id) else { return self.skip() };
        self.nested(field, |scan| {
            let mut likely = 0;
            if scan.take(b'}')? {
                return Ok(());
            }
            loop {
                let ((start, end), _) = scan.key()?;
                let json = scan.json;
                let name = json.get(start..end).unwrap_or_default();
                match find(object, name, likely) {
                    Some((index, field)) => {
                        likely = index + 1;
                        let place = u16::try_from(index).unwrap_or(u16::MAX);
                        scan.value(&field.shape, &field.wire, place)?;
                    }
                    None => scan.skip()?,
                }
                if !scan.more(b'}')? {
                    return Ok(());
                }
            }
        })
    }

    fn map(&mut self, item: &Shape, wire: &Wire, field: u16) -> Result<(), EncodeError> {
        self.nested(field, |scan| {
            if scan.take(b'}')? {
                return Ok(());
            }
            loop {
                let ((start, end), escaped) = scan.key()?;
                let what = if escaped { What::EscapedText } else { What::Text };
                scan.note(start, end, 0, what)?;
                let noted = scan.nodes.len();
                scan.value(item, wire, 0)?;
                if scan.nodes.len() == noted {
                    scan.note(scan.at, scan.at, 0, What::Null)?;
                }
                if !scan.more(b'}')? {
                    return Ok(());
                }
            }
        })
    }

    fn list(&mut self, item: &Shape, wire: &Wire, field: u16) -> Result<(), EncodeError> {
        self.nested(field, |scan| {
            if scan.take(b']')? {
                return Ok(());
            }
            loop {
                scan.value(item, wire, 0)?;
                if !scan.more(b']')? {
                    return Ok(());
                }
            }
        })
    }

    /// Whether another item follows; reads the comma or the end.
    fn more(&mut self, end: u8) -> Result<bool, EncodeError> {
        if self.take(b',')? {
            return Ok(true);
        }
        self.expect(end)?;
        Ok(false)
    }

    /// A key and its colon: where it stands, and whether it has escapes.
    fn key(&mut self) -> Result<((usize, usize), bool), EncodeError> {
        if self.peek()? != b'"' {
            return self.wrong();
        }
        let (start, escaped) = self.text()?;
        let end = self.at - 1;
        self.expect(b':')?;
        Ok(((start, end), escaped))
    }

    /// Reads a text to behind its closing quote: where it starts, and whether it has escapes.
    fn text(&mut self) -> Result<(usize, bool), EncodeError> {
        let start = self.at + 1;
        let mut escaped = false;
        let mut at = start;
        loop {
            at += match plain(self.json.get(at..).unwrap_or_default()) {
                Some(length) => length,
                None => return self.wrong(),
            };
            if self.json.get(at) == Some(&b'"') {
                self.at = at + 1;
                return Ok((start, escaped));
            }
            escaped = true;
            at += 2;
        }
    }

    fn bare(&mut self) -> Result<(), EncodeError> {
        let start = self.at;
        self.at += bare(self.json.get(start..).unwrap_or_default());
        if self.at > start { Ok(()) } else { self.wrong() }
    }

    fn raw(&mut self, field: u16) -> Result<(), EncodeError> {
        let null = self.peek()? == b'n';
        let start = self.at;
        self.skip()?;
        if null { Ok(()) } else { self.note(start, self.at, field, What::Raw) }
    }

    /// Passes over a value, however deep.
    fn skip(&mut self) -> Result<(), EncodeError> {
        match self.peek()? {
            b'"' => self.text().map(|_| ()),
            b'{' | b'[' => self.skip_nested(),
            b',' | b':' | b'}' | b']' => self.wrong(),
            _ => self.bare(),
        }
    }

    /// Only texts and brackets matter: what is between them cannot contain any.
    fn skip_nested(&mut self) -> Result<(), EncodeError> {
        let mut open = 0usize;
        loop {
            match self.json.get(self.at) {
                Some(b'"') => {
                    self.text()?;
                    continue;
                }
                Some(b'{' | b'[') => open += 1,
                Some(b'}' | b']') => open = open.saturating_sub(1),
                Some(_) => {}
                None => return self.wrong(),
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
    }
}

/// How far a number, `true` or `false` goes.
pub(super) fn bare(bytes: &[u8]) -> usize {
    let end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
    bytes.iter().position(end).unwrap_or(bytes.len())
}

/// How far a text goes before its end or an escape. Looks at eight bytes at a time.
pub(super) fn plain(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let mut chunks = bytes.chunks_exact(8);
    let mut at = 0;
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        let hit = zero(word ^ (LOW * u64::from(b'"'))) | zero(word ^ (LOW * u64::from(b'\\')));
        if hit != 0 {
            return Some(at + hit.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = chunks.remainder().iter().position(|byte| matches!(byte, b'"' | b'\\'));
    rest.map(|length| at + length)
}

/// A field by its name. Stored objects have their keys in order, as the schema has, so it stands behind the one before; and most names
/// already differ in their length.
fn find<'s>(object: &'s ObjectType, name: &[u8], likely: usize) -> Option<(usize, &'s Field)> {
    let behind = object.fields.iter().enumerate().skip(likely);
    let mut alike = behind.filter(|(_, field)| field.name.len() == name.len());
    alike.find(|(_, field)| field.name.as_bytes() == name).or_else(|| {
        let index = object.fields.binary_search_by(|field| field.name.as_bytes().cmp(name)).ok()?;
        object.fields.get(index).map(|field| (index, field))
    })
}
