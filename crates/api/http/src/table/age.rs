//! Times as people read them: `5m12s`, `3d4h`. Two or three digits that matter, as kubectl's users know them.

use jiff::Timestamp;
use serde_json::Value;

/// How long ago a timestamp was; `<unknown>` where there is none.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    match parse(time) {
        Some(time) => human(now.as_second() - time.as_second()),
        None => "<unknown>".to_owned(),
    }
}

pub(super) fn parse(time: &Value) -> Option<Timestamp> {
    time.as_str()?.parse().ok()
}

/// A number of seconds, in the two largest units that still say something.
pub(super) fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    // Two machines' clocks may differ a little; more than that is a mistake that a person should see.
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds, (MINUTE, 'm'), (1, 's')),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds, (HOUR, 'h'), (MINUTE, 'm')),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds, (DAY, 'd'), (HOUR, 'h')),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds, (YEAR, 'y'), (DAY, 'd')),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// The larger unit and, unless it is zero, the smaller.
fn two(seconds: i64, (large, l): (i64, char), (small, s): (i64, char)) -> String {
    match (seconds / large, seconds % large / small) {
        (whole, 0) => format!("{whole}{l}"),
        (whole, rest) => format!("{whole}{l}{rest}{s}"),
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn durations_read_as_kubectl_users_know_them() {
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (600, "10m"),
            (179 * 60 + 59, "179m"),
            (180 * 60, "3h"),
            (8 * 3600 - 1, "7h59m"),
            (8 * 3600, "8h"),
            (48 * 3600 - 1, "47h"),
            (48 * 3600, "2d"),
            (49 * 3600, "2d1h"),
            (8 * 86_400 - 1, "7d23h"),
            (8 * 86_400, "8d"),
            (730 * 86_400 - 1, "729d"),
            (730 * 86_400, "2y"),
            (731 * 86_400, "2y1d"),
            (8 * 365 * 86_400, "8y"),
        ] {
            assert_eq!(human(seconds), text, "{seconds}");
        }
    }
}
