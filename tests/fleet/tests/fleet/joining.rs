//! Machines that become nodes, and those that don't.

use std::time::Duration;

use kedge_fleet::{NODE, PATIENCE, Scene, told};
use kedge_shipped::eventually;

/// A token as the server makes them.
fn token(scene: &Scene, arguments: &[&str]) -> String {
    let mut command = scene.server.kedge(&[&["token", "create"], arguments].concat());
    told(command.output().unwrap()).unwrap().trim().to_owned()
}

pub(crate) fn refused(scene: &mut Scene) {
    eventually("the server has a token for others", PATIENCE, || {
        std::fs::read_to_string(scene.server.data().join("node-token")).map_err(|error| error.to_string())
    });
    let url = scene.url();
    let good = token(scene, &["--description", "for a while"]);
    let parts: Vec<&str> = good.split('.').collect();
    let wrong_secret = format!("{}.{}.{}.aaaaaaaaaaaaaaaa", parts[0], parts[1], parts[2]);
    let wrong_hash = format!("{}.{}.{}.{}", parts[0], "0".repeat(64), parts[2], parts[3]);
    let ended = token(scene, &["--ttl", "1s"]);
    let listed = told(scene.server.kedge(&["token", "list"]).output().unwrap()).unwrap();
    assert!(listed.contains(parts[2]) && listed.contains("for a while"), "{listed}");
    assert!(!listed.contains(parts[3]), "a secret is shown: {listed}");
    let revoked = token(scene, &[]);
    told(scene.server.kedge(&["token", "delete", &revoked]).output().unwrap()).unwrap();
    eventually("the short token is over", Duration::from_secs(10), || {
        let id = ended.split('.').nth(2).unwrap();
        let listed = told(scene.server.kedge(&["token", "list"]).output().unwrap())?;
        let is_over = listed.lines().all(|line| !line.starts_with(id) || line.contains("(over)"));
        if is_over { Ok(()) } else { Err(listed) }
    });

    let nowhere = format!("https://{}:6443", scene.two.address);
    for (case, arguments, words) in [
        ("no server", vec!["--token", &good], "--server"),
        ("no token", vec!["--server", &url], "kedge token create"),
        ("no token at all", vec!["--server", &url, "--token", "abcdef"], "a token looks like"),
        ("a wrong secret", vec!["--server", &url, "--token", &wrong_secret], "does not take the token"),
        ("a token of the past", vec!["--server", &url, "--token", &ended], "does not take the token"),
        (
            "a token that was taken back",
            vec!["--server", &url, "--token", &revoked],
            "does not take the token",
        ),
        ("another cluster's token", vec!["--server", &url, "--token", &wrong_hash], "is not the cluster"),
        ("nobody there", vec!["--server", &nowhere, "--token", &good], "cannot reach the cluster"),
        (
            "a name that is taken",
            vec!["--server", &url, "--token", &good, "--node-name", "one"],
            "there is a node one already",
        ),
        ("half a URL", vec!["--server", "one:6443", "--token", &good], "no server like"),
    ] {
        let output = scene.three.kedge(&[&["agent"], &arguments[..]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{case}: {said}");
        let secret = parts[3];
        assert!(!said.contains(secret), "{case}: the secret is shown: {said}");
        let lines = said.lines().filter(|line| line.starts_with("kedge: ")).count();
        assert!(lines == 1 || case == "half a URL", "{case}: {said}");
        // Nothing that would matter to the next attempt is kept.
        std::fs::remove_dir_all(scene.three.data()).ok();
    }
}

pub(crate) fn joined(scene: &mut Scene) {
    let url = scene.url();
    // One by flags, with the token that the server keeps; one by its own config file.
    let kept = scene.server.data().join("node-token").display().to_string();
    let flags = ["agent", "--server", &url, "--token-file", &kept, "--node-name", "two"];
    scene.two.run(&[&flags[..], &NODE].concat());

    let config = scene.three.file("config.yaml");
    let address = scene.three.address.clone();
    let token = token(scene, &["--ttl", "10m"]);
    let text = format!(
        "server: [\"{url}\"]\ntoken: {token}\nnode-name: three\nnode-label: [fleet/rack=b]\nnode-capacity: [cpu=3, memory=700Mi]\n\
         node-ip: [{address}]\nnode-listen: {address}:10251\n"
    );
    std::fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    scene.three.run(&[&["agent", "--config", &config][..], &NODE].concat());

    for name in ["two", "three"] {
        scene.node_is(name, "True");
    }
    scene.import(|scene| &scene.two);
    scene.import(|scene| &scene.three);
    let node = scene.object(&["node", "three"]).unwrap();
    assert_eq!(node["metadata"]["labels"]["fleet/rack"], "b", "{node}");
    assert_eq!(
        (&node["status"]["capacity"]["cpu"], &node["status"]["capacity"]["memory"]),
        (&"3".into(), &"700Mi".into())
    );
    assert_eq!(node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"], 10251);
    assert_eq!(node["status"]["addresses"][0]["address"], *address);
    // Keys are nobody else's to read.
    for name in ["node-client.key", "node-client.crt"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(scene.two.data().join("pki").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    scene.people();
}

/// It has a certificate now, and knows where the servers are.
pub(crate) fn restarted(scene: &mut Scene) {
    scene.two.stop();
    scene.two.run(&[&["agent"][..], &NODE].concat());
    eventually("what runs is still known", PATIENCE, || {
        let told = scene.try_kubectl(&["exec", "caller-two", "--", "hostname"])?;
        if told.trim() == "caller-two" { Ok(()) } else { Err(told) }
    });
    scene.node_is("two", "True");
    let restarts = scene.kubectl(&[
        "get",
        "pods",
        "--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}",
    ]);
    assert!(restarts.split_whitespace().all(|count| count == "0"), "something was restarted: {restarts}");
}
