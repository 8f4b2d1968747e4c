//! What the kernel lets this process have. Asks for as much as it may have, and says how much that is.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files for everything that is not a client's connection.
const RESERVED: u64 = 256;

/// Raises the number of files that may be open to the highest allowed, and returns it.
pub(crate) fn raise_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let now = if raised.is_ok() { maximum } else { current };
    now.unwrap_or(u64::MAX)
}

/// How many of `files` connections may take, so that a crowd of them does not keep the store from its files.
pub(crate) fn connections(files: u64) -> u64 {
    files.saturating_sub(RESERVED).max(files / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_rest() {
        for (files, most) in [(80, 40), (256, 128), (1024, 768), (u64::MAX, u64::MAX - RESERVED)] {
            assert_eq!(connections(files), most, "{files}");
        }
    }
}
