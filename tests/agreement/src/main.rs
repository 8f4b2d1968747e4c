//! `agreement record KUBECONFIG [topic…]` writes the answers of a stock server into `answers/`;
//! `agreement compare KUBECONFIG [topic…]` prints where a server's answers differ from them.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use kedge_agreement::{
    AgreementError, Server, differences, home, judge, read_answers, read_known, read_topics, run,
    write_answers,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [what, kubeconfig, topics @ ..] if what == "record" => record(Path::new(kubeconfig), topics).await,
        [what, kubeconfig, topics @ ..] if what == "compare" => compare(Path::new(kubeconfig), topics).await,
        _ => {
            say("usage: agreement record|compare KUBECONFIG [topic...]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(2)
        }
    }
}

async fn record(kubeconfig: &Path, only: &[String]) -> Result<bool, AgreementError> {
    let server = Server::of_kubeconfig(kubeconfig).await?;
    for topic in read_topics(&home().join("cases"))? {
        if only.is_empty() || only.contains(&topic.name) {
            let answers = run(&server, &topic).await?;
            write_answers(&home().join("answers"), &topic.name, &answers)?;
            say(&format!("{}: {} answers", topic.name, answers.len()));
        }
    }
    Ok(true)
}

async fn compare(kubeconfig: &Path, only: &[String]) -> Result<bool, AgreementError> {
    let server = Server::of_kubeconfig(kubeconfig).await?;
    let mut found = Vec::new();
    for topic in read_topics(&home().join("cases"))? {
        if only.is_empty() || only.contains(&topic.name) {
            match run(&server, &topic).await {
                Ok(got) => found.extend(differences(
                    &topic.name,
                    &read_answers(&home().join("answers"), &topic.name)?,
                    &got,
                )),
                // The other topics are still worth comparing.
                Err(error) => say(&format!("{}: {error}", topic.name)),
            }
        }
    }
    let verdict = judge(found, &read_known(&home().join("known.yaml"))?);
    for difference in &verdict.unexpected {
        say(&format!("{} / {}: {difference}", difference.topic, difference.step));
    }
    // A part of the topics cannot tell whether an entry about another one still holds.
    for entry in verdict.outdated.iter().filter(|_| only.is_empty()) {
        say(&format!("no longer a difference: {} / {}: {}", entry.topic, entry.step, entry.path));
    }
    say(&format!("{} differences", verdict.unexpected.len()));
    Ok(verdict.unexpected.is_empty())
}

fn say(line: &str) {
    // A closed pipe is the reader's wish, not a failure.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
