//! Amounts as autoscalers count them: in thousandths, whatever they are of.

use kedge_kinds::quantity::{Format, Quantity};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Thousandths of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Amount(pub(crate) i64);

impl Amount {
    /// `None` if it is no quantity.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse::<Quantity>().ok().map(|quantity| Self(quantity.milli_value()))
    }

    /// As a quantity is written, memory in powers of 1,024.
    pub(crate) fn written(self, resource: &str) -> String {
        match resource {
            "memory" if self.0 % 1_000 == 0 => Quantity::of(self.0 / 1_000, Format::BinarySi).to_string(),
            _ => Quantity::of_milli(self.0).to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no quantity")))
    }
}

/// A quantity that stands for a part of one: `50m` is 0.05.
pub(crate) fn part(text: &str) -> Option<f64> {
    let canonical = text.parse::<Quantity>().ok()?.to_string();
    let number = canonical.trim_end_matches(['n', 'u', 'm']);
    let unit = match &canonical[number.len()..] {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        _ => 1.0,
    };
    number.parse::<f64>().ok().map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written_as_quantities() {
        for (text, milli, resource, written) in [
            ("250m", 250, "cpu", "250m"),
            ("1500001n", 2, "cpu", "2m"),
            ("2", 2_000, "cpu", "2"),
            ("64Mi", 67_108_864_000, "memory", "64Mi"),
            ("1k", 1_000_000, "memory", "1k"),
        ] {
            let amount = Amount::parse(text).unwrap();
            assert_eq!(amount.0, milli, "{text}");
            assert_eq!(amount.written(resource), written, "{text}");
        }
        assert_eq!(Amount::parse("much"), None);
        assert_eq!(serde_json::from_str::<Amount>("3").unwrap(), Amount(3_000));
        assert!(serde_json::from_str::<Amount>("[]").is_err());
    }

    #[test]
    fn a_part_may_be_small() {
        for (text, expected) in [("0.05", 0.05), ("50m", 0.05), ("0", 0.0), ("1", 1.0), ("0.0005", 0.0005)] {
            assert!((part(text).unwrap() - expected).abs() < 1e-12, "{text}");
        }
        assert_eq!(part("x"), None);
    }
}
