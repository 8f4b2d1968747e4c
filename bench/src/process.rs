//! What a server process costs, read from /proc.

use std::fs;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) cpu_us: f64,
    pub(crate) rss_mb: f64,
    /// Highest RSS since the last [`forget_peak`].
    pub(crate) peak_mb: f64,
    pub(crate) written_bytes: u64,
}

/// Zeroes where the process is gone: the measure itself then fails on its requests.
pub(crate) fn cost(pid: u32) -> Cost {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The command name may hold spaces; fields are counted after its closing parenthesis.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    Cost {
        cpu_us: (ticks(11) + ticks(12)) * 10_000.0,
        rss_mb: number_after(&status, "VmRSS:") / 1024.0,
        peak_mb: number_after(&status, "VmHWM:") / 1024.0,
        written_bytes: number_after(&io, "\nwrite_bytes:") as u64,
    }
}

fn number_after(text: &str, name: &str) -> f64 {
    let rest = text.split(name).nth(1).unwrap_or_default();
    rest.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// Makes the kernel count the peak anew; without the right to do so the peak stays the life-time's.
pub(crate) fn forget_peak(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}
