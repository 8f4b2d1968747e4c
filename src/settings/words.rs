//! What a person says in one word: of this machine as a node, of a socket, of a time. Each is one word on the command line and one
//! string in the config file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Taint;
use kedge_kinds::Quantity;
use serde::Deserialize;

/// `key=value`; the value may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NodeLabel(pub(crate) String, pub(crate) String);

impl FromStr for NodeLabel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self(key.to_owned(), value.to_owned())),
            _ => Err(format!("{text:?} is not key=value")),
        }
    }
}

/// `key=value:Effect` or `key:Effect`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NodeTaint(pub(crate) Taint);

impl FromStr for NodeTaint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not key=value:NoSchedule, :PreferNoSchedule or :NoExecute");
        let (what, effect) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (key, value) = match what.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (what, None),
        };
        let is_known = matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute");
        if key.is_empty() || !is_known {
            return Err(wrong());
        }
        let (key, effect) = (key.to_owned(), effect.to_owned());
        Ok(Self(Taint { key, value, effect, time_added: None }))
    }
}

/// `cpu=2`, `memory=4Gi`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Amount(pub(crate) String, pub(crate) Quantity);

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not resource=amount, as in memory=4Gi");
        let (name, amount) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
        let amount: Quantity = amount.parse().map_err(|_| wrong())?;
        if amount.is_negative() {
            return Err(wrong());
        }
        Ok(Self(name.to_owned(), amount))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum StoreChoice {
    Embedded,
    Etcd(Vec<String>),
}

impl FromStr for StoreChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "embedded" => Ok(StoreChoice::Embedded),
            Some(("etcd", urls)) if !urls.is_empty() => {
                Ok(StoreChoice::Etcd(urls.split(',').map(str::to_owned).collect()))
            }
            _ => Err(format!("{text:?} is neither `embedded` nor `etcd=URL,…`")),
        }
    }
}

/// A socket on this machine, as a path or as `unix://` and a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Endpoint(pub(crate) PathBuf);

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.strip_prefix("unix://").unwrap_or(text);
        match path.starts_with('/') {
            true => Ok(Self(path.into())),
            false => Err(format!("{text:?} is no socket like unix:///run/containerd/containerd.sock")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum CniChoice {
    Kedge,
    None,
}

impl FromStr for CniChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "kedge" => Ok(CniChoice::Kedge),
            "none" => Ok(CniChoice::None),
            _ => Err(format!("{text:?} is neither `kedge` nor `none`")),
        }
    }
}

/// A time as Kubernetes writes it: `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Life(pub(crate) Duration);

impl FromStr for Life {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        kedge_kinds::duration::parse_positive(text).map(Self).map_err(|error| error.to_string())
    }
}

/// What nobody reads in a log.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Hidden(pub(crate) String);

impl FromStr for Hidden {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Read from a string of the config file.
macro_rules! from_string {
    ($($kind:ty),*) => {$(
        impl TryFrom<String> for $kind {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )*};
}

from_string!(NodeLabel, NodeTaint, Amount, StoreChoice, Endpoint, CniChoice, Life, Hidden);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_node_is_understood_or_refused() {
        assert_eq!("a/b=c=d".parse(), Ok(NodeLabel("a/b".to_owned(), "c=d".to_owned())));
        assert!("=c".parse::<NodeLabel>().is_err() && "a".parse::<NodeLabel>().is_err());
        for (text, key, value, effect) in [
            ("k=v:NoSchedule", "k", Some("v"), "NoSchedule"),
            ("k:NoExecute", "k", None, "NoExecute"),
            ("k=:PreferNoSchedule", "k", Some(""), "PreferNoSchedule"),
        ] {
            let NodeTaint(taint) = text.parse().unwrap();
            assert_eq!((&*taint.key, taint.value.as_deref(), &*taint.effect), (key, value, effect));
        }
        for wrong in ["k=v", "k=v:Never", ":NoSchedule"] {
            assert!(wrong.parse::<NodeTaint>().is_err(), "{wrong}");
        }
        assert_eq!("memory=4Gi".parse::<Amount>().unwrap().1.value(), 4 << 30);
        for wrong in ["cpu", "cpu=x", "=1", "cpu=-1"] {
            assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
        }
    }
}
