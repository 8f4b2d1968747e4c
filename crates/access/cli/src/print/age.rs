//! How long ago something was, in few letters, as kubectl says it.

use jiff::Timestamp;
use serde_json::Value;

/// `5m`, `3h20m`, `2d4h`, `400d`.
pub(crate) fn short(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let with = |whole: i64, unit: &str, rest: i64, smaller: &str| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{smaller}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => with(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => with(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => with(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => with(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

/// The age of what began at a time like `2024-01-31T12:00:00Z`; `<unknown>` if there is none.
pub(crate) fn since(at: &Value, now: Timestamp) -> String {
    seconds(at, now).map_or_else(|| "<unknown>".to_owned(), short)
}

/// The same in seconds.
pub(crate) fn seconds(at: &Value, now: Timestamp) -> Option<i64> {
    Some(now.duration_since(at.as_str()?.parse::<Timestamp>().ok()?).as_secs())
}

#[cfg(test)]
mod tests {
    #[test]
    fn ages_lose_precision_as_they_grow() {
        for (seconds, said) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (-5, "<invalid>"),
        ] {
            assert_eq!(super::short(seconds), said, "{seconds}");
        }
    }
}
