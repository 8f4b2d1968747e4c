//! Pages, revisions and selectors of lists.

use std::time::Duration;

use kedge_kinds::Reason;
use serde_json::json;

use crate::testing::{Api, api, config_map, labelled, pod};
use crate::{ListQuery, VersionMatch};

async fn three(api: &Api) {
    for (name, labels) in
        [("a", json!({"app": "x", "tier": "front"})), ("b", json!({"app": "x"})), ("c", json!({"app": "y"}))]
    {
        api.create("configmaps", "default", labelled(config_map(name), labels)).await.unwrap();
    }
}

#[tokio::test]
async fn selectors_choose() {
    let api = api().await;
    three(&api).await;
    for (labels, fields, expected) in [
        ("", "", "a b c"),
        ("app=x", "", "a b"),
        ("app in (x,y),!tier", "", "b c"),
        ("app!=x", "", "c"),
        ("tier", "", "a"),
        ("", "metadata.name=b", "b"),
        ("", "metadata.name!=b,metadata.namespace=default", "a c"),
        ("app=x", "metadata.name=c", ""),
    ] {
        let query = ListQuery { labels: labels.to_owned(), fields: fields.to_owned(), ..Default::default() };
        assert_eq!(
            api.names("configmaps", "default", query).await.unwrap().join(" "),
            expected,
            "{labels} {fields}"
        );
    }
    for (resource, labels, fields, message) in [
        ("configmaps", "app in x", "", "unable to parse requirement: found 'x' expected: '('"),
        ("configmaps", "app=a b", "", "found 'b', expected: ',' or 'end of string'"),
        (
            "configmaps",
            "",
            "data.a=b",
            "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        ("configmaps", "", "nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"),
        ("pods", "", "spec.image=n", "field label not supported: spec.image"),
    ] {
        let query = ListQuery { labels: labels.to_owned(), fields: fields.to_owned(), ..Default::default() };
        let status = api.names(resource, "default", query).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (400, message));
    }
}

#[tokio::test]
async fn fields_of_a_kind_can_be_asked_for() {
    let api = api().await;
    for (name, node) in [("a", "n1"), ("b", "n2"), ("c", "")] {
        let mut object = pod(name);
        if !node.is_empty() {
            object["spec"]["nodeName"] = node.into();
        }
        api.create("pods", "default", object).await.unwrap();
    }
    for (fields, expected) in [
        ("spec.nodeName=n1", "a"),
        ("spec.nodeName=", "c"),
        ("spec.nodeName!=n1,status.phase=Pending", "b c"),
        ("spec.restartPolicy=Never", ""),
    ] {
        let query = ListQuery { fields: fields.to_owned(), ..Default::default() };
        assert_eq!(api.names("pods", "", query).await.unwrap().join(" "), expected, "{fields}");
    }
}

#[tokio::test]
async fn pages_agree_with_each_other() {
    let api = api().await;
    three(&api).await;
    let at = api.at("configmaps", "default", "");
    let query =
        |token: &str| ListQuery { limit: Some(1), continue_token: token.to_owned(), ..Default::default() };
    let first = api.registry.list(&at, &query("")).await.unwrap();
    assert_eq!(first.remaining, Some(2));
    api.create("configmaps", "default", config_map("bb")).await.unwrap();
    api.delete("configmaps", "default", "c").await.unwrap();
    let second = api.registry.list(&at, &query(&first.continue_token)).await.unwrap();
    assert_eq!((second.revision, second.remaining), (first.revision, Some(1)));
    let third = api.registry.list(&at, &query(&second.continue_token)).await.unwrap();
    assert_eq!((third.remaining, third.continue_token.as_str()), (None, ""));
    let names: String =
        third.items.map(|bytes| String::from_utf8_lossy(bytes.as_ref()).into_owned()).collect();
    assert!(names.contains("\"name\":\"c\""), "the page is of the first page's time: {names}");
    let selected = ListQuery { labels: "app".to_owned(), ..query("") };
    let page = api.registry.list(&at, &selected).await.unwrap();
    assert_eq!(page.remaining, None);
    assert!(!page.continue_token.is_empty());
}

#[tokio::test]
async fn a_page_that_came_too_late_can_be_had_anew() {
    let api = api().await;
    three(&api).await;
    let at = api.at("configmaps", "default", "");
    let first = api.registry.list(&at, &ListQuery { limit: Some(1), ..Default::default() }).await.unwrap();
    api.delete("configmaps", "default", "a").await.unwrap();
    api.clock.advance(Duration::from_secs(240));
    // The state of that time can still be told from the events since then.
    let query =
        ListQuery { limit: Some(1), continue_token: first.continue_token.clone(), ..Default::default() };
    assert_eq!(api.registry.list(&at, &query).await.unwrap().revision, first.revision);
    // A token ends nevertheless, and says how to go on from the present state.
    api.clock.advance(Duration::from_secs(240));
    let status = api.registry.list(&at, &query).await.unwrap_err();
    assert_eq!((status.code, status.reason), (410, Reason::Expired));
    let query = ListQuery { continue_token: status.details.unwrap().continue_token, ..query };
    let second = api.registry.list(&at, &query).await.unwrap();
    assert!(second.revision > first.revision && second.remaining == Some(1));
    for (token, why) in [
        ("nonsense", "invalid continue token: continue key is not valid: "),
        (
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi94In0",
            "invalid continue token: continue key is not valid: ",
        ),
    ] {
        let query = ListQuery { limit: Some(1), continue_token: token.to_owned(), ..Default::default() };
        let status = api.registry.list(&at, &query).await.unwrap_err();
        assert_eq!(status.code, 400);
        assert!(status.message.starts_with(why), "{}", status.message);
    }
    let query = ListQuery {
        resource_version: "5".to_owned(),
        continue_token: first.continue_token,
        ..Default::default()
    };
    let status = api.registry.list(&at, &query).await.unwrap_err();
    assert_eq!(status.message, "specifying resource version is not allowed when using continue");
}

#[tokio::test]
async fn revisions_are_exact_or_not_older() {
    let api = api().await;
    three(&api).await;
    let made = api.get("configmaps", "default", "b").await.unwrap();
    let revision = made["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let query = |revision: &str, version_match| ListQuery {
        resource_version: revision.to_owned(),
        version_match,
        ..Default::default()
    };
    let names = async |query| api.names("configmaps", "default", query).await.map(|names| names.join(" "));
    assert_eq!(names(query(&revision, Some(VersionMatch::Exact))).await.unwrap(), "a b");
    assert_eq!(names(query(&revision, Some(VersionMatch::NotOlderThan))).await.unwrap(), "a b c");
    assert_eq!(names(query(&revision, None)).await.unwrap(), "a b c");
    assert_eq!(names(query("0", None)).await.unwrap(), "a b c");
    let newest = api.registry.store().revision();
    for (query, code, message) in [
        (query("999999", None), 504, format!("Timeout: Too large resource version: 999999, current: {newest}")),
        (query("", Some(VersionMatch::Exact)), 422, "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided".to_owned()),
        (query("0", Some(VersionMatch::Exact)), 422, "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"".to_owned()),
        (query("abc", None), 400, "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax".to_owned()),
    ] {
        let status = names(query).await.unwrap_err();
        assert_eq!((status.code, status.message), (code, message));
    }
}

#[tokio::test]
async fn a_list_is_of_one_moment() {
    let api = api().await;
    for at in 0..600 {
        api.create("configmaps", "default", config_map(&format!("c{at:04}"))).await.unwrap();
    }
    let mut list =
        api.registry.list(&api.at("configmaps", "default", ""), &ListQuery::default()).await.unwrap();
    list.items.next().unwrap();
    api.delete("configmaps", "default", "c0599").await.unwrap();
    assert_eq!(list.items.count(), 599);
}

#[tokio::test]
async fn pages_hold_everything_once_whatever_their_size() {
    let api = api().await;
    let all: Vec<String> = (0..600).map(|at| format!("c{at:04}")).collect();
    for name in &all {
        api.create("configmaps", "default", config_map(name)).await.unwrap();
    }
    let at = api.at("configmaps", "default", "");
    for limit in [15, 16, 17, 100, 256, 272, 300, 599, 600, 601] {
        let (mut names, mut token) = (Vec::new(), String::new());
        for page in 1.. {
            let query = ListQuery { limit: Some(limit), continue_token: token, ..Default::default() };
            let list = api.registry.list(&at, &query).await.unwrap();
            let left = all.len().saturating_sub(limit * page);
            assert_eq!(list.remaining, (left > 0).then_some(left as u64), "page {page} of {limit}");
            names.extend(list.items.map(|bytes| {
                let object: serde_json::Value = serde_json::from_slice(bytes.as_ref()).unwrap();
                object["metadata"]["name"].as_str().unwrap().to_owned()
            }));
            token = list.continue_token;
            if token.is_empty() {
                break;
            }
            assert_eq!(names.len(), limit * page);
        }
        assert_eq!(names, all, "pages of {limit}");
    }
    // Who has enough of pages gets all that is left.
    let first = api.registry.list(&at, &ListQuery { limit: Some(7), ..Default::default() }).await.unwrap();
    let query = ListQuery { continue_token: first.continue_token, ..Default::default() };
    assert_eq!(api.registry.list(&at, &query).await.unwrap().items.count(), all.len() - 7);
}

/// A walk through many objects of which none matches gives way to others on the same thread.
#[tokio::test]
async fn a_walk_lets_others_have_their_turn() {
    let api = api().await;
    for number in 0..4000 {
        api.create("configmaps", "default", config_map(&format!("m{number}"))).await.unwrap();
    }
    for limit in [None, Some(5)] {
        let turns = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counting = turns.clone();
        let other = tokio::spawn(async move {
            loop {
                counting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        tokio::task::yield_now().await;
        let before = turns.load(std::sync::atomic::Ordering::Relaxed);
        let query = ListQuery { labels: "app=none".to_owned(), limit, ..Default::default() };
        assert!(api.names("configmaps", "default", query).await.unwrap().is_empty());
        let had = turns.load(std::sync::atomic::Ordering::Relaxed) - before;
        other.abort();
        assert!(had >= 3, "{had} turns while 4000 objects were looked at");
    }
}
