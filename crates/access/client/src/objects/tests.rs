use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

use super::*;
use crate::scripted::Answer::{Events, Fails, Is, Stays};
use crate::scripted::{AT_8, GONE, MAP_A, MAP_B, scripted};

const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"c","resourceVersion":"2"}}]}"#;
const EMPTY: &str =
    r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}"#;
const B_GONE: &str = r#"{"type":"DELETED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"n","uid":"2","resourceVersion":"7"}}}"#;

fn shown(told: Result<Event<ConfigMap>, WatchError>) -> String {
    match told {
        Ok(Event::All(maps)) => format!("={}", maps.iter().map(ConfigMap::name_any).collect::<String>()),
        Ok(Event::Put(map)) => format!("+{}", map.name_any()),
        Ok(Event::Gone(map)) => format!("-{}", map.name_any()),
        Err(error) => format!("!{error}"),
    }
}

#[tokio::test]
async fn what_breaks_is_told_and_resumed_and_what_is_forgotten_is_read_again() {
    let (client, asked) = scripted(vec![Fails(503, "busy"), Is(LIST), Stays(&[MAP_A, MAP_B]), Stays(&[])]);
    let maps = Objects::<ConfigMap>::within(&client, "n");
    let events = maps.events(ListParams::default().fields("metadata.name=a"));
    let told: Vec<_> = events.map(shown).take(4).collect().await;
    assert_eq!(told[1..], ["=c", "+a", "+b"], "{told:?}");
    assert!(told[0].starts_with('!') && told[0].contains("busy"), "{told:?}");
    assert!(asked.lock().iter().all(|uri| uri.contains("fieldSelector=metadata.name%3Da")), "{asked:?}");

    let (client, asked) = scripted(vec![
        Is(LIST),
        Events(&[MAP_B, B_GONE, AT_8]),
        Events(&["{"]),
        Events(&[GONE]),
        Is(EMPTY),
        Stays(&[MAP_A]),
    ]);
    let told: Vec<_> =
        Objects::<ConfigMap>::all(&client).events(ListParams::default()).map(shown).take(6).collect().await;
    assert_eq!([&told[..3], &told[4..]].concat(), ["=c", "+b", "-b", "=", "+a"], "{told:?}");
    assert!(told[3].starts_with('!'), "{told:?}");
    let versions: Vec<_> = asked
        .lock()
        .iter()
        .filter_map(|uri| {
            uri.split('&').find_map(|part| part.strip_prefix("resourceVersion=").map(str::to_owned))
        })
        .collect();
    assert_eq!(versions, ["5", "8", "8", "9"], "{asked:?}");
}

#[tokio::test]
async fn what_is_waited_for_comes_with_a_change_or_is_there_already() {
    let named =
        |wanted: &'static str| move |map: Option<&ConfigMap>| map.is_some_and(|map| map.name_any() == wanted);
    let (client, _) = scripted(vec![Is(LIST), Stays(&[MAP_A, MAP_B])]);
    let found = Objects::<ConfigMap>::within(&client, "n").until("x", named("b")).await.unwrap().unwrap();
    assert_eq!(found.uid().as_deref(), Some("2"));
    let (client, _) = scripted(vec![Is(LIST), Fails(403, "no")]);
    let maps = Objects::<ConfigMap>::within(&client, "n");
    assert!(maps.until("c", named("c")).await.unwrap().is_some());
    let (client, _) = scripted(vec![Fails(403, "no")]);
    assert!(Objects::<ConfigMap>::within(&client, "n").until("c", named("c")).await.is_err());
}

#[tokio::test]
async fn absence_is_no_failure_and_a_failure_no_absence() {
    let (client, _) = scripted(vec![
        Fails(404, "none"),
        Fails(404, "none"),
        Fails(500, "broken"),
        Is(r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#),
        Is("{"),
    ]);
    let maps = Objects::<ConfigMap>::within(&client, "n");
    assert!(matches!(maps.find("a").await, Ok(None)));
    assert!(maps.get("a").await.is_err());
    assert!(maps.find("a").await.is_err());
    let found = maps.find("a").await.unwrap().unwrap();
    assert_eq!(found.data.unwrap()["k"], "v");
    assert!(matches!(maps.find("a").await, Err(Error::SerdeError(_))));
}

#[tokio::test]
async fn what_is_sent_says_what_it_is() {
    let (client, asked) = scripted(vec![
        Is(r#"{"metadata":{"name":"a","uid":"1"}}"#),
        Is(r#"{"metadata":{"name":"a","uid":"2"}}"#),
        Is(r#"{"kind":"Status","status":"Success"}"#),
    ]);
    let maps = Objects::<ConfigMap>::within(&client, "n");
    let map = ConfigMap::read(br#"{"metadata":{"name":"a"}}"#).unwrap();
    let sent: Value = serde_json::from_slice(&text(&map.write()).unwrap()).unwrap();
    assert_eq!(sent, serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    assert_eq!(maps.create(&map).await.unwrap().uid().as_deref(), Some("1"));
    assert_eq!(maps.replace("a", &map).await.unwrap().uid().as_deref(), Some("2"));
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let at = "/api/v1/namespaces/n/configmaps";
    assert_eq!(*asked.lock(), [format!("{at}?"), format!("{at}/a?"), format!("{at}/a?")]);
}
