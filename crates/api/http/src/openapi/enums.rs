//! Which words a field may hold, where only certain ones mean anything. The schema table has no such facts, since
//! nothing but the description of the API needs them: strategies refuse other words in their own way.

use std::collections::HashMap;
use std::sync::LazyLock;

type Words = HashMap<&'static str, HashMap<&'static str, Vec<&'static str>>>;

/// The words that a field of a built-in type may hold.
pub(super) fn words(object: &str, field: &str) -> Option<&'static [&'static str]> {
    static WORDS: LazyLock<Words> = LazyLock::new(|| parse(include_str!("enums.txt")));
    WORDS.get(object.strip_prefix("io.k8s.")?)?.get(field).map(Vec::as_slice)
}

fn parse(table: &'static str) -> Words {
    let mut all = Words::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.split(' ');
        if let (Some(object), Some(field)) = (parts.next(), parts.next()) {
            all.entry(object).or_default().insert(field, parts.map(word).collect());
        }
    }
    all
}

/// `-` stands for the empty word.
fn word(written: &'static str) -> &'static str {
    if written == "-" { "" } else { written }
}
