//! In which order the fields of each built-in struct are written, and which even when they are not given. Made once.

use std::sync::OnceLock;

use crate::builtin::builtin;
use crate::schema::{Field, ObjectType, Shape, Wire, Zero};

/// Last field first, as they are written backwards.
#[derive(Debug)]
pub(super) struct Plan {
    /// How many fields the struct has.
    pub(super) fields: usize,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    Field {
        /// Among the struct's fields.
        index: usize,
        /// No pointer upstream: its empty value is written.
        always: bool,
    },
    /// Fields that JSON has inline and protobuf in a message of their own, which is there even if they are not.
    Inlined { number: u32, steps: Vec<Step> },
}

/// By the number of the built-in type.
pub(super) fn plans() -> &'static [Plan] {
    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();
    PLANS.get_or_init(|| {
        let plan =
            |(_, object): (_, &ObjectType)| Plan { fields: object.fields.len(), steps: steps(object, &[]) };
        builtin().schemas.types().map(plan).collect()
    })
}

/// The fields that stand in the inlined messages `within`, and deeper ones as messages of their own.
fn steps(object: &ObjectType, within: &[u32]) -> Vec<Step> {
    let mut found: Vec<(u32, Step)> = Vec::new();
    for (index, field) in object.fields.iter().enumerate().filter(|(_, field)| field.tag > 0) {
        let outer = outer(field);
        if outer == within {
            found.push((field.tag, Step::Field { index, always: always(field) }));
        } else if let Some(&number) = outer.strip_prefix(within).and_then(<[u32]>::first)
            && found.iter().all(|(known, _)| *known != number)
        {
            let steps = steps(object, &[within, &[number]].concat());
            found.push((number, Step::Inlined { number, steps }));
        }
    }
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, step)| step).collect()
}

fn always(field: &Field) -> bool {
    // Absent bytes are nil, which differs from empty ones.
    let may_lack = matches!(field.shape, Shape::List(_) | Shape::Map(_) | Shape::Bytes | Shape::Any);
    field.zero != Zero::Keep && !may_lack
}

fn outer(field: &Field) -> &[u32] {
    match &field.wire {
        Wire::Within(numbers) => numbers,
        _ => &[],
    }
}
