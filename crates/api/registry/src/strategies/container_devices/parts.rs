//! What classes, claims and slices have in common: selectors, opaque configuration, names with a domain, and who may be named.

use std::sync::LazyLock;

use kedge_cel::{Decl, Env, Issue, Type};
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::super::fields::{at, has, text};
use super::super::names;
use super::super::pod::volumes::csi_driver;

const MOST: usize = 32;
const LONGEST: usize = 10 * 1024;
/// What looking at one device may cost.
const DEAREST: u64 = 1_000_000;
const IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of \
     alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
     '[A-Za-z_][A-Za-z0-9_]*')";

/// What an expression may ask about a device.
static DEVICE: LazyLock<Env> = LazyLock::new(|| {
    // The sizes are those that slices are held to.
    let by_domain = |of: Decl| of.map_of(Type::String).at_most(32).map_of(Type::String).at_most(32);
    let fields = [
        ("driver", Decl::from(Type::String).at_most(63)),
        ("attributes", by_domain(Decl::from(Type::Dyn).at_most(64))),
        ("capacity", by_domain(Type::Opaque("kubernetes.Quantity").into())),
        ("allowMultipleAllocations", Type::Bool.into()),
    ];
    let device = Decl::object("kubernetes.DRADevice", fields);
    Env::new().variable("device", device)
});

pub(super) fn selectors(errors: &mut Errors, path: &Path<'_>, selectors: &[Value]) {
    at_most(errors, path, selectors.len(), MOST);
    for (i, selector) in selectors.iter().enumerate() {
        let path = path.index(i);
        if !has(selector, "cel") {
            errors.required(&path.child("cel"), "");
            continue;
        }
        let path = path.child("cel");
        expression(errors, &path.child("expression"), text(at(selector, "cel"), "expression"));
    }
}

fn expression(errors: &mut Errors, path: &Path<'_>, source: &str) {
    if source.is_empty() {
        return errors.required(path, "");
    }
    if source.len() > LONGEST {
        return errors.too_long(path, LONGEST);
    }
    match DEVICE.compile(source) {
        Err(issues) => {
            names::wrong(errors, path, source, &format!("compilation failed: {}", Issue::join(&issues)));
        }
        Ok(program) if *program.output() != Type::Bool && !program.output().is_dyn() => {
            let detail = format!("must evaluate to bool or the unknown type, not {}", program.output());
            names::wrong(errors, path, source, &detail);
        }
        Ok(program) if program.estimate().max > DEAREST => {
            errors.forbidden(path, "too complex, exceeds cost limit");
        }
        Ok(_) => {}
    }
}

/// What drivers alone understand.
pub(super) fn configs(errors: &mut Errors, path: &Path<'_>, configs: &[Value]) {
    at_most(errors, path, configs.len(), MOST);
    for (i, config) in configs.iter().enumerate() {
        opaque(errors, &path.index(i), config);
    }
}

pub(super) fn opaque(errors: &mut Errors, path: &Path<'_>, config: &Value) {
    let path = path.child("opaque");
    if !has(config, "opaque") {
        return errors.required(&path, "");
    }
    let opaque = at(config, "opaque");
    csi_driver(errors, &path.child("driver"), text(opaque, "driver"));
    let path = path.child("parameters");
    match at(opaque, "parameters") {
        Value::Null => errors.required(&path, ""),
        parameters @ Value::Object(_) if parameters.to_string().len() > LONGEST => {
            errors.too_long(&path, LONGEST);
        }
        Value::Object(_) => {}
        _ => names::wrong(errors, &path, "<value omitted>", "must be a valid JSON object"),
    }
}

/// `memory`, `example.com/memory`.
pub(super) fn qualified(errors: &mut Errors, path: &Path<'_>, name: &str) {
    let Some((domain, id)) = name.split_once('/') else { return identifier(errors, path, name) };
    match domain {
        "" => names::wrong(errors, path, "", "the domain must not be empty"),
        domain if domain.len() > 63 => errors.too_long(path, 63),
        domain => names::subdomain(errors, path, domain),
    }
    match id {
        "" => names::wrong(errors, path, "", "the name must not be empty"),
        id => identifier(errors, path, id),
    }
}

fn identifier(errors: &mut Errors, path: &Path<'_>, id: &str) {
    if id.len() > 32 {
        errors.too_long(path, 32);
    }
    let begins = id.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !begins || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        names::wrong(errors, path, id, IDENTIFIER);
    }
}

/// Whose attribute it is must be said where no driver is at hand to complete it.
pub(super) fn fully_qualified(errors: &mut Errors, path: &Path<'_>, name: &str) {
    qualified(errors, path, name);
    if !name.contains('/') {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        names::wrong(errors, path, name, detail);
    }
}

pub(super) fn at_most(errors: &mut Errors, path: &Path<'_>, found: usize, most: usize) {
    if found > most {
        errors.too_many(path, found, most);
    }
}
