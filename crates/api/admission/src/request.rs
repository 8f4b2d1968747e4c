//! A write as `AdmissionRequest` describes it: what webhooks are sent and expressions call `request`. Copies no object.

use kedge_kinds::{GroupVersion, Kind};
use kedge_registry::User;
use kedge_registry::gate::Review;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request<'a> {
    pub(crate) uid: &'a str,
    pub(crate) kind: KindName<'a>,
    pub(crate) resource: ResourceName<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) sub_resource: &'a str,
    pub(crate) request_kind: KindName<'a>,
    pub(crate) request_resource: ResourceName<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) namespace: &'a str,
    pub(crate) operation: &'static str,
    pub(crate) user_info: UserInfo<'a>,
    pub(crate) object: Option<&'a Value>,
    pub(crate) old_object: Option<&'a Value>,
    pub(crate) dry_run: bool,
    pub(crate) options: Value,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct KindName<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ResourceName<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct UserInfo<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    extra: &'a std::collections::BTreeMap<String, Vec<String>>,
}

impl<'a> Request<'a> {
    /// `seen`: the version of the kind in which the objects are shown, where that is not the request's own.
    pub(crate) fn of(review: &Review<'a>, uid: &'a str, seen: Option<&'a Kind>) -> Self {
        let (gv, kind) = review.gvk();
        let asked = (named(gv, kind), resource(&review.at.kind));
        let subresource = review.subresource();
        // A subresource that speaks another kind speaks it in every version of its parent.
        let own = review.at.kind.subresource(subresource).is_none_or(|sub| sub.speaks.is_none());
        let shown = match seen {
            Some(seen) if own => (named(&seen.gv, &seen.kind), resource(seen)),
            Some(seen) => (asked.0, resource(seen)),
            None => asked,
        };
        Self {
            uid,
            kind: shown.0,
            resource: shown.1,
            sub_resource: subresource,
            request_kind: asked.0,
            request_resource: asked.1,
            request_sub_resource: subresource,
            name: review.name(),
            namespace: review.namespace(),
            operation: review.operation.name(),
            user_info: UserInfo::of(&review.options.user),
            object: review.object,
            old_object: review.old,
            dry_run: review.options.dry_run,
            options: review.options_object(),
        }
    }
}

impl<'a> UserInfo<'a> {
    fn of(user: &'a User) -> Self {
        Self { username: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra }
    }
}

fn named<'a>(gv: &'a GroupVersion, kind: &'a str) -> KindName<'a> {
    KindName { group: &gv.group, version: &gv.version, kind }
}

fn resource(kind: &Kind) -> ResourceName<'_> {
    ResourceName { group: &kind.gv.group, version: &kind.gv.version, resource: &kind.plural }
}
