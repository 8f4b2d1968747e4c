//! Every path that a kind is served at, with what can be done there. Knows names and parameters, not how either
//! version of OpenAPI writes them down.

use kedge_kinds::{Kind, Subresource, builtin};

use super::parameters::{
    DELETE, DELETE_MANY, LIST, NAME, NAMESPACE, PATCHING, PRETTY, Parameter, WRITE, streamed,
};
use super::root;
use super::schema::{DELETE_OPTIONS, Gvk, PATCH, STATUS, list_name, type_name};

/// One path with its operations.
pub(super) struct Path {
    pub(super) template: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) operations: Vec<Operation>,
}

pub(super) struct Operation {
    /// `get`, `put`, `post`, `delete`, `patch`
    pub(super) method: &'static str,
    pub(super) id: String,
    pub(super) tag: String,
    /// `list`, `watch`, `post`…, as generators of clients know it.
    pub(super) action: &'static str,
    pub(super) gvk: Gvk,
    pub(super) parameters: &'static [Parameter],
    pub(super) body: Option<Body>,
    /// The type of the answer; `None` for bytes of any kind.
    pub(super) answer: Option<String>,
    pub(super) codes: &'static [&'static str],
}

pub(super) struct Body {
    pub(super) of: String,
    pub(super) required: bool,
}

impl Operation {
    pub(super) fn is_patch(&self) -> bool {
        self.action == "patch"
    }

    pub(super) fn is_list(&self) -> bool {
        self.action == "list"
    }
}

/// All paths of all kinds, sorted.
pub(super) fn paths(kinds: &[&Kind]) -> Vec<Path> {
    let mut all: Vec<Path> = kinds.iter().flat_map(|kind| of(kind)).collect();
    all.sort_by(|a, b| a.template.cmp(&b.template));
    all
}

fn of(kind: &Kind) -> Vec<Path> {
    let writer = Writer::new(kind);
    let base = root(&kind.gv);
    let mut paths = Vec::new();
    let (collection, scoped) = if kind.namespaced {
        (format!("{base}/namespaces/{{namespace}}/{}", kind.plural), vec![NAMESPACE])
    } else {
        (format!("{base}/{}", kind.plural), Vec::new())
    };
    if kind.namespaced && writer.can("list") {
        paths.push(Path {
            template: format!("{base}/{}", kind.plural),
            parameters: [LIST, &[PRETTY]].concat(),
            operations: vec![writer.list_everywhere()],
        });
    }
    paths.push(Path {
        template: collection.clone(),
        parameters: [&scoped[..], &[PRETTY]].concat(),
        operations: ["list", "create", "deletecollection"]
            .into_iter()
            .filter_map(|verb| writer.whole(verb))
            .collect(),
    });
    let named = [&[NAME][..], &scoped, &[PRETTY]].concat();
    let one = format!("{collection}/{{name}}");
    paths.push(Path {
        template: one.clone(),
        parameters: named.clone(),
        operations: ["get", "update", "delete", "patch"]
            .into_iter()
            .filter_map(|verb| writer.whole(verb))
            .collect(),
    });
    for sub in &kind.subresources {
        let operations: Vec<Operation> = ["get", "update", "create", "delete", "patch"]
            .into_iter()
            .filter(|verb| sub.verbs.iter().any(|known| &**known == *verb))
            .map(|verb| writer.part(verb, sub))
            .collect();
        let parameters = match streamed(&sub.name) {
            Some(own) => [&named[..], own].concat(),
            None => named.clone(),
        };
        paths.push(Path { template: format!("{one}/{}", sub.name), parameters, operations });
    }
    paths.retain(|path| !path.operations.is_empty());
    paths
}

/// Writes the operations of one kind.
struct Writer<'k> {
    kind: &'k Kind,
    /// `AppsV1`
    stem: String,
    tag: String,
    name: String,
}

impl<'k> Writer<'k> {
    fn new(kind: &'k Kind) -> Self {
        let group = kind.gv.group.strip_suffix(".k8s.io").unwrap_or(&kind.gv.group);
        let group = if group.is_empty() { "core" } else { group };
        let camel: String = group.split('.').map(capital).collect();
        let mut tag = camel.clone();
        if let Some(first) = tag.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        Self {
            kind,
            stem: format!("{camel}{}", capital(&kind.gv.version)),
            tag: format!("{tag}_{}", kind.gv.version),
            name: type_name(kind),
        }
    }

    fn can(&self, verb: &str) -> bool {
        self.kind.verbs.iter().any(|known| &**known == verb)
    }

    fn scope(&self) -> &'static str {
        if self.kind.namespaced { "Namespaced" } else { "" }
    }

    fn gvk(&self) -> Gvk {
        (self.kind.gv.group.to_string(), self.kind.gv.version.to_string(), self.kind.kind.to_string())
    }

    fn list_everywhere(&self) -> Operation {
        Operation {
            id: format!("list{}{}ForAllNamespaces", self.stem, self.kind.kind),
            parameters: &[],
            ..self.operation("list", &self.kind.kind, self.gvk(), Some(list_name(self.kind)))
        }
    }

    /// Most kinds only say that they deleted something.
    fn returns_what_it_deleted(&self) -> bool {
        matches!(
            (&*self.kind.gv.group, &*self.kind.plural),
            ("resource.k8s.io" | "storage.k8s.io", _)
                | ("", "pods" | "services" | "serviceaccounts" | "podtemplates" | "resourcequotas")
                | ("", "persistentvolumes" | "persistentvolumeclaims")
        ) && &*self.kind.plural != "csistoragecapacities"
    }

    /// An operation on the resource itself, where the kind has that verb.
    fn whole(&self, verb: &str) -> Option<Operation> {
        if !self.can(verb) {
            return None;
        }
        let answer = match verb {
            "list" => list_name(self.kind),
            "delete" if !self.returns_what_it_deleted() => STATUS.to_owned(),
            "deletecollection" => STATUS.to_owned(),
            _ => self.name.clone(),
        };
        let subject = format!("{}{}", self.scope(), self.kind.kind);
        Some(self.operation(verb, &subject, self.gvk(), Some(answer)))
    }

    /// An operation on a subresource.
    fn part(&self, verb: &'static str, sub: &Subresource) -> Operation {
        let subject = format!("{}{}{}", self.scope(), self.kind.kind, capital(&sub.name));
        let (gvk, spoken) = match &sub.speaks {
            Some((gv, spoken)) => (
                (gv.group.to_string(), gv.version.to_string(), spoken.to_string()),
                builtin::openapi_name(&gv.group, &gv.version, spoken),
            ),
            None => (self.gvk(), self.name.clone()),
        };
        if streamed(&sub.name).is_some() {
            let mut operation = self.operation(verb, &subject, gvk, None);
            operation.parameters = &[];
            operation.body = None;
            operation.codes = &["200"];
            if &*sub.name != "log" {
                operation.action = "connect";
                operation.id = format!("connect{}{}{subject}", self.stem, capital(operation.method));
            }
            return operation;
        }
        self.operation(verb, &subject, gvk, Some(spoken))
    }

    fn operation(&self, verb: &str, subject: &str, gvk: Gvk, answer: Option<String>) -> Operation {
        let own = || answer.clone().map(|of| Body { of, required: true });
        let options = || Some(Body { of: DELETE_OPTIONS.to_owned(), required: false });
        let (method, word, action, parameters, body, codes): (
            _,
            _,
            _,
            &'static [Parameter],
            _,
            &'static [&'static str],
        ) = match verb {
            "list" => ("get", "list", "list", LIST, None, &["200"]),
            "create" => ("post", "create", "post", WRITE, own(), &["200", "201", "202"]),
            "update" => ("put", "replace", "put", WRITE, own(), &["200", "201"]),
            "patch" => {
                let body = Some(Body { of: PATCH.to_owned(), required: true });
                ("patch", "patch", "patch", PATCHING, body, &["200", "201"])
            }
            "delete" => ("delete", "delete", "delete", DELETE, options(), &["200", "202"]),
            "deletecollection" => ("delete", "delete", "deletecollection", DELETE_MANY, options(), &["200"]),
            _ => ("get", "read", "get", &[], None, &["200"]),
        };
        let many = if verb == "deletecollection" { "Collection" } else { "" };
        Operation {
            method,
            id: format!("{word}{}{many}{subject}", self.stem),
            tag: self.tag.clone(),
            action,
            gvk,
            parameters,
            body,
            answer,
            codes,
        }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}
