//! Which of the known names somebody may have meant.

/// The one that takes the fewest letters to get to, if that is few enough not to be another word.
pub(super) fn nearest<'a>(typed: &str, known: &'a [String]) -> Option<&'a str> {
    let allowed = typed.chars().count().max(3) / 3;
    let by_distance = known.iter().map(|name| (distance(typed, name), name));
    by_distance
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| &**name)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let [one, other]: [Vec<char>; 2] = [one, other].map(|text| text.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (to, wanted) in other.iter().enumerate() {
            let mut least =
                (rows[at][to] + usize::from(letter != wanted)).min(rows[at][to + 1] + 1).min(row[to] + 1);
            if at > 0 && to > 0 && one[at - 1] == *wanted && *letter == other[to - 1] {
                least = least.min(rows[at - 1][to - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let known = ["listen", "data-dir", "cluster-cidr", "service-cidr", "node-name"].map(str::to_owned);
        for (typed, meant) in [
            ("lisen", Some("listen")),
            ("listne", Some("listen")),
            ("data_dir", Some("data-dir")),
            ("datadir", Some("data-dir")),
            ("clusterCidr", Some("cluster-cidr")),
            ("nodename", Some("node-name")),
            ("kubelet-arg", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }
}
