//! Which kubectl the tests type: the one that `KUBECTL` names, or the machine's, or, where that is too old for what we ask of it, our own
//! binary under that name. Debian 12 has one that knows neither `create token` nor `--subresource`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::binary;

/// The oldest whose words are compared with ours.
const OLDEST: u32 = 32;

/// The program, by path or by name.
pub fn kubectl() -> OsString {
    static CHOSEN: LazyLock<OsString> = LazyLock::new(|| {
        let named = std::env::var_os("KUBECTL");
        let found = named.unwrap_or_else(|| "kubectl".into());
        if minor(&found).is_some_and(|minor| minor >= OLDEST) { found } else { own().into() }
    });
    CHOSEN.clone()
}

/// What it is of 1.x.
fn minor(program: &OsString) -> Option<u32> {
    let said = Command::new(program).args(["version", "--client", "-o", "json"]).output().ok()?;
    told(&said.stdout)
}

fn told(said: &[u8]) -> Option<u32> {
    let version: Value = serde_json::from_slice(said).ok()?;
    let minor = version["clientVersion"]["minor"].as_str()?;
    minor.trim_end_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
}

/// The name makes it kubectl. Beside the binary it is there for all tests at once, whichever comes first.
fn own() -> PathBuf {
    let binary = binary().canonicalize().unwrap();
    let folder = binary.parent().unwrap_or(Path::new("/")).join("as-kubectl");
    let link = folder.join("kubectl");
    std::fs::create_dir_all(&folder).unwrap();
    match std::os::unix::fs::symlink(&binary, &link) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            panic!("cannot link {}: {error}", link.display())
        }
        _ => link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_kubectl_is_read() {
        for (said, minor) in [
            (r#"{"clientVersion":{"major":"1","minor":"20+","gitVersion":"v1.20.2"}}"#, Some(20)),
            (r#"{"clientVersion":{"major":"1","minor":"36"},"kustomizeVersion":"v5"}"#, Some(36)),
            ("error: unknown flag", None),
        ] {
            assert_eq!(told(said.as_bytes()), minor, "{said}");
        }
    }
}
