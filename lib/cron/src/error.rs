//! What is wrong with a cron line, in the words of the cron library that Kubernetes uses.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error("expected exactly 5 fields, found {count}: [{fields}]")]
    Fields { count: usize, fields: String },
    #[error("unrecognized descriptor: {0}")]
    Descriptor(String),
    #[error("failed to parse duration {descriptor}: time: invalid duration {length:?}")]
    Length { descriptor: String, length: String },
    #[error("too many hyphens: {0}")]
    Hyphens(String),
    #[error("too many slashes: {0}")]
    Slashes(String),
    #[error("beginning of range ({start}) below minimum ({low}): {part}")]
    TooLow { start: u32, low: u32, part: String },
    #[error("end of range ({end}) above maximum ({high}): {part}")]
    TooHigh { end: u32, high: u32, part: String },
    #[error("beginning of range ({start}) beyond end of range ({end}): {part}")]
    Backwards { start: u32, end: u32, part: String },
    #[error("step of range should be a positive number: {0}")]
    NoStep(String),
    #[error("negative number ({number}) not allowed: {text}")]
    Negative { number: i64, text: String },
    #[error("failed to parse int from {0}: strconv.Atoi: parsing {0:?}: invalid syntax")]
    NoNumber(String),
}
