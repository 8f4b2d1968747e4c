//! Reads `table.txt`, which the generator in `xtask` writes. Lines:
//! `K group/version plural Kind N|C [short=…] [cat=…] [verbs=letters] [stored=group/version] [sub=name:letters[:gv.Kind];…]`,
//! `T type [atomic]`, and below it one line for each field, sorted: `name shape [number] [in=numbers] [required] [set|map=keys]
//! [atomic|granular] [merge] [retain] [replace] [key=…] [omit|keep|write]`. A shape is a letter, after any `[` (list of) and `{` (map of), or `@type`.

use std::collections::HashMap;
use std::sync::Arc;

use super::openapi_name;
use crate::kind::{GroupVersion, Kind, Subresource};
use crate::schema::{Field, ListType, ObjectType, PatchStrategy, Schemas, Shape, TypeId, Wire, Zero};

/// Equal texts share one allocation: `name` alone stands in the table a hundred times.
#[derive(Default)]
struct Texts<'t>(HashMap<&'t str, Arc<str>>);

impl<'t> Texts<'t> {
    fn get(&mut self, text: &'t str) -> Arc<str> {
        self.0.entry(text).or_insert_with(|| Arc::from(text)).clone()
    }
}

pub(super) fn parse(table: &str) -> (Arc<Schemas>, Vec<Arc<Kind>>) {
    let mut texts = Texts::default();
    // Fields name types that come later, so places are given out before anything is read.
    let names = table
        .lines()
        .filter_map(|line| line.strip_prefix("T "))
        .map(|rest| rest.split(' ').next().unwrap_or(rest));
    let places: HashMap<&str, TypeId> = names.zip((0u32..).map(TypeId)).collect();
    let mut schemas = Schemas::default();
    let mut open: Option<ObjectType> = None;
    for line in table.lines().filter(|line| !line.starts_with("K ") && !line.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("T ") {
            let name = rest.split(' ').next().unwrap_or(rest);
            let next = ObjectType {
                name: format!("io.k8s.{name}").into(),
                fields: Vec::new(),
                atomic: rest.ends_with(" atomic"),
                open: false,
            };
            if let Some(done) = open.replace(next) {
                schemas.add(done);
            }
        } else if let Some(object) = &mut open {
            object.fields.push(field(line, &places, &mut texts));
        }
    }
    if let Some(done) = open {
        schemas.add(done);
    }
    let lines: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("K ")).collect();
    for line in &lines {
        add_list_type(line, &mut schemas, &mut texts);
    }
    let schemas = Arc::new(schemas);
    let kinds = lines.iter().filter_map(|line| kind(line, &schemas, &mut texts)).map(Arc::new).collect();
    (schemas, kinds)
}

fn field<'t>(line: &'t str, places: &HashMap<&str, TypeId>, texts: &mut Texts<'t>) -> Field {
    let mut words = line.split(' ');
    let name = texts.get(words.next().unwrap_or_default());
    let code = words.next().unwrap_or("*");
    let mut field = Field {
        name,
        shape: shape(code, places),
        required: false,
        list: ListType::Atomic,
        atomic: false,
        granular: false,
        patch: PatchStrategy::default(),
        tag: 0,
        wire: match code.trim_start_matches(['[', '{']) {
            "*a" => Wire::SchemaOrArray,
            "*b" => Wire::SchemaOrBool,
            "*s" => Wire::SchemaOrStrings,
            _ => Wire::Plain,
        },
        zero: Zero::Keep,
    };
    let mut zero = None;
    for word in words {
        let (word, value) = word.split_once('=').unwrap_or((word, ""));
        match word {
            "required" => field.required = true,
            "set" => field.list = ListType::Set,
            "map" => field.list = ListType::Map(value.split(',').map(|key| texts.get(key)).collect()),
            "atomic" => field.atomic = true,
            "granular" => field.granular = true,
            "merge" => field.patch.merge = true,
            "retain" => field.patch.retain_keys = true,
            "replace" => field.patch.replace = true,
            "key" => field.patch.merge_key = Some(texts.get(value)),
            "in" => {
                field.wire = Wire::Within(value.split('.').filter_map(|number| number.parse().ok()).collect())
            }
            "omit" => zero = Some(Zero::Omit),
            "keep" => zero = Some(Zero::Keep),
            "write" => zero = Some(Zero::Write),
            number => field.tag = number.parse().unwrap_or(0),
        }
    }
    field.zero = zero.unwrap_or_else(|| usual_zero(&field));
    field
}

/// What holds for most fields of a shape, so that the table need not say it.
fn usual_zero(field: &Field) -> Zero {
    match field.shape {
        _ if field.required => Zero::Write,
        Shape::String | Shape::List(_) | Shape::Map(_) | Shape::Bytes => Zero::Omit,
        _ => Zero::Keep,
    }
}

fn shape(code: &str, places: &HashMap<&str, TypeId>) -> Shape {
    if let Some(item) = code.strip_prefix('[') {
        return Shape::List(Box::new(shape(item, places)));
    }
    if let Some(value) = code.strip_prefix('{') {
        return Shape::Map(Box::new(shape(value, places)));
    }
    if let Some(name) = code.strip_prefix('@') {
        return places.get(name).map_or(Shape::Any, |&place| Shape::Object(place));
    }
    match code {
        "s" => Shape::String,
        "y" => Shape::Bytes,
        "b" => Shape::Bool,
        "i" => Shape::Int32,
        "l" => Shape::Int64,
        "d" => Shape::Double,
        "x" => Shape::IntOrString,
        "q" => Shape::Quantity,
        "t" => Shape::Time,
        "m" => Shape::MicroTime,
        "u" => Shape::Duration,
        _ => Shape::Any,
    }
}

fn version<'t>(text: &'t str, texts: &mut Texts<'t>) -> GroupVersion {
    let (group, version) = text.split_once('/').unwrap_or(("", text));
    GroupVersion { group: texts.get(group), version: texts.get(version) }
}

fn verbs<'t>(letters: &str, texts: &mut Texts<'t>) -> Vec<Arc<str>> {
    let word = |letter| match letter {
        'c' => "create",
        'd' => "delete",
        'D' => "deletecollection",
        'g' => "get",
        'l' => "list",
        'p' => "patch",
        'u' => "update",
        _ => "watch",
    };
    letters.chars().map(|letter| texts.get(word(letter))).collect()
}

const ALL_VERBS: &str = "cdDglpuw";

/// Lists are not in the table: each is its kind's plural with a list's own metadata.
fn add_list_type<'t>(line: &'t str, schemas: &mut Schemas, texts: &mut Texts<'t>) {
    let mut words = line.split(' ');
    let (Some(gv), _, Some(kind)) = (words.next(), words.next(), words.next()) else { return };
    let gv = version(gv, texts);
    let name = openapi_name(&gv.group, &gv.version, kind);
    let (Some(item), Some(meta)) =
        (schemas.named(&name), schemas.named("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"))
    else {
        return;
    };
    let mut field = |name: &'static str, shape, required, tag| Field {
        name: texts.get(name),
        shape,
        required,
        list: ListType::Atomic,
        atomic: false,
        granular: false,
        patch: PatchStrategy::default(),
        tag,
        wire: Wire::Plain,
        zero: if tag > 0 { Zero::Write } else { Zero::Omit },
    };
    let fields = vec![
        field("apiVersion", Shape::String, false, 0),
        field("items", Shape::List(Box::new(Shape::Object(item))), true, 2),
        field("kind", Shape::String, false, 0),
        field("metadata", Shape::Object(meta), false, 1),
    ];
    schemas.add(ObjectType { name: format!("{name}List").into(), fields, atomic: false, open: false });
}

fn kind<'t>(line: &'t str, schemas: &Arc<Schemas>, texts: &mut Texts<'t>) -> Option<Kind> {
    let mut words = line.split(' ');
    let (gv, plural, name, scope) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let gv = version(gv, texts);
    let schema = schemas.named(&openapi_name(&gv.group, &gv.version, name))?;
    let mut kind = Kind {
        stored_as: gv.clone(),
        gv,
        kind: texts.get(name),
        list_kind: format!("{name}List").into(),
        plural: texts.get(plural),
        singular: name.to_ascii_lowercase().into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: scope == "N",
        verbs: Vec::new(),
        subresources: Vec::new(),
        prefix: texts.get(plural),
        schemas: schemas.clone(),
        schema,
        rules: None,
    };
    let mut letters = ALL_VERBS;
    for word in words {
        let (word, value) = word.split_once('=')?;
        match word {
            "short" => kind.short_names = value.split(',').map(|name| texts.get(name)).collect(),
            "cat" => kind.categories = value.split(',').map(|name| texts.get(name)).collect(),
            "verbs" => letters = value,
            "stored" => kind.stored_as = version(value, texts),
            "sub" => kind.subresources = value.split(';').filter_map(|sub| subresource(sub, texts)).collect(),
            _ => return None,
        }
    }
    kind.verbs = verbs(letters, texts);
    Some(kind)
}

fn subresource<'t>(text: &'t str, texts: &mut Texts<'t>) -> Option<Subresource> {
    let mut parts = text.split(':');
    let (name, letters) = (parts.next()?, parts.next()?);
    let speaks = parts.next().and_then(|spoken| spoken.rsplit_once('.'));
    Some(Subresource {
        name: texts.get(name),
        verbs: verbs(letters, texts),
        speaks: speaks.map(|(gv, kind)| (version(gv, texts), texts.get(kind))),
    })
}
