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

/// Every flag with something to say, as a person types it; lists with several.
const SAID: &[(&str, &str)] = &[
    ("allowed-unsafe-sysctls", "net.core.somaxconn,kernel.msg*"),
    ("audit-log-maxage", "7"),
    ("audit-log-maxbackup", "3"),
    ("audit-log-maxsize", "50"),
    ("audit-log-path", "/var/log/audit"),
    ("audit-policy-file", "/etc/audit.yaml"),
    ("autoscaler-reaction", "2s"),
    ("autoscaler-sync-period", "20s"),
    ("cgroup-driver", "cgroupfs"),
    ("cluster-cidr", "10.1.0.0/16,fd00:1::/56"),
    ("cluster-dns", "192.0.2.1,192.0.2.2"),
    ("cluster-domain", "example.org"),
    ("cni", "none"),
    ("cni-bin-dir", "/opt/bin"),
    ("cni-conf-dir", "/etc/net.d"),
    ("container-runtime-endpoint", "unix:///run/c.sock"),
    ("cpu-manager-policy", "static"),
    ("data-dir", "/srv/kedge"),
    ("dns-stub", "example.org=192.0.2.1"),
    ("dns-upstream", "192.0.2.1,192.0.2.2:5353"),
    ("encrypt-secrets", "true"),
    ("etcd-cafile", "/etc/etcd/ca.crt"),
    ("etcd-certfile", "/etc/etcd/client.crt"),
    ("etcd-keyfile", "/etc/etcd/client.key"),
    ("event-ttl", "2h"),
    ("eviction-hard", "memory.available<200Mi"),
    ("gateway-http", "127.0.0.1:8080"),
    ("gateway-https", "127.0.0.1:8443"),
    ("hosts-file", "none"),
    ("image-gc-high-threshold", "80"),
    ("image-gc-low-threshold", "70"),
    ("image-maximum-gc-age", "48h"),
    ("listen", "127.0.0.1:7443"),
    ("max-mutating-requests-inflight", "20"),
    ("max-parallel-image-pulls", "4"),
    ("max-requests-inflight", "40"),
    ("no-agent", "true"),
    ("no-controllers", "true"),
    ("no-dns", "true"),
    ("no-gateway", "true"),
    ("no-network-policy", "true"),
    ("no-proxy", "true"),
    ("node-capacity", "cpu=2,memory=4Gi"),
    ("node-ip", "192.0.2.1,2001:db8::1"),
    ("node-label", "zone=a,disk=ssd"),
    ("node-listen", "127.0.0.1:10251"),
    ("node-monitor-grace-period", "30s"),
    ("node-name", "n1"),
    ("node-taint", "k=v:NoSchedule,k:NoExecute"),
    ("pod-max-pids", "1000"),
    ("pod-network", "routes"),
    ("registries", "/etc/registries.yaml"),
    ("reserved-cpus", "0-1"),
    ("resolv-conf", "/etc/resolv.pods"),
    ("server", "https://192.0.2.1:6443,https://192.0.2.2:6443"),
    ("service-cidr", "10.2.0.0/16"),
    ("shutdown-grace-period", "30s"),
    ("shutdown-grace-period-critical-pods", "10s"),
    ("static-pod-dir", "/etc/pods"),
    ("store", "etcd=http://a:2379,http://b:2379"),
    ("system-reserved", "cpu=100m,memory=200Mi"),
    ("tls-san", "kedge.example,192.0.2.9"),
    ("token", "kedge1.a.b.c"),
    ("token-file", "/etc/token"),
    ("vxlan-port", "8473"),
    ("write-kubeconfig", "/root/.kube/config"),
];

fn said<T: clap::Args>(key: &str) -> (&'static str, String) {
    let said = SAID.iter().find(|(name, _)| *name == key);
    let (_, said) = said.unwrap_or_else(|| panic!("say something for --{key} in this test"));
    let command = T::augment_args(clap::Command::new("kedge"));
    let is_list = command
        .get_arguments()
        .any(|flag| flag.get_long() == Some(key) && flag.get_value_delimiter().is_some());
    let quoted = |text: &str| {
        if text.parse::<u64>().is_ok() || text == "true" { text.to_owned() } else { format!("{text:?}") }
    };
    let written = match is_list {
        true => format!("[{}]", said.split(',').map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", ")),
        false => quoted(said),
    };
    (said, format!("{key}: {written}\n"))
}

#[test]
fn every_flag_is_a_key_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let config = ["--config", file.to_str().unwrap()];
    for key in keys::<Settings>() {
        let (said, line) = said::<Settings>(&key);
        std::fs::write(&file, line).unwrap();
        let mut read = typed(&config).with_file().unwrap();
        read.node.config = None;
        let flags = typed(&[&format!("--{key}={said}")]);
        assert_ne!(flags, typed(&[]), "{key}");
        assert_eq!(read, flags, "{key}");
    }
    let agent =
        |args: &[&str]| match Kedge::try_parse_from(["kedge", "agent"].iter().chain(args)).unwrap().command {
            Command::Agent(settings) => *settings,
            _ => panic!("that was `agent`"),
        };
    for key in keys::<AgentSettings>() {
        let (said, line) = said::<AgentSettings>(&key);
        std::fs::write(&file, line).unwrap();
        let mut read = agent(&config).with_file().unwrap();
        read.node.config = None;
        assert_eq!(read, agent(&[&format!("--{key}={said}")]), "{key}");
    }
}

#[test]
fn a_slip_is_answered_with_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    for (text, told) in [
        ("lisen: 127.0.0.1:1\n", "did you mean listen?"),
        ("cluster_cidr: [10.0.0.0/16]\n", "did you mean cluster-cidr?"),
        ("server: [https://a:6443]\n", "a server does not take: server"),
        ("flannel-backend: vxlan\n", "nobody knows: flannel-backend"),
    ] {
        std::fs::write(&file, text).unwrap();
        let refused = typed(&["--config", file.to_str().unwrap()]).with_file().unwrap_err().to_string();
        assert!(refused.contains(told), "{text}: {refused}");
        assert_eq!(refused.contains("did you mean"), told.contains("did you mean"), "{refused}");
    }
}
