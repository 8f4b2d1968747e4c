//! What a client wants of a log: the options of `kubectl logs`, checked.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};

use crate::answer::Refusal;
use crate::call::Query;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) follow: bool,
    pub(crate) previous: bool,
    pub(crate) timestamps: bool,
    pub(crate) since: Option<Timestamp>,
    /// Whole lines from the end.
    pub(crate) tail: Option<u64>,
    /// Bytes in all.
    pub(crate) limit: Option<u64>,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            follow: false,
            previous: false,
            timestamps: false,
            since: None,
            tail: None,
            limit: None,
            stdout: true,
            stderr: true,
        }
    }
}

impl Wanted {
    pub(crate) fn of(query: &Query, now: Timestamp) -> Result<Self, Refusal> {
        let invalid = || Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, r#"{"message": "Invalid request."}"#);
        let tail = match query.get("tail") {
            Some("all") => None,
            Some(_) => query.parsed::<i64>("tail")?,
            None => query.parsed::<i64>("tailLines")?,
        };
        let tail = tail.map(u64::try_from).transpose().map_err(|_| invalid())?;
        let limit = query.parsed::<i64>("limitBytes")?;
        if limit.is_some_and(|limit| limit < 1) {
            return Err(invalid());
        }
        let seconds = query.parsed::<i64>("sinceSeconds")?;
        let time = query.parsed::<Timestamp>("sinceTime")?;
        let since = match (seconds, time) {
            (Some(_), Some(_)) => return Err(invalid()),
            (Some(seconds), None) if seconds < 1 => return Err(invalid()),
            (Some(seconds), None) => {
                Some(now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN))
            }
            (None, time) => time,
        };
        let (stdout, stderr) = match query.get("stream") {
            None | Some("" | "All") => (true, true),
            // Which lines of a stream are the last is not known without reading all of them.
            Some("Stdout" | "Stderr") if tail.is_some() => return Err(invalid()),
            Some("Stdout") => (true, false),
            Some("Stderr") => (false, true),
            Some(_) => return Err(invalid()),
        };
        Ok(Self {
            follow: query.is_set("follow"),
            previous: query.is_set("previous"),
            timestamps: query.is_set("timestamps"),
            since,
            tail,
            limit: limit.and_then(|limit| u64::try_from(limit).ok()),
            stdout,
            stderr,
        })
    }
}
