//! What the policy picks, what the log then holds, and what it never holds.

use std::path::Path;

use serde_json::{Value, json};

use super::policy::{Deed, Policy};
use super::{Audit, AuditError, AuditLog};
use crate::tests::{Server, call, request, send, user};

const HEAD: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

fn policy(folder: &Path, text: &str) -> Result<Policy, AuditError> {
    let path = folder.join("policy.yaml");
    std::fs::write(&path, format!("{HEAD}{text}")).unwrap();
    Policy::read(path)
}

#[test]
fn the_first_rule_that_fits_decides() {
    let folder = tempfile::tempdir().unwrap();
    let rules = r#"
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:kube-proxy"], verbs: [watch], resources: [{group: "", resources: [endpoints]}]}
- {level: None, userGroups: ["system:authenticated"], nonResourceURLs: ["/api*", /version]}
- {level: Request, resources: [{group: "", resources: [configmaps], resourceNames: [leader]}], namespaces: [kube-system]}
- {level: Metadata, resources: [{group: "", resources: [secrets, "pods/*", "*/scale"]}], omitStages: [ResponseStarted]}
- {level: RequestResponse, resources: [{group: apps}], omitManagedFields: true}
- {level: Metadata, namespaces: [""]}
"#;
    let policy = policy(folder.path(), rules).unwrap();
    let proxy = user("system:kube-proxy", &["system:authenticated"]);
    for (case, verb, group, resource, subresource, namespace, name, path, expected) in [
        ("a named user's watch", "watch", "", "endpoints", "", "", "", "", "None RequestReceived"),
        ("another verb", "list", "", "endpoints", "", "", "", "", "Metadata RequestReceived"),
        ("a path", "get", "", "", "", "", "", "/apis/apps", "None RequestReceived"),
        ("another path", "get", "", "", "", "", "", "/healthz", "None"),
        (
            "a named object",
            "update",
            "",
            "configmaps",
            "",
            "kube-system",
            "leader",
            "",
            "Request RequestReceived",
        ),
        ("in another namespace", "update", "", "configmaps", "", "default", "leader", "", "None"),
        ("secrets", "get", "", "secrets", "", "default", "s", "", "Metadata RequestReceived ResponseStarted"),
        (
            "any part of a pod",
            "get",
            "",
            "pods",
            "log",
            "default",
            "p",
            "",
            "Metadata RequestReceived ResponseStarted",
        ),
        ("a pod too", "get", "", "pods", "", "default", "p", "", "Metadata RequestReceived ResponseStarted"),
        (
            "a part of anything",
            "get",
            "",
            "replicationcontrollers",
            "scale",
            "default",
            "r",
            "",
            "Metadata RequestReceived ResponseStarted",
        ),
        (
            "a whole group",
            "create",
            "apps",
            "deployments",
            "",
            "default",
            "d",
            "",
            "RequestResponse RequestReceived without managers",
        ),
        ("no rule fits", "get", "batch", "jobs", "", "default", "j", "", "None"),
    ] {
        let deed = Deed { user: Some(&proxy), verb, group, resource, subresource, namespace, name, path };
        let verdict = policy.judge(&deed);
        let mut shown = format!("{:?}", verdict.level);
        verdict.omitted.iter().for_each(|stage| shown.push_str(&format!(" {stage:?}")));
        if verdict.omit_managed {
            shown.push_str(" without managers");
        }
        assert_eq!(shown, expected, "{case}");
    }
}

#[test]
fn a_policy_that_cannot_be_meant_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "rules: [{level: Everything}]",
        "rules: [{users: [ann]}]",
        "rulez: []",
        "rules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]",
        "rules: [{level: None, nonResourceURLs: ['/a*b']}]",
    ] {
        assert!(policy(folder.path(), text).is_err(), "{text}");
    }
    let path = folder.path().join("other.yaml");
    std::fs::write(&path, "apiVersion: v1\nkind: ConfigMap\n").unwrap();
    assert!(Policy::read(path).is_err());
}

async fn recorded(folder: &Path, rules: &str) -> (Server, Audit) {
    let path = folder.join("policy.yaml");
    std::fs::write(&path, format!("{HEAD}{rules}")).unwrap();
    let clock = kedge_clock::Clock::manual("2030-01-01T12:00:00Z".parse().unwrap());
    let log = AuditLog { path: folder.join("audit.log"), ..AuditLog::default() };
    let audit = Audit::open(path, log, clock).unwrap();
    let given = audit.clone();
    (Server::with(move |options| options.audit = Some(given)).await, audit)
}

async fn lines(folder: &Path, audit: &Audit) -> Vec<Value> {
    audit.flush().await;
    let text = std::fs::read_to_string(folder.join("audit.log")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn each_stage_is_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let rules = r#"
rules:
- {level: Metadata, resources: [{group: "", resources: [secrets]}]}
- {level: RequestResponse, resources: [{group: "", resources: [configmaps]}], omitManagedFields: true}
- {level: None, nonResourceURLs: ["/version"]}
- {level: Metadata}
"#;
    let (server, audit) = recorded(folder.path(), rules).await;
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "password": "hunter2" } }).to_string();
    assert_eq!(call(&server.admin, "POST", "/api/v1/namespaces/default/secrets", secret).await.code, 201);
    let map = json!({ "metadata": { "name": "m" }, "data": { "a": "b" } }).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", "kubectl/1.36"),
        ("audit-id", "my-own"),
        ("impersonate-user", "ann"),
        ("impersonate-group", "system:masters"),
        ("x-forwarded-for", "10.1.2.3"),
    ];
    let made = send(
        &server.admin,
        request("POST", "/api/v1/namespaces/default/configmaps?fieldManager=x", &headers, map),
    )
    .await;
    assert_eq!((made.code, &made.headers["audit-id"]), (201, &"my-own".parse().unwrap()));
    assert_eq!(call(&server.admin, "GET", "/version", "").await.code, 200);
    assert_eq!(call(&server.stranger, "GET", "/api/v1/nodes", "").await.code, 403);
    let bad = [("authorization", "Bearer rubbish")];
    assert_eq!(send(&server.stranger, request("GET", "/api/v1/pods", &bad, "")).await.code, 401);

    let lines = lines(folder.path(), &audit).await;
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            let text = |field: &str| line[field].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {} {} {}",
                text("level"),
                text("stage"),
                text("verb"),
                text("requestURI"),
                line["user"]["username"].as_str().unwrap_or("-"),
                line["responseStatus"]["code"],
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "Metadata RequestReceived create /api/v1/namespaces/default/secrets admin null",
            "Metadata ResponseComplete create /api/v1/namespaces/default/secrets admin 201",
            "RequestResponse RequestReceived create /api/v1/namespaces/default/configmaps?fieldManager=x admin null",
            "RequestResponse ResponseComplete create /api/v1/namespaces/default/configmaps?fieldManager=x admin 201",
            "Metadata RequestReceived list /api/v1/nodes system:anonymous null",
            "Metadata ResponseComplete list /api/v1/nodes system:anonymous 403",
            "Metadata ResponseComplete get /api/v1/pods - 401",
        ]
    );
    let text = std::fs::read_to_string(folder.path().join("audit.log")).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "no secret at this level");
    assert!(!text.contains("rubbish"), "nor a token");
    let made = &lines[3];
    assert_eq!(made["auditID"], "my-own");
    assert_eq!(made["impersonatedUser"]["username"], "ann");
    assert_eq!(made["sourceIPs"], json!(["10.1.2.3"]));
    assert_eq!(made["userAgent"], "kubectl/1.36");
    assert_eq!(
        made["objectRef"],
        json!({ "resource": "configmaps", "namespace": "default", "apiVersion": "v1" })
    );
    assert_eq!(made["requestObject"]["data"], json!({ "a": "b" }));
    assert_eq!(made["responseObject"]["data"], json!({ "a": "b" }));
    assert_eq!(made["responseObject"]["metadata"].get("managedFields"), None);
    assert_eq!(made["stageTimestamp"], "2030-01-01T12:00:00.000000Z");
    assert_eq!(made["annotations"]["authorization.k8s.io/decision"], "allow");
    let refused = &lines[5];
    assert_eq!(refused["annotations"]["authorization.k8s.io/decision"], "forbid");
    assert_eq!(refused["responseStatus"]["reason"], "Forbidden");
}

#[tokio::test]
async fn a_watch_is_over_when_nobody_listens_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (server, audit) =
        recorded(folder.path(), "rules: [{level: Metadata, omitStages: [RequestReceived]}]").await;
    let path = "/api/v1/namespaces/default/configmaps?watch=1";
    let answer =
        tower::ServiceExt::oneshot(server.admin.clone(), request("GET", path, &[], "")).await.unwrap();
    let stages = async || -> Vec<String> {
        lines(folder.path(), &audit)
            .await
            .iter()
            .map(|line| line["stage"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(stages().await, ["ResponseStarted"]);
    drop(answer);
    assert_eq!(stages().await, ["ResponseStarted", "ResponseComplete"]);
}

#[tokio::test]
async fn a_large_log_is_put_aside_and_old_ones_go() {
    let folder = tempfile::tempdir().unwrap();
    let clock = kedge_clock::Clock::manual("2030-01-01T12:00:00Z".parse().unwrap());
    let log =
        AuditLog { path: folder.path().join("audit.log"), max_megabytes: 1, max_backups: 2, max_days: 1 };
    let writer = super::Writer::start(log, clock.clone()).unwrap();
    let record = json!({ "text": "x".repeat(600 * 1024) });
    let names = || {
        writer.flush();
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    for _ in 0..4 {
        writer.hand_over(record.clone());
        names();
        clock.advance(std::time::Duration::from_secs(1));
    }
    assert_eq!(
        names(),
        ["audit-2030-01-01T12-00-02.000.log", "audit-2030-01-01T12-00-03.000.log", "audit.log"]
    );
    clock.advance(std::time::Duration::from_secs(2 * 24 * 3600));
    writer.hand_over(record);
    assert_eq!(names(), ["audit-2030-01-03T12-00-04.000.log", "audit.log"]);
}
