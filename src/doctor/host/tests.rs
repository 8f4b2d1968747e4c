use super::super::finding::{Finding, Level};
use super::*;

fn cgroups(version: u8, controllers: &[&str]) -> Cgroups {
    Cgroups { version, controllers: controllers.iter().map(|name| (*name).to_owned()).collect() }
}

fn healthy() -> Host {
    let program = |name, said: &str| Program { name, version: Some(said.to_owned()) };
    Host {
        is_root: true,
        kernel: "6.1.0-31-amd64".to_owned(),
        features: vec![("nf_tables", Some(true)), ("vxlan", Some(true))],
        cgroups: cgroups(2, &["cpu", "memory", "pids"]),
        parser: Parser::Fine,
        programs: vec![
            program("containerd", "containerd github.com/containerd/containerd 1.6.20~ds1 1"),
            program("runc", "runc version 1.1.5"),
        ],
        ports: vec![Port {
            what: "the API",
            flag: "--listen",
            at: ([0, 0, 0, 0], 6443).into(),
            trouble: None,
        }],
        room: Some(Room { free: 50 << 30, whole: 100 << 30, free_files: 5, files: 10 }),
        memory: Some(4 << 30),
        files: 1 << 20,
        forwards: Some(true),
        clock_is_kept: Some(true),
        now: Timestamp::from_second(1_800_000_000).unwrap(),
        nameservers: 1,
        ranges: None,
        name: Some("node-1.example".to_owned()),
    }
}

#[test]
fn a_healthy_machine_has_nothing_to_mend() {
    let findings = judge(&healthy());
    assert!(findings.iter().all(|finding| finding.level == Level::Fine), "{findings:#?}");
    let server = Host {
        is_root: false,
        programs: Vec::new(),
        features: Vec::new(),
        cgroups: cgroups(1, &[]),
        ..healthy()
    };
    assert!(judge(&server).iter().all(|finding| finding.level == Level::Fine), "a server without a node");
}

#[test]
fn each_trouble_is_found_with_what_to_do() {
    let taken = Port { trouble: Some("Address already in use".to_owned()), ..healthy().ports[0].clone() };
    let old = Program { name: "containerd", version: Some("containerd 1.4.13".to_owned()) };
    let gone = Program { name: "runc", version: None };
    let full = Room { free: 5 << 30, whole: 100 << 30, free_files: 50, files: 100 };
    for (case, host, level, told, fix) in [
        ("nobody", Host { is_root: false, ..healthy() }, Level::Wrong, "not run by root", "sudo"),
        (
            "old kernel",
            Host { kernel: "4.19.0-27".to_owned(), ..healthy() },
            Level::Doubt,
            "kernel 4.19",
            "newer kernel",
        ),
        (
            "no tunnel",
            Host { features: vec![("vxlan", Some(false))], ..healthy() },
            Level::Wrong,
            "no vxlan",
            "modprobe vxlan",
        ),
        (
            "unknown",
            Host { features: vec![("vxlan", None)], ..healthy() },
            Level::Doubt,
            "cannot be seen",
            "as root",
        ),
        (
            "no memory cgroup",
            Host { cgroups: cgroups(1, &["cpu", "pids"]), ..healthy() },
            Level::Wrong,
            "(version 1) for memory",
            "cgroup_enable=memory",
        ),
        (
            "an empty tree",
            Host { cgroups: cgroups(2, &[]), ..healthy() },
            Level::Wrong,
            "(version 2) for cpu, memory, pids",
            "delegated",
        ),
        (
            "no parser",
            Host { parser: Parser::Missing, ..healthy() },
            Level::Doubt,
            "apparmor_parser is missing",
            "apt-get install apparmor",
        ),
        (
            "a broken parser",
            Host { parser: Parser::Fails("exit status: 1: no such library".to_owned()), ..healthy() },
            Level::Wrong,
            "apparmor_parser fails (exit status: 1: no such library)",
            "apt-get install --reinstall apparmor",
        ),
        ("old containerd", Host { programs: vec![old], ..healthy() }, Level::Wrong, "1.4.13", "1.6"),
        (
            "no runc",
            Host { programs: vec![gone], ..healthy() },
            Level::Wrong,
            "runc is not installed",
            "apt-get install",
        ),
        (
            "a taken port",
            Host { ports: vec![taken], ..healthy() },
            Level::Wrong,
            "0.0.0.0:6443 cannot be had",
            "--listen",
        ),
        (
            "a full disk",
            Host { room: Some(full), ..healthy() },
            Level::Wrong,
            "of the disk are free",
            "--data-dir",
        ),
        (
            "no files left",
            Host { room: Some(Room { free: 90 << 30, free_files: 1, ..full }), ..healthy() },
            Level::Wrong,
            "of the disk",
            "--data-dir",
        ),
        (
            "a disk that fills",
            Host { room: Some(Room { free: 15 << 30, ..full }), ..healthy() },
            Level::Doubt,
            "of the disk",
            "--data-dir",
        ),
        (
            "no memory",
            Host { memory: Some(1 << 20), ..healthy() },
            Level::Wrong,
            "1.0 MB of memory",
            "add memory",
        ),
        ("few files", Host { files: 1024, ..healthy() }, Level::Doubt, "1024 files", "LimitNOFILE"),
        (
            "a clock never set",
            Host { now: Timestamp::UNIX_EPOCH, ..healthy() },
            Level::Wrong,
            "1970",
            "timedatectl",
        ),
        (
            "a clock nobody keeps",
            Host { clock_is_kept: Some(false), ..healthy() },
            Level::Doubt,
            "nobody keeps",
            "timedatectl",
        ),
        (
            "no servers for names",
            Host { nameservers: 0, ..healthy() },
            Level::Doubt,
            "names no server",
            "--dns-upstream",
        ),
        (
            "a strange name",
            Host { name: Some("my_node".to_owned()), ..healthy() },
            Level::Wrong,
            "my_node",
            "--node-name",
        ),
        (
            "taken ranges",
            Host { ranges: Some("eth0".to_owned()), ..healthy() },
            Level::Wrong,
            "are taken",
            "--cluster-cidr",
        ),
    ] {
        let findings = judge(&host);
        let bad: Vec<&Finding> = findings.iter().filter(|finding| finding.level != Level::Fine).collect();
        let [only] = bad[..] else { panic!("{case}: {bad:#?}") };
        assert_eq!(only.level, level, "{case}");
        assert!(
            only.what.contains(told) && only.fix.contains(fix) && !only.why.is_empty(),
            "{case}: {only:#?}"
        );
    }
}

#[test]
fn this_machine_can_be_looked_at() {
    let data = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let ports = vec![("the API", "--listen", at, false)];
    let host = look(About { data: data.path(), has_node: true, ports, ranges: None, now: Timestamp::now() });
    assert!(host.kernel.contains('.') && host.memory.is_some() && host.room.is_some());
    assert!(host.ports[0].trouble.is_some());
    assert_eq!(host.programs.len(), 2);
}

#[test]
fn a_parser_is_tried() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parser");
    assert_eq!(parser(&file), Parser::Missing);
    for (script, found) in [
        ("grep -q kedge-doctor", Parser::Fine),
        ("exit 3", Parser::Fails("exit status: 3".to_owned())),
        (
            "echo beware >&2; echo no such library >&2; exit 1",
            Parser::Fails("exit status: 1: no such library".to_owned()),
        ),
        ("exec sleep 60", Parser::Fails("it does not end within 5s".to_owned())),
    ] {
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(parser(&file), found, "{script}");
    }
}
