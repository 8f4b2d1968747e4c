//! What is said while it runs: one line for each event on standard error. Where that is the journal, each line begins with its
//! level as the journal reads it, and leaves the time to it. `KEDGE_LOG` chooses what is said.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

pub(crate) fn begin() {
    let filter = EnvFilter::try_from_env("KEDGE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(page).with_ansi(false);
    match is_read_by_the_journal() {
        true => lines.event_format(Levelled(plain())).init(),
        false => lines.with_target(false).init(),
    }
}

/// A line is written where nothing else is: what shows on a terminal how far something is goes away before it.
fn page() -> io::Stderr {
    kedge_cli::aside();
    io::stderr()
}

fn plain() -> Format<Full, ()> {
    Format::default().without_time().with_level(false).with_target(false).with_ansi(false)
}

/// What a process says last, because it cannot go on: an error in the journal, too.
pub(crate) fn grave(words: &str) -> String {
    match is_read_by_the_journal() {
        true => levelled(words),
        false => words.to_owned(),
    }
}

/// The journal takes each line by itself.
fn levelled(words: &str) -> String {
    let level = urgency(Level::ERROR);
    words.lines().map(|line| format!("<{level}>{line}")).collect::<Vec<_>>().join("\n")
}

/// Whoever connects a service to the journal says to which file, so that one that was directed elsewhere can tell.
fn is_read_by_the_journal() -> bool {
    let told = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    std::fs::metadata("/proc/self/fd/2").is_ok_and(|file| told == format!("{}:{}", file.dev(), file.ino()))
}

struct Levelled(Format<Full, ()>);

impl<S, N> FormatEvent<S, N> for Levelled
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        write!(writer, "<{}>", urgency(*event.metadata().level()))?;
        self.0.format_event(context, writer, event)
    }
}

/// As `syslog` numbers them.
fn urgency(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn the_last_words_are_an_error() {
        assert_eq!(levelled("kedge: cannot listen\nuse another"), "<3>kedge: cannot listen\n<3>use another");
    }

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_journal_learns_the_level_of_each_line() {
        let page = Page::default();
        let written = page.clone();
        let lines = tracing_subscriber::fmt()
            .with_max_level(Level::DEBUG)
            .with_writer(move || page.clone())
            .event_format(Levelled(plain()))
            .finish();
        tracing::subscriber::with_default(lines, || {
            tracing::error!("a");
            tracing::warn!(why = 1, "b");
            tracing::info!("c");
            tracing::debug!("d");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text, "<3>a\n<4>b why=1\n<6>c\n<7>d\n");
    }
}
