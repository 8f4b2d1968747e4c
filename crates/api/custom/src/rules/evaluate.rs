//! Asks the rules about an object, part by part, until the budget is spent.

use kedge_cel::{Budget, EvalError, PER_CALL_LIMIT, Value as Cel};
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::{Compiled, Ready, Rule};
use crate::correlate::Old;
use crate::place::Place;
use crate::schema::{Schema, Type};

/// What all rules together may cost in one request.
const REQUEST_LIMIT: u64 = 10_000_000;
const LONGEST_MESSAGE: usize = 5 * 1024;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Everything that rules say about a value. `whole` says that it is an object with its own metadata.
pub(crate) fn check(
    schema: &Schema,
    whole: bool,
    value: &Value,
    old: Option<&Value>,
    place: &Place<'_>,
    errors: &mut Errors,
) {
    if !schema.ruled {
        return;
    }
    let past = Past { here: old.map(|old| (Old { value: old, schema }, value)), above: None };
    // A walk that stopped has said why.
    let _ = Walk { left: REQUEST_LIMIT, errors }.node(schema, whole, value, old, past, place);
}

/// The budget is spent: nothing more is asked.
struct Stop;

/// What a part was before, or the nearest part around it that can be told.
#[derive(Clone, Copy)]
struct Past<'o> {
    here: Option<(Old<'o>, &'o Value)>,
    above: Option<(Old<'o>, &'o Value)>,
}

impl<'o> Past<'o> {
    /// What is wrong was so before, and did not change.
    fn excuses(&self) -> bool {
        self.here.or(self.above).is_some_and(|(old, new)| old.equals(new))
    }

    fn key(self, name: &str, new: &'o Value) -> Self {
        let Some((old, _)) = self.here else { return self };
        // The names of the type are those of the request: there is no older version to excuse with.
        if self.above.is_none() && matches!(name, "apiVersion" | "kind") {
            return Past { here: None, above: None };
        }
        Past { here: old.key(name).map(|old| (old, new)), above: self.here }
    }

    fn item(self, at: usize, new: &'o Value) -> Self {
        let Some((old, _)) = self.here else { return self };
        Past { here: old.item(at, new).map(|old| (old, new)), above: self.here }
    }
}

struct Walk<'e> {
    left: u64,
    errors: &'e mut Errors,
}

impl Walk<'_> {
    fn node<'o>(
        &mut self,
        schema: &'o Schema,
        whole: bool,
        value: &'o Value,
        old: Option<&'o Value>,
        past: Past<'o>,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        // Whether a value may be null is for the rules of what it stands in.
        if value.is_null() || !schema.ruled {
            return Ok(());
        }
        if let Some(set) = &schema.rules {
            let ready = set.ready(schema, whole);
            self.rules(schema, &set.rules, ready, value, old.filter(|old| !old.is_null()), past, place)?;
        }
        match value {
            Value::Array(items) => {
                let Some(each) = schema.items.as_deref().filter(|each| each.ruled) else { return Ok(()) };
                for (at, item) in items.iter().enumerate() {
                    let before = old.and_then(|old| Old { value: old, schema }.item(at, item));
                    let before = before.map(|old| old.value);
                    self.node(each, each.embedded, item, before, past.item(at, item), &place.item(at))?;
                }
            }
            Value::Object(fields) => {
                if let Some(each) = schema.each().filter(|each| each.ruled) {
                    for (name, field) in fields {
                        let before = old.and_then(|old| old.get(name));
                        let past = past.key(name, field);
                        self.node(each, each.embedded, field, before, past, &place.entry(name))?;
                    }
                }
                for (name, property) in schema.properties.iter().filter(|(_, property)| property.ruled) {
                    let Some(field) = fields.get(&**name) else { continue };
                    let before = old.and_then(|old| old.get(&**name));
                    let past = past.key(name, field);
                    self.node(property, property.embedded, field, before, past, &place.field(name))?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one node with its past and its place")]
    fn rules<'o>(
        &mut self,
        schema: &'o Schema,
        rules: &'o [Rule],
        ready: &'o Ready,
        value: &'o Value,
        old: Option<&'o Value>,
        past: Past<'o>,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        let Some(decl) = &ready.decl else { return Ok(()) };
        let typed = |said: &str, errors: &mut Errors| {
            errors.invalid(&Path::root(&place.keyed()), &schema.type_name().into(), said);
        };
        if self.left == 0 {
            typed(OUT_OF_BUDGET, self.errors);
            return Err(Stop);
        }
        for (rule, compiled) in rules.iter().zip(&ready.compiled) {
            let program = match &compiled.program {
                None => continue,
                Some(Err(why)) => {
                    typed(&format!("rule compile error: {why}"), self.errors);
                    continue;
                }
                Some(Ok(program)) => program,
            };
            // A rule about changes has nothing to say about what is new.
            if compiled.uses_old && old.is_none() && !rule.optional_old {
                continue;
            }
            let variables = || -> Result<Vec<(&'o str, Cel<'o>)>, EvalError> {
                let mut variables = vec![("self", Cel::declared(value, decl)?)];
                if compiled.uses_old {
                    let before = old.map(|old| Cel::declared(old, decl)).transpose()?;
                    match (before, rule.optional_old) {
                        (Some(before), true) => variables.push(("oldSelf", Cel::some(before))),
                        (None, true) => variables.push(("oldSelf", Cel::none())),
                        (Some(before), false) => variables.push(("oldSelf", before)),
                        (None, false) => {}
                    }
                }
                Ok(variables)
            };
            let mut budget = Budget::new(PER_CALL_LIMIT);
            let result = variables().and_then(|variables| program.eval(&variables, &mut budget));
            if self.spend(budget.spent()).is_err() {
                typed(OUT_OF_BUDGET, self.errors);
                return Err(Stop);
            }
            match result.map(|value| value.as_bool()) {
                Ok(Some(true)) => continue,
                Ok(_) => {}
                Err(why @ (EvalError::NoSuchOverload | EvalError::NotBool)) => {
                    let said = format!(
                        "'{why}': call arguments did not match a supported operator, function or macro signature for \
                         rule: {}",
                        rule.called()
                    );
                    typed(&said, self.errors);
                    continue;
                }
                Err(why @ EvalError::CostExceeded) => {
                    let said = format!(
                        "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                        rule.called()
                    );
                    typed(&said, self.errors);
                    return Err(Stop);
                }
                Err(why) => {
                    typed(&format!("{why} evaluating rule: {}", rule.called()), self.errors);
                    continue;
                }
            }
            let excused = !compiled.uses_old && past.excuses();
            let said = match self.message(rule, compiled, || variables().ok()) {
                Ok(said) => said,
                Err((said, stop)) => {
                    if !excused {
                        typed(&said, self.errors);
                    }
                    return Err(stop);
                }
            };
            if !excused {
                self.violated(schema, rule, compiled, value, &said, place);
            }
        }
        Ok(())
    }

    fn spend(&mut self, cost: u64) -> Result<(), Stop> {
        self.left = self.left.checked_sub(cost).ok_or(Stop)?;
        Ok(())
    }

    /// What is to be said about a violation. An expression that fails to say it is as good as none.
    fn message<'o>(
        &mut self,
        rule: &Rule,
        compiled: &'o Compiled,
        variables: impl Fn() -> Option<Vec<(&'o str, Cel<'o>)>>,
    ) -> Result<String, (String, Stop)> {
        if let Some(Ok(program)) = &compiled.message
            && let Some(variables) = variables()
        {
            let mut budget = Budget::new(PER_CALL_LIMIT);
            let result = program.eval(&variables, &mut budget);
            if self.spend(budget.spent()).is_err() {
                let said = "messageExpression evaluation failed due to running out of cost budget, no further \
                     validation rules will be run";
                return Err((said.to_owned(), Stop));
            }
            if let Err(EvalError::CostExceeded) = result {
                let said = format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {:?}",
                    rule.message_expression
                );
                return Err((said, Stop));
            }
            let result = result.ok();
            let said = result.as_ref().and_then(|value| value.as_str()).unwrap_or_default().trim();
            if !said.is_empty() && said.len() <= LONGEST_MESSAGE && !said.contains('\n') {
                return Ok(said.to_owned());
            }
        }
        Ok(match rule.message.is_empty() {
            true => format!("failed rule: {}", rule.called()),
            false => rule.message.trim().to_owned(),
        })
    }

    fn violated(
        &mut self,
        schema: &Schema,
        rule: &Rule,
        compiled: &Compiled,
        value: &Value,
        said: &str,
        place: &Place<'_>,
    ) {
        let printed = match (place, &compiled.place) {
            (place, None) => place.keyed(),
            (Place::Root, Some(below)) => below.to_string(),
            (place, Some(below)) => format!("{}.{below}", place.keyed()),
        };
        let path = Path::root(&printed);
        let large = matches!(schema.kind, Some(Type::Object | Type::Array));
        match (&*rule.reason, large) {
            ("FieldValueForbidden", _) => self.errors.forbidden(&path, said),
            ("FieldValueRequired", _) => self.errors.required(&path, said),
            ("FieldValueDuplicate", true) => self.errors.duplicate_unshown(&path),
            ("FieldValueDuplicate", false) => self.errors.duplicate(&path, value),
            (_, true) => self.errors.invalid_unshown(&path, said),
            (_, false) => self.errors.invalid(&path, value, said),
        }
    }
}
