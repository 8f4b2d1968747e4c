//! How long processes had to wait for something that there was not enough of, as the kernel's pressure files tell it. A kernel that
//! does not count it says nothing.

use std::fs;
use std::path::Path;

/// Of one cgroup, or of the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressures {
    pub cpu: Option<Pressure>,
    pub memory: Option<Pressure>,
    pub io: Option<Pressure>,
}

/// What it is like when some wait, and when all do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    pub some: Stall,
    pub full: Stall,
}

/// Shares of the last 10, 60 and 300 seconds in hundredths of a percent, and the time of all times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    pub last_10: u32,
    pub last_60: u32,
    pub last_300: u32,
    pub total: u64,
}

/// Of the whole machine.
pub fn pressures() -> Pressures {
    let of = |name: &str| read(&Path::new("/proc/pressure").join(name));
    Pressures { cpu: of("cpu"), memory: of("memory"), io: of("io") }
}

/// Of a cgroup of version 2.
pub(crate) fn of_group(folder: &Path) -> Pressures {
    let of = |name: &str| read(&folder.join(name));
    Pressures { cpu: of("cpu.pressure"), memory: of("memory.pressure"), io: of("io.pressure") }
}

fn read(path: &Path) -> Option<Pressure> {
    parse(&fs::read_to_string(path).ok()?)
}

/// A line for some and one for all; older kernels have no line for all that wait for a CPU.
fn parse(text: &str) -> Option<Pressure> {
    let line = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    let stall = |line: &str| {
        let value = |name: &str| line.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        // Always with two places behind the point.
        let share = |name: &str| value(name)?.replace('.', "").parse().ok();
        Some(Stall {
            last_10: share("avg10")?,
            last_60: share("avg60")?,
            last_300: share("avg300")?,
            total: value("total")?.parse().ok()?,
        })
    };
    Some(Pressure {
        some: line("some").and_then(stall)?,
        full: line("full").and_then(stall).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let some = "some avg10=4.06 avg60=9.36 avg300=12.75 total=26118009775\n";
        let full = "full avg10=0.00 avg60=0.10 avg300=0.02 total=7\n";
        let stall = Stall { last_10: 406, last_60: 936, last_300: 1275, total: 26_118_009_775 };
        let all = Stall { last_10: 0, last_60: 10, last_300: 2, total: 7 };
        for (text, found) in [
            (format!("{some}{full}"), Some(Pressure { some: stall, full: all })),
            (some.to_owned(), Some(Pressure { some: stall, full: Stall::default() })),
            (full.to_owned(), None),
            (String::new(), None),
            ("some avg10=x".to_owned(), None),
        ] {
            assert_eq!(parse(&text), found, "{text}");
        }
    }

    #[test]
    fn what_a_group_does_not_count_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("io.pressure"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n")
            .unwrap();
        let found = of_group(folder.path());
        assert_eq!((found.cpu, found.memory, found.io.unwrap().some.total), (None, None, 3));
    }
}
