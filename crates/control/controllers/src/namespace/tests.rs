use std::collections::BTreeMap;

use kedge_children::testing::{noon, object, status};
use kedge_engine::{Plan, Resource};
use serde_json::{Value, json};

use super::*;

fn namespace(finalizers: Value, conditions: Value) -> Namespace {
    object(json!({
        "metadata": {"name": "n", "uid": "u", "resourceVersion": "1", "deletionTimestamp": "2030-01-01T11:00:00Z"},
        "spec": {"finalizers": finalizers},
        "status": {"phase": "Terminating", "conditions": conditions},
    }))
}

fn left(group: &str, plural: &str, count: usize, kept_by: &[(&str, usize)], untouched: usize) -> Rest {
    let resource = Resource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: String::new(),
        plural: plural.to_owned(),
    };
    let kept_by: BTreeMap<String, usize> =
        kept_by.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let kind = Served { resource, by_collection: true, watched: true };
    Rest { kind, count, kept_by, untouched, uids: Vec::new(), revision: String::new() }
}

fn said(findings: &Findings) -> BTreeMap<String, (String, String, String)> {
    let change = conditions(&namespace(json!(["kubernetes"]), json!([])), findings, noon());
    let written = status(&Plan::from(change));
    let all = written["conditions"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|one| (text(&one["type"]), (text(&one["status"]), text(&one["reason"]), text(&one["message"]))))
        .collect()
}

#[test]
fn what_is_still_there_is_said_with_why() {
    let mut findings = Findings::default();
    findings.note(&left("", "configmaps", 2, &[("example.test/a", 2), ("example.test/b", 1)], 0));
    findings.note(&left("example.test", "things", 1, &[("example.test/a", 1)], 0));
    findings.note(&left("", "secrets", 0, &[], 0));
    assert!(!findings.is_clear());
    assert_eq!(findings.failure(), None, "what is kept will go by itself");
    let said = said(&findings);
    let expect = |type_: &str, status: &str, reason: &str, message: &str| {
        assert_eq!(said[type_], (status.to_owned(), reason.to_owned(), message.to_owned()));
    };
    expect(
        "NamespaceContentRemaining",
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 2 resource instances, things.example.test has 1 resource instances",
    );
    expect(
        "NamespaceFinalizersRemaining",
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.test/a in 3 resource instances, example.test/b in 1 resource instances",
    );
    expect(
        "NamespaceDeletionContentFailure",
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    );
    expect(
        "NamespaceDeletionDiscoveryFailure",
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    );
    expect(
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    );
}

#[test]
fn kinds_that_nobody_tells_keep_a_namespace() {
    let findings = Findings { undiscovered: vec!["example.test/v1".to_owned()], ..Findings::default() };
    assert!(!findings.is_clear());
    assert_eq!(
        said(&findings)["NamespaceDeletionDiscoveryFailure"].2,
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
         example.test/v1: stale GroupVersion discovery: example.test/v1"
    );
}

#[test]
fn what_could_not_be_deleted_is_tried_again() {
    let mut findings = Findings { failures: vec!["delete pods: no".to_owned()], ..Findings::default() };
    findings.note(&left("", "configmaps", 1, &[], 1));
    assert_eq!(findings.failure().as_deref(), Some("delete pods: no"));
    assert_eq!(
        said(&findings)["NamespaceDeletionContentFailure"],
        (
            "True".to_owned(),
            "ContentDeletionFailed".to_owned(),
            "Failed to delete all resource types, 2 remaining: delete pods: no, unexpected items still remain in \
             namespace for gvr: /v1, Resource=configmaps"
                .to_owned()
        )
    );
}

#[test]
fn the_same_is_not_said_twice() {
    let findings = Findings::default();
    let first = conditions(&namespace(json!(["kubernetes"]), json!([])), &findings, noon());
    let written = status(&Plan::from(first))["conditions"].clone();
    let later = noon() + jiff::SignedDuration::from_secs(60);
    assert_eq!(conditions(&namespace(json!(["kubernetes"]), written), &findings, later), None);
}

#[test]
fn only_namespaces_that_leave_and_wait_for_us_are_ours() {
    let mut stays = namespace(json!(["kubernetes"]), json!([]));
    stays.metadata.deletion_timestamp = None;
    for (case, namespace, ours, others) in [
        ("leaving", namespace(json!(["kubernetes"]), json!([])), true, false),
        ("done", namespace(json!([]), json!([])), false, false),
        ("another waits", namespace(json!(["kubernetes", "example.test/x"]), json!([])), true, true),
        ("staying", stays, false, false),
    ] {
        assert_eq!((is_ours(&namespace), has_other_finalizers(&namespace)), (ours, others), "{case}");
    }
}
