//! Cron lines: what they mean and when they fall due. Knows no Kubernetes and reads no clock.

mod error;
mod field;
mod schedule;

pub use error::ScheduleError;
pub use schedule::Schedule;
