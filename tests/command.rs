//! The binary as a person meets it: what it says when it is asked wrongly. The other tests start the binary that is built
//! for this one.

#![allow(clippy::expect_used, reason = "helpers of tests fail like tests")]

use std::process::{Command, Output};

fn kedge(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kedge")).args(args).output().expect("kedge can be started")
}

fn complaint(args: &[&str]) -> String {
    let output = kedge(args);
    assert!(!output.status.success(), "{args:?} succeeded");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn it_tells_its_version_and_the_level_of_its_api() {
    let output = kedge(&["version"]);
    assert!(output.status.success());
    assert_eq!(output.stdout, format!("kedge {} (Kubernetes v1.36)\n", env!("CARGO_PKG_VERSION")).as_bytes());
}

#[test]
fn a_wrong_start_names_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data").display().to_string();
    let config = folder.path().join("config.yaml").display().to_string();
    std::fs::write(&config, "lisen: 127.0.0.1:0\n").expect("a file");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    for (case, args, told) in [
        ("an unknown flag", &["server", "--no-such-flag"][..], "--no-such-flag"),
        ("an unknown key of the config file", &["server", "--data-dir", &data, "--config", &config], "lisen"),
        ("a port that is taken", &["server", "--data-dir", &data, "--listen", &address], &address),
        ("a store nobody knows", &["server", "--data-dir", &data, "--store", "floppy"], "floppy"),
        (
            "a config file that is not there",
            &["server", "--config", "no-such-file.yaml"],
            "no-such-file.yaml",
        ),
    ] {
        let said = complaint(args);
        assert!(said.contains(told), "{case}: {said}");
        assert!(!std::path::Path::new(&data).join("store").exists(), "{case}: something was made");
    }
}
