//! The built `kedge` binary must answer every case as the stock API server did.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kedge_agreement::{Server, differences, home, judge, read_answers, read_known, read_topics, run};

const PATIENCE: Duration = Duration::from_secs(30);

/// A server of our own that ends with the test.
struct Kedge {
    process: Child,
    kubeconfig: PathBuf,
    _data: tempfile::TempDir,
}

impl Drop for Kedge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn binary() -> PathBuf {
    let built = || home().join("../../target/debug/kedge");
    let path = std::env::var_os("KEDGE_BIN").map_or_else(built, PathBuf::from);
    assert!(path.exists(), "{} is missing: run `cargo build` first or set KEDGE_BIN", path.display());
    path
}

fn start() -> std::io::Result<Kedge> {
    let data = tempfile::tempdir()?;
    let kubeconfig = data.path().join("kubeconfig");
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let process = Command::new(binary())
        .args(["server", "--no-agent", "--no-controllers", "--no-gateway"])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .arg("--data-dir")
        .arg(data.path().join("data"))
        .arg("--write-kubeconfig")
        .arg(&kubeconfig)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Kedge { process, kubeconfig, _data: data })
}

async fn ready(kubeconfig: &Path) -> Server {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let untrue = match Server::of_kubeconfig(kubeconfig).await {
            Ok(server) => match server.is_ready().await {
                Ok(true) => return server,
                Ok(false) => "/readyz is not ok".to_owned(),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        assert!(Instant::now() < deadline, "kedge is not ready after {PATIENCE:?}: {untrue}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn kedge_answers_as_the_stock_server_did() {
    let kedge = start().unwrap();
    let server = ready(&kedge.kubeconfig).await;
    let mut found = Vec::new();
    for topic in read_topics(&home().join("cases")).unwrap() {
        let got = run(&server, &topic).await.unwrap();
        let expected = read_answers(&home().join("answers"), &topic.name).unwrap();
        found.extend(differences(&topic.name, &expected, &got));
    }
    let verdict = judge(found, &read_known(&home().join("known.yaml")).unwrap());
    for difference in &verdict.unexpected {
        println!("{} / {}: {difference}", difference.topic, difference.step);
    }
    for entry in &verdict.outdated {
        println!("no longer a difference: {} / {}: {}", entry.topic, entry.step, entry.path);
    }
    assert!(
        verdict.unexpected.is_empty() && verdict.outdated.is_empty(),
        "{} differences from the stock server, {} outdated entries in known.yaml",
        verdict.unexpected.len(),
        verdict.outdated.len()
    );
}

#[test]
fn every_case_has_an_answer() {
    for topic in read_topics(&home().join("cases")).unwrap() {
        let answers = read_answers(&home().join("answers"), &topic.name).unwrap();
        let asked: Vec<&str> = topic.file.steps.iter().map(|step| step.name.as_str()).collect();
        let answered: Vec<&str> = answers.iter().map(|answer| answer.name.as_str()).collect();
        assert_eq!(asked, answered, "{}: record the answers again", topic.name);
    }
}
