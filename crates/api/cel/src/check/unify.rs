//! Whether one type can stand where another is wanted, and what that says about types not yet known.

use std::sync::Arc;

use crate::types::Type;

/// What is known so far of the type variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Unifier {
    bound: Vec<Option<Type>>,
}

/// A signature's type with its parameters renamed to fresh variables.
pub(super) fn shifted(ty: &Type, by: u32) -> Type {
    rebuilt(ty, &|param| Type::Param(param + by))
}

fn rebuilt(ty: &Type, of_param: &dyn Fn(u32) -> Type) -> Type {
    match ty {
        Type::Param(id) => of_param(*id),
        Type::List(item) => Type::list(rebuilt(item, of_param)),
        Type::Map(key, value) => Type::map(rebuilt(key, of_param), rebuilt(value, of_param)),
        Type::Optional(inner) => Type::optional(rebuilt(inner, of_param)),
        Type::Type(inner) => Type::type_of(rebuilt(inner, of_param)),
        other => other.clone(),
    }
}

/// The one of two compatible types that says less.
pub(super) fn most_general(a: Type, b: Type) -> Type {
    if says_no_more(&a, &b) { a } else { b }
}

fn says_no_more(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => says_no_more(a, b),
        (Type::Type(a), Type::Type(b)) => says_no_more(a, b),
        (Type::Map(ak, av), Type::Map(bk, bv)) => says_no_more(ak, bk) && says_no_more(av, bv),
        // Null fits objects, not the other way round.
        (_, Type::Null) => true,
        _ => a == b,
    }
}

impl Unifier {
    /// The first of so many new variables.
    pub(super) fn fresh(&mut self, count: u32) -> u32 {
        let first = self.bound.len() as u32;
        self.bound.resize(self.bound.len() + count as usize, None);
        first
    }

    pub(super) fn variable(&mut self) -> Type {
        Type::Param(self.fresh(1))
    }

    fn binding(&self, id: u32) -> Option<&Type> {
        self.bound.get(id as usize)?.as_ref()
    }

    /// With what is known filled in.
    pub(super) fn substituted(&self, ty: &Type) -> Type {
        match ty {
            Type::List(_) | Type::Map(..) | Type::Optional(_) | Type::Type(_) | Type::Param(_) => {
                rebuilt(ty, &|id| match self.binding(id) {
                    Some(bound) => self.substituted(bound),
                    None => Type::Param(id),
                })
            }
            other => other.clone(),
        }
    }

    /// With what is known filled in and dyn for the rest.
    pub(super) fn settled(&self, ty: &Type) -> Type {
        rebuilt(&self.substituted(ty), &|_| Type::Dyn)
    }

    /// All or nothing: a failed attempt leaves no trace.
    pub(super) fn assign_all(&mut self, found: &[Type], wanted: &[Type]) -> bool {
        let before = self.bound.clone();
        let fits = found.iter().zip(wanted).all(|(found, wanted)| self.fits(found, wanted));
        if !fits {
            self.bound = before;
        }
        fits
    }

    pub(super) fn assign(&mut self, found: &Type, wanted: &Type) -> bool {
        self.assign_all(std::slice::from_ref(found), std::slice::from_ref(wanted))
    }

    fn fits(&mut self, found: &Type, wanted: &Type) -> bool {
        if let Type::Param(id) = wanted {
            match self.bind(*id, found) {
                Bound::Fits => return true,
                Bound::Clashes => return false,
                Bound::Circular => {}
            }
        }
        if let Type::Param(id) = found {
            return matches!(self.bind(*id, wanted), Bound::Fits);
        }
        match (found, wanted) {
            (Type::Dyn | Type::Error, _) | (_, Type::Dyn | Type::Error) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.fits(a, b),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::Map(ak, av), Type::Map(bk, bv)) => self.fits(ak, bk) && self.fits(av, bv),
            (Type::Null, other) | (other, Type::Null) => can_be_null(other),
            _ => found == wanted,
        }
    }

    fn bind(&mut self, id: u32, ty: &Type) -> Bound {
        if matches!(ty, Type::Param(other) if *other == id) {
            return Bound::Fits;
        }
        if let Some(known) = self.binding(id).cloned() {
            if !self.fits(ty, &known) {
                return Bound::Clashes;
            }
            let general = most_general(ty.clone(), known);
            if !self.mentions(&general, id) {
                self.set(id, general);
            }
            return Bound::Fits;
        }
        if self.mentions(ty, id) {
            return Bound::Circular;
        }
        self.set(id, ty.clone());
        Bound::Fits
    }

    fn set(&mut self, id: u32, ty: Type) {
        if let Some(slot) = self.bound.get_mut(id as usize) {
            *slot = Some(ty);
        }
    }

    /// Whether a type leads back to a variable, which would make it endless.
    fn mentions(&self, ty: &Type, id: u32) -> bool {
        let inside = |inner: &Arc<Type>| self.mentions(inner, id);
        match ty {
            Type::Param(other) => {
                *other == id || self.binding(*other).is_some_and(|bound| self.mentions(bound, id))
            }
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => inside(inner),
            Type::Map(key, value) => inside(key) || inside(value),
            _ => false,
        }
    }
}

enum Bound {
    Fits,
    Clashes,
    Circular,
}

/// What upstream's checker lets null stand for.
fn can_be_null(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null | Type::Timestamp | Type::Duration | Type::Object(_) | Type::Optional(_) | Type::Opaque(_)
    )
}
