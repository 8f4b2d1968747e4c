//! The language in which policies and webhooks of admission ask about a request: what their expressions may use and must
//! yield. Compiles them; the values come from elsewhere.

use std::sync::LazyLock;

use kedge_cel::{Decl, Env, Issue, Program, Type};

/// What an expression may use besides the request, the object and its namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    pub params: bool,
    pub authorizer: bool,
    /// `Object{…}` and `JSONPatch{…}`.
    pub patches: bool,
}

/// What an expression must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    Anything,
    Bool,
    Text,
    TextOrNull,
    /// A part of an object.
    Configuration,
    /// A list of operations.
    Patches,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    #[error("compilation failed: {0}")]
    Wrong(String),
    #[error("must evaluate to {wanted} but got {found}")]
    Type { wanted: String, found: String },
}

/// The types of objects, where they are known.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub object: Option<Decl>,
    pub params: Option<Decl>,
}

/// One policy's language. Grows with each of its variables.
#[derive(Clone, Debug)]
pub struct Language {
    known: Known,
    /// `None` for who has no variables at all.
    variables: Option<Vec<(String, Decl)>>,
}

impl Language {
    /// With `variables` that can be declared.
    pub fn with_variables(known: Known) -> Self {
        Self { known, variables: Some(Vec::new()) }
    }

    pub fn without_variables() -> Self {
        Self { known: Known::default(), variables: None }
    }

    /// From now on `variables.name` is this. What did not compile can be anything.
    pub fn declare(&mut self, name: &str, ty: Option<&Type>) {
        let decl = Decl::from(ty.map_or(Type::Dyn, plain));
        self.variables.get_or_insert_default().push((name.to_owned(), decl));
    }

    pub fn compile(&self, source: &str, uses: Uses, yields: Yields) -> Result<Program, ExpressionError> {
        let program = self
            .environment(uses)
            .compile(source)
            .map_err(|issues| ExpressionError::Wrong(Issue::join(&issues)))?;
        let wanted = yields.types();
        if wanted.is_empty() || wanted.contains(program.output()) {
            return Ok(program);
        }
        let names: Vec<String> = wanted.iter().map(name).collect();
        let wanted = match &names[..] {
            [one] => one.clone(),
            several => format!("one of [{}]", several.join(" ")),
        };
        Err(ExpressionError::Type { wanted, found: name(program.output()) })
    }

    fn environment(&self, uses: Uses) -> Env {
        let object = || self.known.object.clone().unwrap_or_else(|| Type::Dyn.into());
        let mut env = Env::new()
            .variable("object", object())
            .variable("oldObject", object())
            .variable("namespaceObject", NAMESPACE.clone())
            .variable("request", REQUEST.clone());
        if let Some(variables) = &self.variables {
            let fields = variables.iter().map(|(name, decl)| (name.as_str(), decl.clone()));
            env = env.variable("variables", Decl::object("kubernetes.variables", fields));
        }
        if uses.params {
            env = env.variable("params", self.known.params.clone().unwrap_or_else(|| Type::Dyn.into()));
        }
        if uses.authorizer {
            env = env.with_authorizer();
        }
        if uses.patches { env.with_patches() } else { env }
    }
}

impl Yields {
    fn types(self) -> Vec<Type> {
        match self {
            Self::Anything => Vec::new(),
            Self::Bool => vec![Type::Bool],
            Self::Text => vec![Type::String],
            Self::TextOrNull => vec![Type::String, Type::Null],
            Self::Configuration => vec![Type::open_object("Object")],
            Self::Patches => vec![Type::list(Type::json_patch())],
        }
    }
}

/// A variable keeps the types that messages can speak of; objects that it yields can be anything.
fn plain(ty: &Type) -> Type {
    match ty {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => ty.clone(),
        Type::List(item) => Type::list(plain(item)),
        Type::Map(key, value) => Type::map(plain(key), plain(value)),
        _ => Type::Dyn,
    }
}

/// Types are called by their full names in this one message.
fn name(ty: &Type) -> String {
    match ty {
        Type::Null => "null_type".to_owned(),
        Type::Timestamp => "google.protobuf.Timestamp".to_owned(),
        Type::Duration => "google.protobuf.Duration".to_owned(),
        Type::List(item) => format!("list({})", name(item)),
        Type::Map(key, value) => format!("map({}, {})", name(key), name(value)),
        Type::Optional(inner) => format!("optional_type({})", name(inner)),
        other => other.to_string(),
    }
}

static REQUEST: LazyLock<Decl> = LazyLock::new(|| {
    let text = || Decl::from(Type::String);
    let texts = || Decl::from(Type::list(Type::String));
    let object = |name: &str, fields: &[&'static str]| {
        Decl::object(name, fields.iter().map(|field| (*field, text())).collect::<Vec<_>>())
    };
    let kind = object("kubernetes.GroupVersionKind", &["group", "version", "kind"]);
    let resource = object("kubernetes.GroupVersionResource", &["group", "version", "resource"]);
    let user = Decl::object(
        "kubernetes.UserInfo",
        [
            ("username", text()),
            ("uid", text()),
            ("groups", texts()),
            ("extra", Type::map(Type::String, Type::list(Type::String)).into()),
        ],
    );
    Decl::object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", text()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", Type::Bool.into()),
            ("options", Type::Dyn.into()),
        ],
    )
});

static NAMESPACE: LazyLock<Decl> = LazyLock::new(|| {
    let text = || Decl::from(Type::String);
    let texts = || Decl::from(Type::list(Type::String));
    let map = || Decl::from(Type::map(Type::String, Type::String));
    let condition = Decl::object(
        "kubernetes.NamespaceCondition",
        [
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", Type::Timestamp.into()),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let metadata = Decl::object(
        "kubernetes.NamespaceMetadata",
        [
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", map()),
            ("annotations", map()),
            ("UID", text()),
            ("creationTimestamp", Type::Timestamp.into()),
            ("deletionGracePeriodSeconds", Type::Int.into()),
            ("deletionTimestamp", Type::Timestamp.into()),
            ("generation", Type::Int.into()),
            ("resourceVersion", text()),
            ("finalizers", texts()),
        ],
    );
    Decl::object(
        "kubernetes.Namespace",
        [
            ("metadata", metadata),
            ("spec", Decl::object("kubernetes.NamespaceSpec", [("finalizers", texts())])),
            (
                "status",
                Decl::object(
                    "kubernetes.NamespaceStatus",
                    [("conditions", condition.list_of()), ("phase", text())],
                ),
            ),
        ],
    )
});
