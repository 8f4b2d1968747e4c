use clap::Parser;

use super::words::Endpoint;
use super::*;
use crate::command::{Command, Kedge};

fn typed(args: &[&str]) -> Settings {
    let all = ["kedge", "server"].iter().chain(args);
    match Kedge::try_parse_from(all).unwrap().command {
        Command::Server(settings) => *settings,
        _ => panic!("that was `server`"),
    }
}

#[test]
fn flags_win_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, "data-dir: /from/file\nlisten: 127.0.0.1:1\nno-agent: true\nservice-cidr: [10.1.0.0/16]\nstore: etcd=http://a,http://b\nscheduler: {policy: LeastRequest}\n").unwrap();
    let settings =
        typed(&["--config", file.to_str().unwrap(), "--listen", "127.0.0.1:2"]).with_file().unwrap();
    assert_eq!(settings.listen, Some("127.0.0.1:2".parse().unwrap()));
    assert_eq!(settings.node.data_dir.as_deref(), Some(Path::new("/from/file")));
    assert_eq!(settings.no_agent, Some(true));
    assert_eq!(settings.scheduler, Some(serde_json::json!({"policy": "LeastRequest"})));
    assert_eq!(settings.service_cidr, vec!["10.1.0.0/16".parse().unwrap()]);
    assert_eq!(settings.store, Some(StoreChoice::Etcd(vec!["http://a".to_owned(), "http://b".to_owned()])));
}

#[test]
fn the_file_speaks_of_the_node_as_flags_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let text = "node-label: [zone=a, disk=ssd]\nnode-taint: [\"k=v:NoSchedule\"]\nnode-capacity: [cpu=2, memory=4Gi]\n\
                node-ip: [192.0.2.1, \"2001:db8::1\"]\nshutdown-grace-period: 30s\nimage-gc-high-threshold: 70\n";
    std::fs::write(&file, text).unwrap();
    let read = typed(&["--config", file.to_str().unwrap()]).with_file().unwrap();
    let flags = typed(&[
        "--node-label=zone=a,disk=ssd",
        "--node-taint=k=v:NoSchedule",
        "--node-capacity=cpu=2,memory=4Gi",
        "--node-ip=192.0.2.1,2001:db8::1",
        "--shutdown-grace-period=30s",
        "--image-gc-high-threshold=70",
    ]);
    assert_eq!(NodeSettings { config: None, ..read.node }, flags.node);
}

#[test]
fn a_socket_is_a_path_or_an_address() {
    for (text, path) in [
        ("unix:///run/c.sock", Some("/run/c.sock")),
        ("/run/c.sock", Some("/run/c.sock")),
        ("run/c.sock", None),
        ("tcp://127.0.0.1:1", None),
        ("unix://", None),
    ] {
        let read = text.parse::<Endpoint>().ok().map(|endpoint| endpoint.0);
        assert_eq!(read.as_deref(), path.map(Path::new), "{text}");
    }
}

#[test]
fn a_wrong_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    for (case, text) in [
        ("unknown key", "data-dirr: /x\n"),
        ("wrong type", "listen: 7\n"),
        ("unknown store", "store: floppy\n"),
        ("unknown network", "cni: wool\n"),
        ("bad range", "service-cidr: [10.0.0.0/99]\n"),
        ("bad label", "node-label: [a]\n"),
        ("bad taint", "node-taint: [\"a=b:Sometimes\"]\n"),
        ("bad amount", "node-capacity: [cpu=many]\n"),
    ] {
        std::fs::write(&file, text).unwrap();
        assert!(typed(&["--config", file.to_str().unwrap()]).with_file().is_err(), "{case}");
    }
    std::fs::write(&file, "# nothing\n").unwrap();
    assert!(typed(&["--config", file.to_str().unwrap()]).with_file().is_ok());
    assert!(typed(&["--config", "/nowhere/at/all"]).with_file().is_err());
}
