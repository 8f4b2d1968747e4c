//! Manifests that are put together from a folder with a `kustomization.yaml`. That is a language of its own, and programs that speak it
//! are around: the first that is found here is asked.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use crate::error::CliError;

/// Programs with what they are told before the folder.
const PROGRAMS: [(&str, &str); 2] = [("kustomize", "build"), ("kubectl", "kustomize")];

pub(super) fn build(folder: &str) -> Result<String, CliError> {
    for (program, word) in PROGRAMS {
        let asked = Command::new(program).args([word, folder]).stdin(Stdio::null()).output();
        match asked {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(CliError::Io { what: format!("run {program}"), source }),
            Ok(said) if said.status.success() => {
                return Ok(String::from_utf8_lossy(&said.stdout).into_owned());
            }
            Ok(said) => {
                let why = String::from_utf8_lossy(&said.stderr);
                return Err(CliError::unmet(
                    why.trim().trim_start_matches("error: ").trim_start_matches("Error: "),
                ));
            }
        }
    }
    Err(CliError::unmet(format!(
        "{folder} has to be put together by kustomize, and neither kustomize nor kubectl is on the path: install one of them"
    )))
}
