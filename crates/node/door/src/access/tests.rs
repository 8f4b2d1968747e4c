use std::time::Duration;

use futures::future::BoxFuture;
use http::{HeaderMap, Method};
use jiff::Timestamp;

use super::reviews::Memory;
use super::{Judge, JudgeError, User, admit};

/// Knows one token, and lets `reader` read figures and `admin` do everything.
struct Known;

impl Judge for Known {
    fn who<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, JudgeError>> {
        let user = (token == "good").then(|| User { name: "reader".to_owned(), ..User::default() });
        Box::pin(async { Ok(user) })
    }

    fn may<'a>(
        &'a self,
        user: &'a User,
        verb: &'static str,
        subresource: &'static str,
    ) -> BoxFuture<'a, Result<bool, JudgeError>> {
        let may = user.name == "admin" || (verb, subresource) == ("get", "metrics");
        Box::pin(async move { Ok(may) })
    }
}

#[tokio::test]
async fn who_may_come_in_does_and_the_others_are_told() {
    let admin = User { name: "admin".to_owned(), ..User::default() };
    for (case, certified, token, method, path, refused) in [
        ("nobody", None, None, Method::GET, "/pods", Some("401 Unauthorized")),
        ("a wrong token", None, Some("Bearer bad"), Method::GET, "/pods", Some("401 Unauthorized")),
        ("no token", None, Some("Bearer "), Method::GET, "/metrics", Some("401 Unauthorized")),
        ("another scheme", None, Some("Basic good"), Method::GET, "/metrics", Some("401 Unauthorized")),
        ("a token", None, Some("Bearer good"), Method::GET, "/metrics", None),
        (
            "without the right",
            None,
            Some("bearer good"),
            Method::GET,
            "/pods",
            Some("403 Forbidden (user=reader, verb=get, resource=nodes, subresource(s)=[pods proxy])"),
        ),
        (
            "the right to read only",
            None,
            Some("Bearer good"),
            Method::POST,
            "/run/n/p/c",
            Some("403 Forbidden (user=reader, verb=create, resource=nodes, subresource(s)=[proxy])"),
        ),
        ("a certificate", Some(&admin), Some("Bearer bad"), Method::POST, "/run/n/p/c", None),
    ] {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            headers.insert("authorization", token.parse().unwrap());
        }
        let told = admit(&Known, certified, &method, path, &headers).await.err();
        let told = told.map(|refusal| format!("{} {}", refusal.status.as_u16(), refusal.text.trim_end()));
        assert_eq!(told.as_deref(), refused, "{case}");
    }
}

#[test]
fn an_answer_is_remembered_for_a_while_and_not_too_many_are() {
    let memory = Memory::default();
    let noon = Timestamp::UNIX_EPOCH;
    let at = |seconds| Timestamp::from_second(seconds).unwrap();
    memory.put(0, "a", noon, Duration::from_secs(10));
    assert_eq!((memory.get(&0, at(9)), memory.get(&0, at(10))), (Some("a"), None));
    for key in 1..3000 {
        memory.put(key, "b", noon, Duration::from_secs(60));
    }
    assert_eq!((memory.get(&1, noon), memory.get(&2999, noon)), (Some("b"), None));
    // Once the old ones are no longer good there is room again.
    memory.put(2999, "c", at(61), Duration::from_secs(60));
    assert_eq!(memory.get(&2999, at(61)), Some("c"));
}
