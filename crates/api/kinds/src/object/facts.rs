//! Reads name, labels and a few chosen fields out of JSON bytes and skips the rest. Selecting among ten thousand pods costs
//! a scan of their bytes and next to no memory.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What was asked for of one object.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts<'b> {
    pub name: Cow<'b, str>,
    pub namespace: Cow<'b, str>,
    pub uid: Cow<'b, str>,
    pub labels: Vec<(Cow<'b, str>, Cow<'b, str>)>,
    /// The wanted fields that the object has, by their place in what was wanted.
    fields: Vec<(usize, Cow<'b, str>)>,
}

#[derive(Debug, thiserror::Error)]
#[error("the stored object is no JSON object: {0}")]
pub struct FactsError(#[from] serde_json::Error);

impl<'b> Facts<'b> {
    /// `wanted` are paths of scalars such as `spec.nodeName`.
    pub fn read(bytes: &'b [u8], wanted: &[&str]) -> Result<Self, FactsError> {
        let mut facts = Self::default();
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        Walk { facts: &mut facts, wanted, prefix: "" }.deserialize(&mut deserializer)?;
        Ok(facts)
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
    }

    /// The text of the field at that place in `wanted`.
    pub fn field(&self, at: usize) -> Option<&str> {
        self.fields.iter().find(|(place, _)| *place == at).map(|(_, text)| &**text)
    }
}

/// A text that borrows from the input unless it has escapes.
struct Text<'b>(Cow<'b, str>);

impl<'de: 'b, 'b> Deserialize<'de> for Text<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

struct Walk<'a, 'b> {
    facts: &'a mut Facts<'b>,
    wanted: &'a [&'a str],
    /// The path walked so far.
    prefix: &'a str,
}

impl<'a> Walk<'a, '_> {
    /// The place of a wanted path, and whether longer wanted paths go through this one.
    fn interest(&self, path: &str) -> (Option<usize>, bool) {
        let leaf = self.wanted.iter().position(|wanted| *wanted == path);
        let is_above = |wanted: &&str| wanted.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        let branch = path == "metadata" || path == "metadata.labels" || self.wanted.iter().any(is_above);
        (leaf, branch)
    }
}

impl<'de: 'b, 'b> DeserializeSeed<'de> for Walk<'_, 'b> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'b, 'b> Visitor<'de> for Walk<'_, 'b> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = entries.next_key::<Text<'de>>()? {
            if self.prefix == "metadata.labels" {
                if let Scalar(Some(value)) = entries.next_value()? {
                    self.facts.labels.push((key, value));
                }
                continue;
            }
            let joined;
            let path = if self.prefix.is_empty() {
                &*key
            } else {
                joined = format!("{}.{key}", self.prefix);
                &joined
            };
            let known = matches!(path, "metadata.name" | "metadata.namespace" | "metadata.uid");
            let (leaf, branch) = self.interest(path);
            if known || leaf.is_some() {
                let Scalar(Some(text)) = entries.next_value()? else { continue };
                if let Some(place) = leaf {
                    self.facts.fields.push((place, text.clone()));
                }
                match path {
                    "metadata.name" => self.facts.name = text,
                    "metadata.namespace" => self.facts.namespace = text,
                    "metadata.uid" => self.facts.uid = text,
                    _ => {}
                }
            } else if branch {
                entries.next_value_seed(Walk {
                    facts: &mut *self.facts,
                    wanted: self.wanted,
                    prefix: path,
                })?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    // Where a map was expected there is something else: nothing to find in it.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// A scalar as text; anything else is none.
struct Scalar<'b>(Option<Cow<'b, str>>);

impl<'de: 'b, 'b> Deserialize<'de> for Scalar<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;
        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = Scalar<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(Cow::Owned(text.to_owned()))))
            }

            fn visit_bool<E: Error>(self, truth: bool) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(Cow::Borrowed(if truth { "true" } else { "false" }))))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(Cow::Owned(number.to_string()))))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(Cow::Owned(number.to_string()))))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(Cow::Owned(number.to_string()))))
            }

            fn visit_unit<E: Error>(self) -> Result<Scalar<'de>, E> {
                Ok(Scalar(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scalar<'de>, A::Error> {
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar<'de>, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}
