//! Which of two versions is to be preferred: `v2` before `v1`, `v1` before `v1beta2`, and those with other names last.

use std::cmp::{Ordering, Reverse};

/// The preferred one is the lesser.
pub fn compare(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// How stable, then how new.
fn rank(version: &str) -> Option<(Reverse<u8>, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let number = |text: &str| text.parse().ok().filter(|_| !text.starts_with(['+', '0']) || text == "0");
    for (stage, name) in [(1, "beta"), (2, "alpha")] {
        if let Some((major, minor)) = rest.split_once(name) {
            return Some((Reverse(stage), number(major)?, number(minor)?));
        }
    }
    Some((Reverse(0), number(rest)?, 0))
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn stable_and_new_versions_come_first() {
        let mut versions = [
            "foo10",
            "v1beta1",
            "v10",
            "v2alpha1",
            "foo1",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v2",
        ];
        versions.sort_by(|a, b| compare(a, b));
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v1beta1",
            "v12alpha1",
            "v2alpha1",
            "foo1",
            "foo10",
        ];
        assert_eq!(versions, expected);
    }
}
