//! Names for what a controller makes: unlike each other and, in the same situation, the same again. A plan that is carried out
//! twice, because its answer was lost, meets its own objects instead of making more.

/// No vowels, so no words; no characters that look alike.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: usize = 5;
/// The longest base that leaves room for the suffix in a name.
const LONGEST_BASE: usize = 63 - SUFFIX;

/// A name for the `index`th thing that is made out of one situation.
pub fn made(base: &str, situation: &[&str], index: usize) -> String {
    let mut hash = Hash::new();
    situation.iter().for_each(|part| hash.add(part.as_bytes()));
    hash.add(&index.to_le_bytes());
    let base: String = base.chars().take(LONGEST_BASE).collect();
    format!("{base}{}", safe(hash.value(), SUFFIX))
}

/// A number in the letters of a name.
pub fn safe(mut number: u64, length: usize) -> String {
    let mut text = String::with_capacity(length);
    for _ in 0..length {
        let letter = usize::try_from(number % ALPHABET.len() as u64).unwrap_or(0);
        text.push(char::from(ALPHABET.get(letter).copied().unwrap_or(b'x')));
        number /= ALPHABET.len() as u64;
    }
    text
}

/// FNV-1a, finished so that close numbers end far apart: it must give the same in every version of this program.
#[derive(Clone, Copy)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self::new()
    }
}

impl Hash {
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        // The length keeps neighbouring parts apart.
        for byte in bytes.iter().chain(&bytes.len().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn value(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ (mixed >> 33)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_differ_and_come_again() {
        let names = |revision: &str| -> Vec<String> {
            (0..1000).map(|index| made("web-", &["uid", revision], index)).collect()
        };
        assert_eq!(names("1"), names("1"));
        let all: HashSet<String> = names("1").into_iter().chain(names("2")).collect();
        assert!(all.len() > 1998, "{} of 2000 differ", all.len());
        assert!(all.iter().all(|name| name.len() == 9 && name.starts_with("web-")));
        assert_eq!(made(&"x".repeat(80), &[], 0).len(), 63);
    }
}
