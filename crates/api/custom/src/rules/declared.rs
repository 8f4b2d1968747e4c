//! A schema as the expression language reads it.

use kedge_cel::ListKind;

use crate::schema::{Check, List, Schema};

impl kedge_cel::Schema for Schema {
    fn kind(&self) -> &str {
        self.type_name()
    }

    fn format(&self) -> &str {
        let found = self.checks.iter().find_map(|check| match check {
            Check::Format(format) => Some(format.name()),
            _ => None,
        });
        found.unwrap_or_default()
    }

    fn items(&self) -> Option<&dyn kedge_cel::Schema> {
        self.items.as_deref().map(|items| items as _)
    }

    fn properties(&self) -> Vec<(&str, &dyn kedge_cel::Schema)> {
        self.properties.iter().map(|(name, schema)| (&**name, schema as _)).collect()
    }

    fn additional_properties(&self) -> Option<&dyn kedge_cel::Schema> {
        self.each().map(|each| each as _)
    }

    fn required(&self) -> Vec<&str> {
        let names = self.checks.iter().find_map(|check| match check {
            Check::Required(names) => Some(names),
            _ => None,
        });
        names.into_iter().flatten().map(|name| &**name).collect()
    }

    fn enum_strings(&self) -> Vec<&str> {
        let allowed = self.checks.iter().find_map(|check| match check {
            Check::Enum(allowed) => Some(allowed),
            _ => None,
        });
        allowed.into_iter().flatten().filter_map(|one| one.as_str()).collect()
    }

    fn max_length(&self) -> Option<i64> {
        self.checks.iter().find_map(|check| match check {
            Check::MaxLength(max) => Some(*max),
            _ => None,
        })
    }

    fn max_items(&self) -> Option<i64> {
        self.checks.iter().find_map(|check| match check {
            Check::MaxItems(max) => Some(*max),
            _ => None,
        })
    }

    fn max_properties(&self) -> Option<i64> {
        self.checks.iter().find_map(|check| match check {
            Check::MaxProperties(max) => Some(*max),
            _ => None,
        })
    }

    fn has_default(&self) -> bool {
        self.default.is_some()
    }

    fn nullable(&self) -> bool {
        self.nullable
    }

    fn int_or_string(&self) -> bool {
        self.int_or_string
    }

    fn embedded_resource(&self) -> bool {
        self.embedded
    }

    fn list_kind(&self) -> ListKind {
        match &self.list {
            List::Unset | List::Atomic => ListKind::Atomic,
            List::Set => ListKind::Set,
            List::Map(keys) => ListKind::Map(keys.to_vec()),
        }
    }
}
