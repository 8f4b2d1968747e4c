//! Manifests that are put together from a folder with a `kustomization.yaml`. That is a language of its own, and programs that speak it
//! are around: the first that is found here is asked.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::CliError;
use crate::path;
use crate::screen::Screen;

/// Programs with what they are told before the folder.
const PROGRAMS: [(&str, &str); 2] = [("kustomize", "build"), ("kubectl", "kustomize")];

/// Whoever finds this in the environment was asked by one of us; a copy of ours may be called kubectl, too.
const ASKED: &str = "KEDGE_ASKS_FOR_KUSTOMIZE";

pub(crate) fn build(folder: &str, flags: &[String]) -> Result<String, CliError> {
    let asked = std::env::var_os(ASKED).is_some();
    let there =
        PROGRAMS.into_iter().filter(|(name, _)| !asked || *name == "kustomize").find_map(|(name, word)| {
            let program = path::programs(name).find(|program| !is_ours(program))?;
            Some((program, word))
        });
    let Some((program, word)) = there else {
        return Err(CliError::unmet(format!(
            "{folder} has to be put together by kustomize, and neither kustomize nor kubectl is on the path: install one of them"
        )));
    };
    let said = Command::new(&program)
        .args([word, folder])
        .args(flags)
        .env(ASKED, "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| CliError::Io { what: format!("run {}", program.display()), source })?;
    let complaints = String::from_utf8_lossy(&said.stderr);
    if !said.status.success() {
        return Err(CliError::unmet(bare(&complaints)));
    }
    if !complaints.trim().is_empty() {
        Screen::real().warn(complaints.trim_end());
    }
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// It is this program, under whatever name.
fn is_ours(program: &Path) -> bool {
    let ours = std::env::current_exe().and_then(std::fs::canonicalize);
    matches!((ours, std::fs::canonicalize(program)), (Ok(ours), Ok(program)) if ours == program)
}

/// What went wrong, without what each program writes before it. kubectl writes it as a line of a log.
fn bare(complaints: &str) -> String {
    let logged = complaints.trim().split_once("\"command failed\" err=");
    match logged.and_then(|(_, quoted)| serde_json::from_str::<String>(quoted).ok()) {
        Some(complaint) => complaint,
        None => complaints.trim().trim_start_matches("error: ").trim_start_matches("Error: ").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn complaints_are_told_without_their_beginnings() {
        for (complaint, told) in [
            ("Error: no such folder\n", "no such folder"),
            ("error: no such folder", "no such folder"),
            (
                "E1118 06:01:44.8 223 run.go:72] \"command failed\" err=\"no \\\"x\\\" in '/a'\"\n",
                "no \"x\" in '/a'",
            ),
        ] {
            assert_eq!(bare(complaint), told);
        }
    }
}
