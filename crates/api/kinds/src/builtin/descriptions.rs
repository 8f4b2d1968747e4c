//! What built-in types and their fields mean, in a line each. Only for people: nothing is decided by it. Read when a
//! document is made and let go with it, because a server that nobody asks needs none of it.

use std::collections::HashMap;

type Fields = HashMap<&'static str, &'static str>;

#[derive(Debug, Default)]
pub struct Descriptions {
    /// What each type is, and its fields.
    types: HashMap<&'static str, (&'static str, Fields)>,
}

impl Descriptions {
    pub fn read() -> Self {
        Self::parse(include_str!("descriptions.txt"))
    }

    fn parse(text: &'static str) -> Self {
        let mut types = HashMap::<_, (&str, Fields)>::new();
        let mut current = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match line.strip_prefix(' ') {
                Some(field) => {
                    if let (Some((name, meaning)), Some((_, fields))) =
                        (field.split_once(' '), types.get_mut(current))
                    {
                        fields.insert(name, meaning);
                    }
                }
                None => {
                    let (name, meaning) = line.split_once(' ').unwrap_or((line, ""));
                    current = name;
                    types.insert(name, (meaning, Fields::new()));
                }
            }
        }
        Self { types }
    }

    /// What a type is, by the name that it is published under.
    pub fn of_type(&self, name: &str) -> Option<&'static str> {
        self.types.get(short(name)).map(|(meaning, _)| *meaning)
    }

    pub fn of_field(&self, name: &str, field: &str) -> Option<&'static str> {
        let of = |name: &str| self.types.get(name).and_then(|(_, fields)| fields.get(field).copied());
        of(short(name)).or_else(|| of("*"))
    }
}

fn short(name: &str) -> &str {
    name.strip_prefix("io.k8s.").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn every_line_is_about_something_that_is_there() {
        let (all, schemas) = (Descriptions::read(), &builtin().schemas);
        assert!(all.types.len() > 100, "{}", all.types.len());
        let scalars = ["Quantity", "IntOrString", "Time", "MicroTime"];
        for (name, (meaning, fields)) in all.types.iter().filter(|(name, _)| **name != "*") {
            assert!(meaning.ends_with('.'), "{name}");
            if scalars.iter().any(|scalar| name.ends_with(&format!(".{scalar}"))) {
                continue;
            }
            let full = format!("io.k8s.{name}");
            let node = schemas.named(&full).and_then(|id| schemas.root(id));
            let object = node.and_then(|node| node.object()).unwrap_or_else(|| panic!("no type {name}"));
            for (field, meaning) in fields {
                assert!(object.fields.iter().any(|known| *known.name == **field), "{name} has no {field}");
                assert!(meaning.ends_with('.'), "{name} {field}");
            }
        }
    }

    #[test]
    fn a_type_without_words_of_its_own_has_those_of_all() {
        let all = Descriptions::read();
        assert_eq!(
            all.of_type("io.k8s.api.core.v1.Pod"),
            Some("One or more containers that run together on one node.")
        );
        assert_eq!(all.of_field("io.k8s.api.core.v1.Pod", "kind"), Some("The kind of this object."));
        assert_eq!(
            all.of_field("io.k8s.api.core.v1.PodSpec", "nodeName").map(|text| text.starts_with("The node")),
            Some(true)
        );
        assert_eq!(all.of_field("io.k8s.api.core.v1.PodSpec", "absent"), None);
    }
}
