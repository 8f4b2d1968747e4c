//! CPUs as the kernel lists them: `0-2,5`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// More than any machine has.
const MOST: u32 = 1 << 16;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<u32>);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no list of CPUs: write it as 0-2,5")]
pub struct CpuSetError(String);

impl CpuSet {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    pub(crate) fn with(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    pub(crate) fn common(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }
}

impl From<BTreeSet<u32>> for CpuSet {
    fn from(cpus: BTreeSet<u32>) -> Self {
        Self(cpus)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let wrong = || CpuSetError(text.to_owned());
        let number = |text: &str| text.parse::<u32>().ok().filter(|cpu| *cpu < MOST).ok_or_else(wrong);
        let mut cpus = BTreeSet::new();
        for part in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            match part.split_once('-') {
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(wrong());
                    }
                    cpus.extend(first..=last);
                }
                None => drop(cpus.insert(number(part)?)),
            }
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match rows.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => rows.push((cpu, cpu)),
            }
        }
        for (number, (first, last)) in rows.into_iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;

    fn try_from(text: String) -> Result<Self, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_is_written() {
        for (text, written, count) in [
            ("", "", 0),
            ("0", "0", 1),
            ("0-3", "0-3", 4),
            ("5,0-1,2", "0-2,5", 4),
            (" 7 , 3-4\n", "3-4,7", 3),
        ] {
            let set: CpuSet = text.trim_end().parse().unwrap();
            assert_eq!((set.to_string().as_str(), set.len()), (written, count), "{text:?}");
        }
        for text in ["a", "1-", "-1", "3-1", "0,,1", "99999999"] {
            assert_eq!(text.parse::<CpuSet>(), Err(CpuSetError(text.to_owned())));
        }
    }
}
