//! What the kernel tells of the whole machine and of a process' network.

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;

/// In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub total: u64,
    pub free: u64,
    pub inactive_file: u64,
    pub anonymous: u64,
    pub swap_total: u64,
    pub swap_free: u64,
}

/// Threads of the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub now: u64,
    pub most: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub received: Traffic,
    pub sent: Traffic,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub bytes: u64,
    pub packets: u64,
    pub errors: u64,
    pub dropped: u64,
}

pub fn memory() -> io::Result<Memory> {
    Ok(read_memory(&fs::read_to_string("/proc/meminfo")?))
}

fn read_memory(text: &str) -> Memory {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kibibytes.unwrap_or(0) * 1024
    };
    Memory {
        total: bytes("MemTotal"),
        free: bytes("MemFree"),
        inactive_file: bytes("Inactive(file)"),
        anonymous: bytes("AnonPages"),
        swap_total: bytes("SwapTotal"),
        swap_free: bytes("SwapFree"),
    }
}

pub fn counts() -> io::Result<Counts> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let most = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let limits = [most("/proc/sys/kernel/pid_max"), most("/proc/sys/kernel/threads-max")];
    Ok(Counts { now: threads(&text), most: limits.into_iter().flatten().min().unwrap_or(u64::MAX) })
}

/// The fourth word is how many run of how many there are.
fn threads(loadavg: &str) -> u64 {
    let word = loadavg.split_whitespace().nth(3).and_then(|word| word.split_once('/'));
    word.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

/// The interfaces that a process sees, without the one to itself.
pub fn interfaces(pid: u32) -> io::Result<Vec<Interface>> {
    Ok(read_interfaces(&fs::read_to_string(format!("/proc/{pid}/net/dev"))?))
}

fn read_interfaces(text: &str) -> Vec<Interface> {
    let rows = text.lines().filter_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers.split_whitespace().map_while(|number| number.parse().ok()).collect();
        let [
            received,
            packets,
            errors,
            dropped,
            _,
            _,
            _,
            _,
            sent,
            sent_packets,
            sent_errors,
            sent_dropped,
            ..,
        ] = numbers[..]
        else {
            return None;
        };
        Some(Interface {
            name: name.trim().to_owned(),
            received: Traffic { bytes: received, packets, errors, dropped },
            sent: Traffic { bytes: sent, packets: sent_packets, errors: sent_errors, dropped: sent_dropped },
        })
    });
    rows.filter(|interface| interface.name != "lo").collect()
}

/// Whether two processes have the same network.
pub fn shares_network_with(one: &str, other: &str) -> bool {
    let network = |pid: &str| fs::read_link(Path::new("/proc").join(pid).join("ns/net")).ok();
    network(one).is_some_and(|found| Some(found) == network(other))
}

/// When the machine was started.
pub fn boot() -> Option<Timestamp> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let second = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Timestamp::from_second(second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        let text = "MemTotal:       100 kB\nMemFree:  40 kB\nInactive(file):   7 kB\nAnonPages: 9 kB\nSwapTotal: 0 kB\n";
        let expected = Memory {
            total: 102_400,
            free: 40_960,
            inactive_file: 7168,
            anonymous: 9216,
            ..Memory::default()
        };
        assert_eq!(read_memory(text), expected);
        assert_eq!(threads("0.00 0.01 0.05 2/345 6789\n"), 345);
        assert_eq!(threads(""), 0);
        let text = "Inter-|   Receive  |  Transmit\n face |bytes    packets\n    lo:     1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  \
                    eth0: 10 2 3 4 0 0 0 0 50 6 7 8 0 0 0 0\nshort: 1 2\n";
        let found = read_interfaces(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name, "eth0");
        assert_eq!(found[0].received, Traffic { bytes: 10, packets: 2, errors: 3, dropped: 4 });
        assert_eq!(found[0].sent, Traffic { bytes: 50, packets: 6, errors: 7, dropped: 8 });
    }

    #[test]
    fn this_machine_answers() {
        let (memory, counts) = (memory().unwrap(), counts().unwrap());
        assert!(memory.total > memory.free && memory.free > 0, "{memory:?}");
        assert!(counts.now > 0 && counts.most > counts.now, "{counts:?}");
        assert!(boot().is_some());
        assert!(shares_network_with("self", "self"));
    }
}
