//! Fields that an apply wants to change and that others own: finding them and saying so. Knows no schema.

use kedge_kinds::status::{Cause, Details, Reason, Status};

use super::element;
use super::fields::FieldSet;
use super::managed::Operation;
use super::managed::entry::{Entries, Entry};

#[derive(Debug)]
pub(super) struct Conflict {
    /// The other manager as messages name it.
    manager: String,
    path: Vec<String>,
}

impl Conflict {
    pub(super) fn steps(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    fn field(&self) -> String {
        element::print_path(&self.steps())
    }
}

pub(super) fn find(entries: &Entries, changed: &FieldSet) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    for entry in entries.iter() {
        let manager = name(entry);
        for path in entry.fields.intersection(changed).paths() {
            let path = path.into_iter().map(str::to_owned).collect();
            conflicts.push(Conflict { manager: manager.clone(), path });
        }
    }
    // Kubernetes prints managers in order; their fields come in the order of the set.
    conflicts.sort_by(|one, other| one.manager.cmp(&other.manager));
    conflicts
}

fn name(entry: &Entry) -> String {
    let mut name = format!("{:?}", entry.manager);
    if !entry.subresource.is_empty() {
        name.push_str(&format!(" with subresource {:?}", entry.subresource));
    }
    if entry.operation == Operation::Update {
        name.push_str(&format!(" using {}", entry.api_version));
    }
    name
}

pub(super) fn status(conflicts: &[Conflict]) -> Status {
    let message = match conflicts {
        [one] => format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, one.field()),
        several => {
            let mut lines = Vec::new();
            let mut manager = None;
            for conflict in several {
                if manager != Some(&conflict.manager) {
                    lines.push(format!("conflicts with {}:", conflict.manager));
                    manager = Some(&conflict.manager);
                }
                lines.push(format!("- {}", conflict.field()));
            }
            format!("Apply failed with {} conflicts: {}", several.len(), lines.join("\n"))
        }
    };
    let causes = conflicts
        .iter()
        .map(|conflict| Cause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", conflict.manager),
            field: conflict.field(),
        })
        .collect();
    Status::new(409, Reason::Conflict, message).with(Details { causes, ..Details::default() })
}
