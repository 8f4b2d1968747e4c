//! What a webhook wants to hear of: operations on resources. Pure; `matchConstraints` of policies have the same shape.

use kedge_kinds::Kind;
use kedge_registry::gate::Operation;
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<(String, String)>,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scope {
    #[default]
    Any,
    Cluster,
    Namespaced,
}

impl Rule {
    pub(crate) fn read(rule: &Value) -> Self {
        let texts = |field: &str| {
            let all = rule.get(field).and_then(Value::as_array).into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let split = |text: String| match text.split_once('/') {
            Some((resource, part)) => (resource.to_owned(), part.to_owned()),
            None => (text, String::new()),
        };
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources").into_iter().map(split).collect(),
            scope: match rule.get("scope").and_then(Value::as_str) {
                Some("Cluster") => Scope::Cluster,
                Some("Namespaced") => Scope::Namespaced,
                _ => Scope::Any,
            },
        }
    }

    /// `kind`: as which version of itself the resource is looked at.
    pub(crate) fn matches(&self, operation: Operation, kind: &Kind, subresource: &str) -> bool {
        let any = |items: &[String], asked: &str| items.iter().any(|item| item == "*" || item == asked);
        let part = |item: &str, asked: &str| item == "*" || item == asked;
        let scoped = match self.scope {
            Scope::Any => true,
            Scope::Cluster => !kind.namespaced,
            Scope::Namespaced => kind.namespaced,
        };
        scoped
            && any(&self.operations, operation.name())
            && any(&self.groups, &kind.gv.group)
            && any(&self.versions, &kind.gv.version)
            && self
                .resources
                .iter()
                .any(|(resource, sub)| part(resource, &kind.plural) && part(sub, subresource))
    }
}
