//! When pods have to go, and who limits them, as they are written in flags and in the file.

use std::str::FromStr;

use kedge_agent::{Driver, Thresholds};
use serde::Deserialize;

/// `memory.available<100Mi,nodefs.available<10%`; nothing is no threshold at all.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct EvictionHard(pub(crate) Thresholds);

impl FromStr for EvictionHard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|error: kedge_agent::ThresholdError| error.to_string())
    }
}

impl TryFrom<String> for EvictionHard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct CgroupDriver(pub(crate) Driver);

impl FromStr for CgroupDriver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "cgroupfs" => Ok(Self(Driver::Cgroupfs)),
            "systemd" => Ok(Self(Driver::Systemd)),
            _ => Err(format!("{text:?} is neither cgroupfs nor systemd")),
        }
    }
}

/// Whether containers may have CPUs to themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CpuManager {
    None,
    Static,
}

impl FromStr for CpuManager {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "static" => Ok(Self::Static),
            _ => Err(format!("{text:?} is neither none nor static")),
        }
    }
}

impl TryFrom<String> for CgroupDriver {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
