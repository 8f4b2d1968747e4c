//! Who may do what: roles, rule by rule, and who they are bound to.

use serde_json::Value;

use super::page::Page;
use super::shown::{items, text};
use super::{Given, labels_and_annotations, name};

pub(super) fn role(page: &mut Page, given: &Given<'_>) {
    name(page, given.object);
    labels_and_annotations(page, given.object);
    page.head(0, "PolicyRule");
    page.columns(1, &HEADINGS);
    for row in rows(items(&given.object["rules"])) {
        page.line(1, format_args!("{}", row.join("\t")));
    }
}

/// What stands over the rows of rules.
pub(crate) const HEADINGS: [&str; 4] = ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"];

/// Rules as people read them.
pub(crate) fn rows<'r>(rules: impl IntoIterator<Item = &'r Value>) -> Vec<[String; 4]> {
    let row = |rule: &Rule<'_>| {
        let Rule { url, resource_name, verbs, .. } = rule;
        let within = |text: &str| format!("[{text}]");
        [rule.resource_and_group(), within(url), within(resource_name), within(&verbs.join(" "))]
    };
    apart(rules).iter().map(row).collect()
}

/// One thing that may be done something with.
#[derive(Default, PartialEq)]
struct Rule<'r> {
    verbs: Vec<&'r str>,
    group: &'r str,
    resource: &'r str,
    resource_name: &'r str,
    url: &'r str,
}

impl Rule<'_> {
    /// `deployments.apps/scale`
    fn resource_and_group(&self) -> String {
        let (resource, part) = match self.resource.split_once('/') {
            Some((resource, part)) => (resource, format!("/{part}")),
            None => (self.resource, String::new()),
        };
        match self.group {
            "" => format!("{resource}{part}"),
            group => format!("{resource}.{group}{part}"),
        }
    }

    /// What rules are sorted by, so that two lists can be compared by eye.
    fn order(&self) -> String {
        format!(
            "Verbs:[{}],APIGroups:[{}],Resources:[{}],ResourceNames:[{}],NonResourceURLs:[{}]",
            self.verbs.join(" "),
            self.group,
            self.resource,
            self.resource_name,
            self.url
        )
    }
}

/// Taken apart to single resources, and what is left differing only by verbs put together again.
fn apart<'r>(rules: impl IntoIterator<Item = &'r Value>) -> Vec<Rule<'r>> {
    let mut all: Vec<Rule<'_>> = Vec::new();
    for rule in rules {
        let (verbs, mut names) = (list(rule, "verbs"), list(rule, "resourceNames"));
        if names.is_empty() {
            names.push("");
        }
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                for name in &names {
                    let part = Rule { group, resource, resource_name: name, ..Rule::default() };
                    allow(&mut all, part, &verbs);
                }
            }
        }
        for url in list(rule, "nonResourceURLs") {
            // Paths stay apart, one row for each verb.
            all.extend(verbs.iter().map(|verb| Rule { verbs: vec![*verb], url, ..Rule::default() }));
        }
    }
    all.sort_by_cached_key(Rule::order);
    all
}

fn list<'r>(rule: &'r Value, field: &str) -> Vec<&'r str> {
    items(&rule[field]).iter().map(text).collect()
}

fn allow<'r>(all: &mut Vec<Rule<'r>>, part: Rule<'r>, verbs: &[&'r str]) {
    let same = |one: &Rule<'_>| {
        one.url.is_empty()
            && (one.group, one.resource, one.resource_name) == (part.group, part.resource, part.resource_name)
    };
    let place = match all.iter().position(same) {
        Some(place) => place,
        None => {
            all.push(part);
            all.len() - 1
        }
    };
    for verb in verbs {
        if !all[place].verbs.contains(verb) {
            all[place].verbs.push(*verb);
        }
    }
}

pub(super) fn binding(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name(page, object);
    labels_and_annotations(page, object);
    page.head(0, "Role");
    page.field(1, "Kind", text(&object["roleRef"]["kind"]));
    page.field(1, "Name", text(&object["roleRef"]["name"]));
    page.head(0, "Subjects");
    page.columns(1, &["Kind", "Name", "Namespace"]);
    for subject in items(&object["subjects"]) {
        let (kind, name) = (text(&subject["kind"]), text(&subject["name"]));
        page.line(1, format_args!("{kind}\t{name}\t{}", text(&subject["namespace"])));
    }
}
