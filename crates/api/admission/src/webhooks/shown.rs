//! The objects of a request in the version in which a webhook wants to see them.

use kedge_kinds::{Kind, Status};
use kedge_registry::gate::Review;
use serde_json::Value;

pub(crate) struct Shown<'k> {
    /// The version, if it is not the request's own.
    pub(crate) seen: Option<&'k Kind>,
    object: Option<Value>,
    old: Option<Value>,
}

impl<'k> Shown<'k> {
    pub(crate) async fn new(review: &Review<'_>, kind: &'k Kind) -> Result<Self, Status> {
        let seen = Some(kind).filter(|kind| kind.gv != review.at.kind.gv);
        let part = review.at.kind.subresource(review.subresource());
        // A Scale is a Scale in every version of what it scales.
        let own = part.is_none_or(|part| part.speaks.is_none());
        let mut shown = Self { seen, object: None, old: None };
        if seen.is_some() && own {
            shown.object = converted(review, kind, review.object).await?;
            shown.old = converted(review, kind, review.old).await?;
        }
        Ok(shown)
    }

    pub(crate) fn review<'a>(&'a self, review: &Review<'a>) -> Review<'a> {
        Review {
            object: self.object.as_ref().or(review.object),
            old: self.old.as_ref().or(review.old),
            ..*review
        }
    }
}

async fn converted(
    review: &Review<'_>,
    kind: &Kind,
    object: Option<&Value>,
) -> Result<Option<Value>, Status> {
    let Some(object) = object else { return Ok(None) };
    review.registry.in_version(&review.at.kind, kind, object.clone()).await.map(Some)
}
