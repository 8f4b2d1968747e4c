//! How many healthy pods a budget asks for: a number, or a share of what the pods' controllers want.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// What should be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) pods: i32,
    pub(super) healthy: i32,
    /// Some pods have no controller, so nobody knows how many there should be.
    pub(super) unmanaged: bool,
}

/// What a budget asks for.
pub(super) enum Wants {
    /// Nothing that could be kept to, so nothing is allowed either.
    Nothing,
    /// So many healthy pods, however many there are.
    Pods(i32),
    Share(Share),
}

pub(super) enum Share {
    Available(IntOrString),
    Unavailable(IntOrString),
}

pub(super) fn wants(budget: &PodDisruptionBudget) -> Wants {
    let spec = budget.spec.as_ref();
    let unavailable = spec.and_then(|spec| spec.max_unavailable.clone());
    match (unavailable, spec.and_then(|spec| spec.min_available.clone())) {
        (Some(unavailable), _) => Wants::Share(Share::Unavailable(unavailable)),
        (None, Some(IntOrString::Int(available))) => Wants::Pods(available),
        (None, Some(available)) => Wants::Share(Share::Available(available)),
        (None, None) => Wants::Nothing,
    }
}

impl Share {
    /// Of a scale; parts of pods count as whole ones.
    pub(super) fn of(&self, scale: i32, unmanaged: bool) -> Result<Expected, String> {
        let healthy = match self {
            Self::Available(share) => part(share, scale)?,
            Self::Unavailable(share) => scale.saturating_sub(part(share, scale)?).max(0),
        };
        Ok(Expected { pods: scale, healthy, unmanaged })
    }
}

fn part(share: &IntOrString, whole: i32) -> Result<i32, String> {
    match share {
        IntOrString::Int(number) => Ok(*number),
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|number| number.parse::<i64>().ok());
            let percent = percent.ok_or_else(|| {
                format!("invalid value for IntOrString: invalid type: string is not a percentage: {text:?}")
            })?;
            let part = (i64::from(whole) * percent + 99).div_euclid(100);
            Ok(i32::try_from(part).unwrap_or(i32::MAX))
        }
    }
}
