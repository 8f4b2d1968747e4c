//! A number of pods that is given as such or as a part of all of them.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// As many pods as given; what is not whole counts as one more.
pub fn up(given: Option<&IntOrString>, all: i32) -> i32 {
    of(given, all, f64::ceil)
}

/// As many pods as given; what is not whole does not count.
pub fn down(given: Option<&IntOrString>, all: i32) -> i32 {
    of(given, all, f64::floor)
}

fn of(given: Option<&IntOrString>, all: i32, round: fn(f64) -> f64) -> i32 {
    match given {
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(text)) => {
            let percent: f64 = text.trim_end_matches('%').parse().unwrap_or(0.0);
            #[expect(clippy::cast_possible_truncation, reason = "a share of an i32 is one")]
            let pods = round(percent * f64::from(all) / 100.0) as i32;
            pods
        }
        None => 0,
    }
}
