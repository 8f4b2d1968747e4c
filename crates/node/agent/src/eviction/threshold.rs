//! How little of something is too little.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use kedge_kinds::Quantity;
use kedge_kinds::quantity::{Format, QuantityError};

use super::Observed;

/// What is watched. The order is the order in which it is looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    Memory,
    NodeDisk,
    NodeInodes,
    ImageDisk,
    ImageInodes,
    Processes,
}

const SIGNALS: [(&str, Signal); 6] = [
    ("memory.available", Signal::Memory),
    ("nodefs.available", Signal::NodeDisk),
    ("nodefs.inodesFree", Signal::NodeInodes),
    ("imagefs.available", Signal::ImageDisk),
    ("imagefs.inodesFree", Signal::ImageInodes),
    ("pid.available", Signal::Processes),
];

const USUAL: &str = "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%";

impl Signal {
    pub(crate) fn name(self) -> &'static str {
        SIGNALS.iter().find(|(_, signal)| *signal == self).map_or("", |(name, _)| name)
    }

    /// The condition of the node.
    pub(crate) fn pressure(self) -> &'static str {
        match self {
            Self::Memory => "MemoryPressure",
            Self::Processes => "PIDPressure",
            Self::NodeDisk | Self::NodeInodes | Self::ImageDisk | Self::ImageInodes => "DiskPressure",
        }
    }

    /// What is short.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
            Self::NodeDisk | Self::ImageDisk => "ephemeral-storage",
            Self::NodeInodes | Self::ImageInodes => "inodes",
        }
    }

    /// How amounts of it are written.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Memory | Self::NodeDisk | Self::ImageDisk => Format::BinarySi,
            Self::NodeInodes | Self::ImageInodes | Self::Processes => Format::DecimalSi,
        }
    }

    pub(crate) fn is_disk(self) -> bool {
        self.pressure() == "DiskPressure"
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Least {
    Amount(Quantity),
    /// In thousandths of a percent of what there is.
    Share(i64),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Threshold {
    pub(crate) signal: Signal,
    pub(crate) least: Least,
    /// For how long it may be passed; none is hard.
    pub(crate) grace: SignedDuration,
}

impl Threshold {
    /// In the unit of what is observed.
    pub(crate) fn amount(&self, observed: &Observed) -> i64 {
        match self.least {
            Least::Amount(amount) => amount.value(),
            Least::Share(share) => {
                let part = i128::from(observed.capacity) * i128::from(share) / 100_000;
                i64::try_from(part).unwrap_or(i64::MAX)
            }
        }
    }

    pub(crate) fn is_passed(&self, observed: &Observed) -> bool {
        observed.available < self.amount(observed)
    }

    pub(crate) fn is_hard(&self) -> bool {
        self.grace.is_zero()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ThresholdError {
    #[error(
        "{0:?} is not a threshold; write memory.available<100Mi, nodefs.available<10% or memory.available<1Gi:90s"
    )]
    Form(String),
    #[error("unsupported eviction signal {0}")]
    Signal(String),
    #[error("eviction threshold {signal} must be positive: {amount}")]
    Negative { signal: String, amount: String },
    #[error("eviction percentage threshold {signal} must be >= 0% and <= 100%: {amount}")]
    Share { signal: String, amount: String },
    #[error("{amount:?} of {signal} is no amount")]
    Amount { signal: String, amount: String, source: QuantityError },
}

/// As people write them: `memory.available<100Mi,nodefs.available<10%`. What may be short for a while says for how long:
/// `memory.available<1Gi:90s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds(Vec<Threshold>);

impl Thresholds {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Threshold> {
        self.0.iter()
    }

    /// Nothing is ever short.
    pub fn none() -> Self {
        Self(Vec::new())
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        USUAL.parse().unwrap_or_else(|_| Self::none())
    }
}

impl FromStr for Thresholds {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let read: Result<Vec<Option<Threshold>>, ThresholdError> = parts.map(threshold).collect();
        Ok(Self(read?.into_iter().flatten().collect()))
    }
}

fn threshold(text: &str) -> Result<Option<Threshold>, ThresholdError> {
    let form = || ThresholdError::Form(text.to_owned());
    let (name, rest) = text.split_once('<').ok_or_else(form)?;
    let (amount, grace) = match rest.split_once(':') {
        Some((amount, grace)) => (amount, grace.trim().parse::<SignedDuration>().map_err(|_| form())?),
        None => (rest, SignedDuration::ZERO),
    };
    let (name, amount) = (name.trim(), amount.trim());
    let found = SIGNALS.iter().find(|(known, _)| *known == name);
    let signal = found.map(|(_, signal)| *signal).ok_or_else(|| ThresholdError::Signal(name.to_owned()))?;
    let told = || (name.to_owned(), amount.to_owned());
    let (signal_, amount_) = told();
    let least = match amount.strip_suffix('%') {
        // Nothing and everything are no thresholds.
        Some("0" | "100") => return Ok(None),
        Some(percent) => match percent.parse::<f64>() {
            #[expect(clippy::cast_possible_truncation, reason = "it is at most a hundred thousand")]
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                Least::Share((percent * 1000.0).round() as i64)
            }
            _ => return Err(ThresholdError::Share { signal: signal_, amount: amount_ }),
        },
        None => {
            let read = amount.parse::<Quantity>();
            let read = read.map_err(|source| ThresholdError::Amount {
                signal: signal_.clone(),
                amount: amount_.clone(),
                source,
            })?;
            if read.is_negative() || read.is_zero() {
                return Err(ThresholdError::Negative { signal: signal_, amount: amount_ });
            }
            Least::Amount(read)
        }
    };
    Ok(Some(Threshold { signal, least, grace }))
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
