//! Which time of a schedule is to be met now, and when to look again. Of several that were missed only the latest is met.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::CronJob;
use kedge_cron::Schedule;

/// More missed times than this are a sign that something is wrong.
const MANY: usize = 100;

pub(super) struct Due {
    pub(super) moment: Option<Timestamp>,
    pub(super) too_many: bool,
    pub(super) next: Option<Timestamp>,
    pub(super) zone: TimeZone,
}

impl Due {
    pub(super) fn find(cron: &CronJob, schedule: &Schedule, zone: TimeZone, now: Timestamp) -> Self {
        let met = cron.status.as_ref().and_then(|status| status.last_schedule_time.as_ref());
        let since = met.or(cron.metadata.creation_timestamp.as_ref()).map_or(now, |time| time.0);
        // What is older than the deadline is not made up for.
        let limit = cron.spec.starting_deadline_seconds.map(SignedDuration::from_secs);
        let limit = limit.and_then(|limit| now.checked_sub(limit).ok());
        let from = limit.map_or(since, |limit| limit.max(since));
        let moment = schedule.latest(from, now, &zone);
        let missed = |moment: &Timestamp| schedule.after(*moment, &zone).filter(|next| *next <= now);
        let first = schedule.after(from, &zone).filter(|first| *first <= now);
        let too_many = std::iter::successors(first, missed).take(MANY + 1).count() > MANY;
        // Lines that repeat after a length of time count from when they were last met.
        let next = schedule.after(moment.unwrap_or(since), &zone).filter(|next| *next > now);
        Self { moment, too_many, next: next.or_else(|| schedule.after(now, &zone)), zone }
    }
}
