//! Logs, exec, proxies and measures through a real socket and back from a node that is played, over TLS on both sides.

pub(crate) mod node;
mod places;
pub(crate) mod scene;

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::tests::{call, request, send, user};
use scene::Scene;

const POD: &str = "/api/v1/namespaces/default/pods/web";

#[tokio::test]
async fn logs_come_from_the_node_as_they_are_written() {
    let scene = Scene::start().await;
    let got = scene.get(&format!("{POD}/log?tailLines=5&timestamps=true&container=a")).await;
    assert_eq!(
        (got.code, got.text().as_str()),
        (
            200,
            "GET /containerLogs/default/web/a?timestamps=true&tailLines=5 by kube-apiserver-kubelet-client"
        )
    );
    assert_eq!(got.headers["content-type"], "text/plain");

    // The second line is written only after the first one was read.
    let mut stream = scene.connect().await;
    stream
        .write_all(scene.head("GET", &format!("{POD}/log?container=a&follow=true"), "").as_bytes())
        .await
        .unwrap();
    scene::until_heard(&mut stream, "first\n").await;
    scene.node.write_more();
    scene::until_heard(&mut stream, "second\n").await;
    // Whoever leaves ends it on the node, too.
    drop(stream);
    scene.node.until("nobody follows", || scene.node.followers() == 0).await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_taken_for_a_whole_one() {
    let scene = Scene::start().await;
    let mut stream = scene.connect().await;
    let path = format!("{POD}/log?container=a&follow=true&tailLines=1");
    stream.write_all(scene.head("GET", &path, "").as_bytes()).await.unwrap();
    scene::until_heard(&mut stream, "half\n").await;
    scene.node.write_more();
    let mut heard = Vec::new();
    // Without encryption's own goodbye it may also be an error.
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut heard)).await;
    let heard = String::from_utf8_lossy(&heard);
    assert!(ended.is_ok() && !heard.ends_with("0\r\n\r\n"), "{heard}");
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_said() {
    let scene = Scene::start().await;
    for (path, wanted) in [
        (
            "web/log",
            "400 BadRequest: a container name must be specified for pod web, choose one of: [first a b]",
        ),
        ("web/log?container=z", "400 BadRequest: container z is not valid for pod web"),
        (
            "web/log?container=a&tailLines=-1",
            "422 Invalid: PodLogOptions \"web\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "web/log?container=a&limitBytes=0",
            "422 Invalid: PodLogOptions \"web\" is invalid: limitBytes: Invalid value: 0: must be greater than 0",
        ),
        (
            "web/log?container=a&sinceSeconds=1&sinceTime=2030-01-01T00:00:00Z",
            "422 Invalid: PodLogOptions \"web\" is invalid: : Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        (
            "web/log?container=a&tailLines=x",
            "400 BadRequest: strconv.ParseInt: parsing \"x\": invalid syntax",
        ),
        (
            "web/log?container=b",
            "400 BadRequest: previous terminated container \"b\" in pod \"web\" not found",
        ),
        (
            "web/log?container=first",
            "404 NotFound: the server could not find the requested resource ( pods/log web)",
        ),
        ("none/log", "404 NotFound: pods \"none\" not found"),
        ("lost/log", "404 NotFound: nodes \"gone\" not found"),
        ("waiting/exec?command=ls", "400 BadRequest: pod waiting does not have a host assigned"),
        ("waiting/portforward", "400 BadRequest: pod waiting does not have a host assigned"),
        ("web/exec?container=a&command=ls", "400 BadRequest: Upgrade request required"),
        (
            "web/exec?command=ls",
            "400 BadRequest: a container name must be specified for pod web, choose one of: [first a b]",
        ),
        ("web/exec?container=a&dryRun=All", "400 BadRequest: dryRun is not supported"),
        ("ftp:web:21/proxy/", "400 BadRequest: invalid pod request \"ftp:web:21\""),
        ("web/proxy/", "400 BadRequest: address not allowed"),
    ] {
        let got = scene.get(&format!("/api/v1/namespaces/default/pods/{path}")).await;
        assert_eq!(got.failure(), wanted, "{path}");
    }
    let got = scene.get("/api/v1/namespaces/default/pods/waiting/log").await;
    assert_eq!((got.code, got.text().as_str()), (200, ""), "a pod that waits has written nothing");
    for (method, path) in [("DELETE", "web/exec"), ("POST", "web/log"), ("PUT", "web/attach")] {
        let got = call(&scene.admin, method, &format!("/api/v1/namespaces/default/pods/{path}"), "").await;
        assert_eq!(got.code, 405, "{method} {path}: {}", got.text());
    }
}

#[tokio::test]
async fn a_node_that_is_not_there_is_told() {
    let scene = Scene::start().await;
    scene.node_listens_at(9).await;
    let got = scene.get(&format!("{POD}/log?container=a")).await;
    assert_eq!(
        got.failure(),
        "500 -: Get \"https://127.0.0.1:9/containerLogs/default/web/a\": dial tcp 127.0.0.1:9: connect: connection refused"
    );
    let mut stream = scene.connect().await;
    let head = scene.head(
        "POST",
        &format!("{POD}/attach?container=a"),
        "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n",
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let heard = scene::until_heard(&mut stream, "connection refused").await;
    assert!(heard.starts_with("HTTP/1.1 500"), "{heard}");
    assert!(heard.contains("error dialing backend: dial tcp 127.0.0.1:9"), "{heard}");
    let got = scene.get("/api/v1/nodes/n1/proxy/healthz").await;
    assert_eq!(
        got.failure(),
        "503 ServiceUnavailable: error trying to reach service: dial tcp 127.0.0.1:9: connect: connection refused"
    );
}

#[tokio::test]
async fn an_upgrade_becomes_a_pipe() {
    let scene = Scene::start().await;
    for (method, path, asked) in [
        (
            "POST",
            "exec?container=a&command=sh&command=-c&command=a%20b&stdin=true&stdout=1&tty=false",
            "/exec/default/web/a?input=1&output=1&command=sh&command=-c&command=a+b",
        ),
        ("GET", "attach?container=b&stderr=true&tty=true", "/attach/default/web/b?error=1&tty=1"),
        ("GET", "log?container=b&tailLines=1", "/containerLogs/default/web/b?tailLines=1"),
        ("POST", "portforward?ports=80,81", "/portForward/default/web?port=80%2C81"),
    ] {
        let mut stream = scene.connect().await;
        let more =
            "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n";
        stream.write_all(scene.head(method, &format!("{POD}/{path}"), more).as_bytes()).await.unwrap();
        let heard = scene::until_heard(&mut stream, "\n> ").await;
        assert!(heard.starts_with("HTTP/1.1 101"), "{heard}");
        assert!(heard.to_lowercase().contains("x-stream-protocol-version: v4.channel.k8s.io"), "{heard}");
        assert!(heard.contains(&format!("{method} {asked} by kube-apiserver-kubelet-client")), "{heard}");
        assert!(!heard.contains("secret"), "the client's token stays here: {heard}");
        stream.write_all(b"olleh\n").await.unwrap();
        scene::until_heard(&mut stream, "hello").await;
        // Whoever ends it, the other hears of it.
        stream.shutdown().await.unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert!(rest.ends_with("bye"), "{rest:?}");
    }
    scene.node.until("no pipe is left", || scene.node.pipes() == 0).await;
}

#[tokio::test]
async fn pipes_and_streams_end_with_the_server() {
    let scene = Scene::start().await;
    let (mut pipe, mut log) = (scene.connect().await, scene.connect().await);
    let head = scene.head(
        "POST",
        &format!("{POD}/exec?container=a"),
        "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n",
    );
    pipe.write_all(head.as_bytes()).await.unwrap();
    scene::until_heard(&mut pipe, "\n> ").await;
    log.write_all(scene.head("GET", &format!("{POD}/log?container=a&follow=1"), "").as_bytes())
        .await
        .unwrap();
    scene::until_heard(&mut log, "first\n").await;
    scene.stop().await;
    scene.node.until("nothing is left", || scene.node.pipes() + scene.node.followers() == 0).await;
}

#[tokio::test]
async fn whoever_may_only_read_runs_nothing() {
    let scene = Scene::start().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "reader"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods/exec", "pods/log"]}]});
    let binding = json!({"metadata": {"name": "reader"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}]});
    for (kind, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let got = call(&scene.admin, "POST", &format!("{roles}/{kind}"), object.to_string()).await;
        assert_eq!(got.code, 201, "{}", got.text());
    }
    let ann = scene.admin.acting_as(user("ann", &["system:authenticated"]));
    let got = call(&ann, "GET", &format!("{POD}/exec?container=a&command=ls"), "").await;
    assert_eq!(
        got.failure(),
        "403 Forbidden: pods \"web\" is forbidden: User \"ann\" cannot create resource \"pods/exec\" in API group \"\" in the namespace \"default\""
    );
    assert_eq!(call(&ann, "GET", &format!("{POD}/log?container=a"), "").await.code, 200);
    assert_eq!(call(&ann, "GET", "/api/v1/nodes/n1/proxy/healthz", "").await.code, 403);
}

#[tokio::test]
async fn a_proxy_asks_the_node_in_the_clients_stead() {
    let scene = Scene::start().await;
    let node = "/api/v1/nodes/n1/proxy";
    for (method, path, heard) in [
        ("GET", "/stats/x?a=b&c", "GET /stats/x?a=b&c"),
        ("POST", "/run/", "POST /run/"),
        ("DELETE", "/logs/a%2Fb", "DELETE /logs/a%2Fb"),
        ("PATCH", "", "PATCH /"),
        ("OPTIONS", "?x=1", "OPTIONS /?x=1"),
    ] {
        let headers = [("authorization", "Bearer secret"), ("accept", "text/html"), ("x-mine", "yes")];
        let got = send(&scene.admin, request(method, &format!("{node}{path}"), &headers, "")).await;
        assert_eq!(
            (got.code, got.text()),
            (200, format!("{heard} by kube-apiserver-kubelet-client")),
            "{method} {path}"
        );
        let told = got.headers["x-heard"].to_str().unwrap();
        assert!(told.contains("x-mine") && !told.contains("authorization"), "{told}");
        let uri = path.split('?').next().unwrap();
        assert_eq!(got.headers["x-uri"], format!("{node}{uri}"), "{method} {path}");
    }
    let got = scene.get(&format!("{node}?x=1")).await;
    assert_eq!((got.code, &got.headers["location"]), (301, &format!("{node}/?x=1").parse().unwrap()));
    let got = scene.get(&format!("{node}/moved")).await;
    assert_eq!((got.code, &got.headers["location"]), (302, &format!("{node}/elsewhere/").parse().unwrap()));
    let headers = [("accept", "text/html,*/*"), ("accept-encoding", "gzip")];
    let got = send(&scene.admin, request("GET", &format!("{node}/page"), &headers, "")).await;
    assert_eq!(got.text(), format!("<a href=\"{node}/rewriteme\">test</a><a href"));
    let got = call(&scene.admin, "HEAD", &format!("{node}/healthz"), "").await;
    assert_eq!((got.code, got.text().as_str()), (200, ""));
    let got = scene.get(&format!("/api/v1/nodes/n1:{}/proxy/x", scene.node.port)).await;
    assert_eq!(got.code, 200, "its own port is its own server: {}", got.text());
    let got = scene.get("/api/v1/nodes/n1:80/proxy/x").await;
    assert_eq!(got.failure(), "400 BadRequest: address not allowed");
    let got = scene.get("/api/v1/namespaces/default/services/none:80/proxy/").await;
    assert_eq!(got.failure(), "404 NotFound: services \"none\" not found");
}
