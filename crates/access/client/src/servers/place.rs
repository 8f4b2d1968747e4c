//! Where a server is, as people write it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where servers usually are.
const USUAL_PORT: u16 = 6443;

/// `https://host[:port]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Place {
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

impl Place {
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no server like https://10.0.0.1:6443");
        let rest = text.strip_prefix("https://").ok_or_else(wrong)?.trim_end_matches('/');
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or_else(wrong)?,
            None => rest.find(':').map_or((rest, ""), |at| rest.split_at(at)),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| wrong())?,
            None if port.is_empty() => USUAL_PORT,
            None => return Err(wrong()),
        };
        let is_named = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:_".contains(&byte));
        if host.is_empty() || !is_named || port == 0 { Err(wrong()) } else { Ok(Self::new(host, port)) }
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "https://[{}]:{}", self.host, self.port),
            false => write!(f, "https://{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_as_people_write_them() {
        for (text, read) in [
            ("https://10.0.0.1:6443", Some("https://10.0.0.1:6443")),
            ("https://kedge.example/", Some("https://kedge.example:6443")),
            ("https://[fd00::1]:7000", Some("https://[fd00::1]:7000")),
            ("https://[fd00::1]", Some("https://[fd00::1]:6443")),
            ("http://10.0.0.1", None),
            ("10.0.0.1:6443", None),
            ("https://", None),
            ("https://a:x", None),
            ("https://a:0", None),
            ("https://a/b", None),
        ] {
            let shown = text.parse::<Place>().ok().map(|place| place.to_string());
            assert_eq!(shown.as_deref(), read, "{text}");
        }
    }
}
