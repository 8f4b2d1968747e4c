//! A PriorityLevelConfiguration: how large a part of the seats it has, what it lends and borrows, and who waits how.

use http::header::HeaderValue;
use serde::Deserialize;

use super::flow::Metadata;

#[derive(Debug, Clone)]
pub(super) struct Level {
    pub(super) name: String,
    pub(super) uid: Option<HeaderValue>,
    /// Its requests never wait.
    pub(super) exempt: bool,
    pub(super) shares: u32,
    /// How much of its seats others may use while it doesn't, in percent.
    pub(super) lendable: u32,
    /// How much it may use of others' beyond its own, in percent of its own; any if it says nothing.
    pub(super) borrows: Option<u32>,
    /// None: who finds no seat is told to come back.
    pub(super) queuing: Option<Queuing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Queuing {
    pub(super) queues: usize,
    /// How many of the queues a flow may choose from.
    pub(super) hand_size: usize,
    pub(super) queue_length_limit: usize,
}

impl Default for Queuing {
    fn default() -> Self {
        Self { queues: 64, hand_size: 8, queue_length_limit: 50 }
    }
}

#[derive(Deserialize)]
struct Stored {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    r#type: String,
    limited: Option<Limited>,
    exempt: Option<Limited>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Limited {
    nominal_concurrency_shares: Option<u32>,
    lendable_percent: u32,
    borrowing_limit_percent: Option<u32>,
    limit_response: Option<Response>,
}

#[derive(Deserialize)]
struct Response {
    r#type: String,
    queuing: Option<Queuing>,
}

impl Level {
    /// `None` for what is no such object, which was never let in.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let Stored { metadata, spec } = serde_json::from_slice(bytes).ok()?;
        let exempt = spec.r#type == "Exempt";
        let (limited, usual) = if exempt { (spec.exempt, 0) } else { (spec.limited, 30) };
        let limited = limited.unwrap_or_default();
        let queuing = match limited.limit_response {
            Some(response) if response.r#type == "Queue" => Some(response.queuing.unwrap_or_default()),
            _ => None,
        };
        Some(Self {
            uid: metadata.uid(),
            name: metadata.name,
            exempt,
            shares: limited.nominal_concurrency_shares.unwrap_or(usual),
            lendable: limited.lendable_percent.min(100),
            borrows: limited.borrowing_limit_percent,
            queuing,
        })
    }

    /// For what no flow takes.
    pub(super) fn rest() -> Self {
        Self {
            name: "catch-all".to_owned(),
            uid: None,
            exempt: false,
            shares: 5,
            lendable: 0,
            borrows: None,
            queuing: None,
        }
    }
}
