//! The program's own code in memory. Starting up runs through much of it once, and the kernel keeps what lies around it at hand, too;
//! what nobody runs again need not count as ours.

use std::ffi::c_void;
use std::fs;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

/// Gives back the pages of our own code. What is run again comes back from the file's pages, which the kernel has anyway.
pub(crate) fn release_code() {
    let (Ok(maps), Ok(program)) = (fs::read_to_string("/proc/self/maps"), fs::read_link("/proc/self/exe"))
    else {
        return;
    };
    for part in code(&maps, &program.to_string_lossy()) {
        // Where it cannot be given back, the server is only larger.
        let _released = release(part);
    }
}

/// Where the code of that program lies, by the lines of `/proc/self/maps`.
fn code(maps: &str, program: &str) -> Vec<Range<usize>> {
    let part = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let file = rest.find('/').and_then(|at| rest.get(at..))?;
        // Private, never written: nothing but what is in the file.
        (rest.starts_with("r-xp ") && file == program).then_some(())?;
        let (start, end) = range.split_once('-')?;
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    };
    maps.lines().filter_map(part).collect()
}

#[allow(unsafe_code, reason = "the kernel's call takes an address")]
fn release(part: Range<usize>) -> rustix::io::Result<()> {
    let start = std::ptr::with_exposed_provenance_mut::<c_void>(part.start);
    // SAFETY: the range is a mapping of this process that cannot be written and is backed by our own program's file, which
    // the kernel keeps from being changed while it runs: a page that is touched again has the same content.
    unsafe { madvise(start, part.len(), Advice::LinuxDontNeed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_programs_own_code_is_given_back() {
        let maps = "\
55d0c8a00000-55d0c9000000 r--p 00000000 fe:00 12 /opt/kedge
55d0c9000000-55d0ca800000 r-xp 00600000 fe:00 12 /opt/kedge
55d0ca800000-55d0ca900000 rw-p 01e00000 fe:00 12 /opt/kedge
7f0000000000-7f0000100000 r-xp 00000000 fe:00 13 /lib/libc.so.6
7f0000200000-7f0000201000 r-xp 00000000 00:00 0 [vdso]
7f0000300000-7f0000400000 r-xp 00000000 00:00 0
";
        let wanted = 0x55d0_c900_0000..0x55d0_ca80_0000;
        assert_eq!(code(maps, "/opt/kedge"), vec![wanted]);
        assert!(code(maps, "/opt/other").is_empty());
    }

    #[test]
    fn code_that_was_given_back_still_runs() {
        for _ in 0..3 {
            release_code();
            assert!(code("", "").is_empty());
        }
    }
}
