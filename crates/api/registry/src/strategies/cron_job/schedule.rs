//! The five fields of a schedule: whether they are well formed. Knows no time; when a schedule falls due is another's.

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DESCRIPTORS: &[&str] =
    &["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// What a field may hold.
struct Bounds {
    low: u32,
    high: u32,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { low: 0, high: 59, names: &[] },
    Bounds { low: 0, high: 23, names: &[] },
    Bounds { low: 1, high: 31, names: &[] },
    Bounds { low: 1, high: 12, names: MONTHS },
    Bounds { low: 0, high: 6, names: DAYS },
];

/// `Err` says what is wrong, in the words of the cron library that Kubernetes uses.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let schedule = match schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) {
        Some(rest) => rest.split_once(' ').map_or("", |(_, fields)| fields.trim()),
        None => schedule,
    };
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    fields.iter().zip(&FIELDS).try_for_each(|(field, bounds)| {
        field.split(',').filter(|part| !part.is_empty()).try_for_each(|part| range(part, bounds))
    })
}

fn descriptor(text: &str) -> Result<(), String> {
    if let Some(every) = text.strip_prefix("@every ") {
        return kedge_kinds::duration::parse(every)
            .map(|_| ())
            .map_err(|_| format!("failed to parse duration {text}: time: invalid duration {every:?}"));
    }
    if DESCRIPTORS.contains(&text) { Ok(()) } else { Err(format!("unrecognized descriptor: {text}")) }
}

/// `*`, `5`, `1-5`, `*/2`, `1-30/3`, `mon-fri`
fn range(part: &str, bounds: &Bounds) -> Result<(), String> {
    let mut slashes = part.split('/');
    let (span, step, more) = (slashes.next().unwrap_or_default(), slashes.next(), slashes.next());
    let mut hyphens = span.split('-');
    let (first, last, extra) = (hyphens.next().unwrap_or_default(), hyphens.next(), hyphens.next());
    let (start, end) = if first == "*" || first == "?" {
        (bounds.low, bounds.high)
    } else {
        let start = value(first, bounds)?;
        match (last, extra) {
            (None, _) if step.is_some() => (start, bounds.high),
            (None, _) => (start, start),
            (Some(last), None) => (start, value(last, bounds)?),
            _ => return Err(format!("too many hyphens: {part}")),
        }
    };
    if more.is_some() {
        return Err(format!("too many slashes: {part}"));
    }
    let step = step.map_or(Ok(1), number)?;
    if start < bounds.low {
        return Err(format!("beginning of range ({start}) below minimum ({}): {part}", bounds.low));
    }
    if end > bounds.high {
        return Err(format!("end of range ({end}) above maximum ({}): {part}", bounds.high));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {part}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    Ok(())
}

fn value(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let named = bounds.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    match named.and_then(|at| u32::try_from(at).ok()) {
        Some(at) => Ok(at + bounds.low),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) => {
            u32::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        }
        Err(_) => {
            Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
        }
    }
}
