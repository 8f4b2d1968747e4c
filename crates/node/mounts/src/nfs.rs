//! Folders of another machine. The kernel wants more than a name of it, so the machine's own `mount` is asked to do it.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::mounts::MountError;
use crate::volume::Nfs;

/// How often is looked whether it is done, and how often at most: a server that doesn't answer is not waited for for ever.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: usize = 5000;
/// Where `mount` looks for what knows a file system.
const PLACES: [&str; 4] = ["/sbin", "/usr/sbin", "/bin", "/usr/bin"];
const HELPER: &str = "mount.nfs";

pub(crate) fn mount(nfs: &Nfs, target: &Path) -> Result<(), MountError> {
    let arguments = arguments(nfs, target);
    let failed = |output: String| MountError::Command { arguments: arguments.join(" "), output };
    if !PLACES.iter().any(|folder| Path::new(folder).join(HELPER).exists()) {
        return Err(failed(format!("there is no {HELPER} on this machine (Debian's package nfs-common)")));
    }
    let begun = Command::new("mount")
        .args(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = begun.map_err(|error| failed(error.to_string()))?;
    let ended = match wait(&mut child) {
        Ok(Some(ended)) => ended,
        Ok(None) => {
            let _killed = child.kill().and_then(|()| child.wait());
            return Err(failed("the server does not answer".to_owned()));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if ended.success() {
        return Ok(());
    }
    let mut told = String::new();
    if let Some(errors) = &mut child.stderr {
        let _read = errors.read_to_string(&mut told);
    }
    Err(failed(format!("{ended}: {}", told.trim())))
}

/// None if it takes too long.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    for _ in 0..LOOKS {
        if let Some(ended) = child.try_wait()? {
            return Ok(Some(ended));
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

fn arguments(nfs: &Nfs, target: &Path) -> Vec<String> {
    let server = match nfs.server.contains(':') {
        true => format!("[{}]", nfs.server),
        false => nfs.server.clone(),
    };
    let mut options = nfs.options.clone();
    if nfs.read_only && !options.iter().any(|option| option == "ro") {
        options.push("ro".to_owned());
    }
    let mut arguments = vec!["-t".to_owned(), "nfs".to_owned()];
    if !options.is_empty() {
        arguments.extend(["-o".to_owned(), options.join(",")]);
    }
    arguments.extend([format!("{server}:{}", nfs.path), target.display().to_string()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_as_mount_wants_it() {
        let nfs = |server: &str, read_only, options: &[&str]| Nfs {
            server: server.to_owned(),
            path: "/x".to_owned(),
            read_only,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        };
        for (wanted, line) in [
            (nfs("192.0.2.1", false, &[]), "-t nfs 192.0.2.1:/x /t"),
            (nfs("2001:db8::1", true, &[]), "-t nfs -o ro [2001:db8::1]:/x /t"),
            (nfs("files", true, &["ro", "hard"]), "-t nfs -o ro,hard files:/x /t"),
            (nfs("files", true, &["vers=4.1"]), "-t nfs -o vers=4.1,ro files:/x /t"),
        ] {
            assert_eq!(arguments(&wanted, Path::new("/t")).join(" "), line);
        }
    }
}
