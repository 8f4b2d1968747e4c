use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodStatus;
use kedge_clock::Clock;
use kedge_runtime::wire::{Container, ContainerMetadata, ContainerState};
use serde_json::json;
use tokio::sync::mpsc;

use super::Wanted;
use super::choose::choose;
use super::follow::{Reading, Writing};
use super::line::{Printer, parse};
use super::rotate::stamped;
use super::segments::aside;
use super::tail::{Start, start_of_last};
use crate::call::Query;

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn options_are_checked() {
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let usual = Wanted::default();
    for (query, wanted) in [
        ("", Ok(usual.clone())),
        ("follow=true&timestamps=true", Ok(Wanted { follow: true, timestamps: true, ..usual.clone() })),
        ("follow=false&previous=1", Ok(Wanted { previous: true, ..usual.clone() })),
        ("tailLines=0", Ok(Wanted { tail: Some(0), ..usual.clone() })),
        ("tail=all", Ok(usual.clone())),
        (
            "sinceSeconds=5",
            Ok(Wanted { since: Some("2026-01-02T03:04:00Z".parse().unwrap()), ..usual.clone() }),
        ),
        (
            "sinceTime=2026-01-02T03:04:00%2B01:00",
            Ok(Wanted { since: Some("2026-01-02T02:04:00Z".parse().unwrap()), ..usual.clone() }),
        ),
        ("limitBytes=7&stream=Stderr", Ok(Wanted { limit: Some(7), stdout: false, ..usual })),
        ("tailLines=-1", Err(422)),
        ("limitBytes=0", Err(422)),
        ("sinceSeconds=0", Err(422)),
        ("sinceSeconds=1&sinceTime=2026-01-02T03:04:00Z", Err(422)),
        ("stream=Stdout&tailLines=1", Err(422)),
        ("stream=all", Err(422)),
        ("tailLines=many", Err(400)),
    ] {
        let found = Wanted::of(&Query::parse(query), now).map_err(|refusal| refusal.status.as_u16());
        assert_eq!(found, wanted, "{query}");
    }
}

fn made(id: &str, attempt: u32, state: ContainerState) -> Container {
    let metadata = ContainerMetadata { name: "c".to_owned(), attempt };
    Container { id: id.to_owned(), metadata: Some(metadata), state: state.into(), ..Container::default() }
}

#[test]
fn the_right_container_is_chosen_or_it_is_said_why_none_is() {
    let waiting = |reason: &str| json!([{"name": "c", "state": {"waiting": {"reason": reason}}}]);
    let restarted = json!([{"name": "c", "state": {"running": {}}, "containerID": "x://b",
        "lastState": {"terminated": {"containerID": "x://a"}}}]);
    let running = vec![made("b", 1, ContainerState::Running), made("a", 0, ContainerState::Exited)];
    for (case, statuses, made, previous, chosen) in [
        ("one that runs", restarted.clone(), running.clone(), false, Ok("b")),
        ("the one before", restarted.clone(), running.clone(), true, Ok("a")),
        ("the one before, and it is no longer there", restarted, running[..1].to_vec(), true, Ok("x://a")),
        ("the one before, told late", waiting("ContainerCreating"), running.clone(), true, Ok("a")),
        ("told late", waiting("ContainerCreating"), running, false, Ok("b")),
        (
            "the first has none before it",
            waiting("ContainerCreating"),
            vec![made("a", 0, ContainerState::Running)],
            true,
            Err("previous terminated container \"c\" in pod \"p\" not found"),
        ),
        (
            "not yet started",
            waiting("ContainerCreating"),
            vec![made("a", 0, ContainerState::Created)],
            false,
            Err("container \"c\" in pod \"p\" is waiting to start: ContainerCreating"),
        ),
        (
            "no image",
            waiting("ErrImagePull"),
            vec![],
            false,
            Err("container \"c\" in pod \"p\" is waiting to start: image can't be pulled"),
        ),
        (
            "no image for long",
            waiting("ImagePullBackOff"),
            vec![],
            false,
            Err("container \"c\" in pod \"p\" is waiting to start: trying and failing to pull image"),
        ),
        ("nobody knows", json!([]), vec![], false, Err("container \"c\" in pod \"p\" is not available")),
        (
            "no state",
            json!([{"name": "c"}]),
            vec![],
            false,
            Err("container \"c\" in pod \"p\" is waiting to start - no logs yet"),
        ),
        (
            "ended and removed",
            json!([{"name": "c", "state": {"terminated": {"containerID": "x://a"}}}]),
            vec![],
            false,
            Ok("x://a"),
        ),
        (
            "ended without ever being",
            json!([{"name": "c", "state": {"terminated": {}}}]),
            vec![],
            false,
            Err("container \"c\" in pod \"p\" is terminated"),
        ),
    ] {
        let mut statuses = statuses;
        for status in statuses.as_array_mut().unwrap() {
            for (field, usual) in [
                ("ready", json!(false)),
                ("restartCount", json!(0)),
                ("image", json!("")),
                ("imageID", json!("")),
            ] {
                status[field] = usual;
            }
            for state in ["/state/terminated", "/lastState/terminated"] {
                if let Some(ended) = status.pointer_mut(state) {
                    ended["exitCode"] = json!(0);
                }
            }
        }
        let status: PodStatus = serde_json::from_value(json!({"containerStatuses": statuses})).unwrap();
        let found = choose("p", &status, "c", &made, previous);
        assert_eq!(found, chosen.map(str::to_owned).map_err(str::to_owned), "{case}");
    }
}

const LOG: &str = "\
2026-01-02T03:04:05.1Z stdout F one
2026-01-02T03:04:06Z stderr F two
2026-01-02T03:04:07.123456789+01:00 stdout P thr
2026-01-02T03:04:08.5Z stderr F between
2026-01-02T03:04:09.5Z stdout F ee
no line at all
2026-01-02T03:04:10Z stdout F 
2026-01-02T03:04:11Z stdout F:x  spaces 
";

#[test]
fn lines_are_printed_as_they_were_said() {
    let usual = Wanted::default();
    for (case, wanted, printed) in [
        ("all", usual.clone(), "one\ntwo\nthrbetween\nee\n\n spaces \n"),
        ("of one stream", Wanted { stderr: false, ..usual.clone() }, "one\nthree\n\n spaces \n"),
        ("of the other", Wanted { stdout: false, ..usual.clone() }, "two\nbetween\n"),
        ("as many bytes as wanted", Wanted { limit: Some(6), ..usual.clone() }, "one\ntw"),
        (
            "since a moment",
            Wanted { since: Some("2026-01-02T03:04:09Z".parse().unwrap()), ..usual.clone() },
            "ee\n\n spaces \n",
        ),
        (
            "with the time, at the start of a line only",
            Wanted { timestamps: true, stderr: false, ..usual },
            "2026-01-02T03:04:05.100000000Z one\n2026-01-02T03:04:07.123456789+01:00 three\n\
             2026-01-02T03:04:10.000000000Z \n2026-01-02T03:04:11.000000000Z  spaces \n",
        ),
    ] {
        let (mut printer, mut out) = (Printer::new(&wanted), BytesMut::new());
        for line in LOG.lines() {
            if printer.is_done() {
                break;
            }
            printer.print(line.as_bytes(), &mut out);
        }
        assert_eq!(std::str::from_utf8(&out).unwrap(), printed, "{case}");
    }
    for wrong in ["", "x", "2026 stdout", "2026 stdnull F x", "2026 stdout X y"] {
        assert_eq!(parse(wrong.as_bytes()), None, "{wrong:?}");
    }
}

#[test]
fn the_last_lines_are_found_from_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.log");
    let whole = |number: usize| format!("2026-01-02T03:04:05Z stdout F {number}\n");
    let cut =
        format!("2026-01-02T03:04:05Z stdout P {}\n2026-01-02T03:04:05Z stdout F end\n", "x".repeat(100_000));
    let many: String = (0..10_000).map(whole).collect();
    for (case, text, wanted, found, begins) in [
        ("none", many.clone(), 0, 0, ""),
        ("one", many.clone(), 1, 1, " F 9999\n"),
        ("over blocks", many.clone(), 5_000, 5_000, " F 5000\n"),
        ("more than there are", many.clone(), 20_000, 10_000, " F 0\n"),
        ("all", many.clone(), 10_000, 10_000, " F 0\n"),
        ("an empty file", String::new(), 3, 0, ""),
        ("a cut line is one", format!("{}{cut}", whole(7)), 1, 1, " P xxx"),
        ("and the one before", format!("{}{cut}", whole(7)), 2, 2, " F 7\n"),
        ("one that is only begun", format!("{}{}", whole(7), &cut[..100_031]), 1, 1, " P xxx"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let Start { at, lines } = start_of_last(&std::fs::File::open(&path).unwrap(), wanted).unwrap();
        let rest = &text[at as usize..];
        let shown = &rest[..rest.len().min(60)];
        assert_eq!(lines, found, "{case}: {shown}");
        assert!(rest.contains(begins) && rest.find(begins).unwrap() < 40, "{case}: {shown}");
    }
}

#[test]
fn files_put_aside_are_found_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let mut names = Vec::new();
    for _ in 0..3 {
        let path = stamped(&log, now);
        std::fs::write(&path, "").unwrap();
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(names, ["0.log.20260102-030405", "0.log.20260102-030405001", "0.log.20260102-030405002"]);
    for other in ["0.log", "1.log.20260102-030405", "0.log.gz", "0.log.20260102-030405.gz"] {
        std::fs::write(folder.path().join(other), "").unwrap();
    }
    let found = aside(&log).unwrap();
    let found: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(found, names);
}

/// A container that runs until it is told otherwise.
struct Runs(AtomicBool);

impl Writing for std::sync::Arc<Runs> {
    async fn goes_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

fn append(path: &Path, text: &str) {
    use std::io::Write;
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    let mut lines = String::new();
    text.lines().for_each(|line| writeln!(lines, "2026-01-02T03:04:05Z stdout F {line}").unwrap());
    file.write_all(lines.as_bytes()).unwrap();
}

async fn heard(pieces: &mut mpsc::Receiver<bytes::Bytes>, wanted: &str) {
    let mut seen = String::new();
    while seen.len() < wanted.len() {
        let piece = tokio::time::timeout(PATIENCE, pieces.recv()).await.expect("nothing more is heard");
        seen.push_str(std::str::from_utf8(&piece.expect("the log has ended")).unwrap());
    }
    assert_eq!(seen, wanted);
}

#[tokio::test]
async fn a_log_is_followed_over_files_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    append(&folder.path().join("0.log.20260102-030405"), "old\nolder than new");
    append(&log, "a\nb");
    let wanted = Wanted { follow: true, tail: Some(3), ..Wanted::default() };
    let runs = std::sync::Arc::new(Runs(AtomicBool::new(true)));
    let (sender, mut pieces) = mpsc::channel(4);
    let reading = Reading::begin(log.clone(), &wanted).await.unwrap();
    let container = runs.clone();
    let copied =
        tokio::spawn(async move { reading.copy(wanted, &container, &Clock::system(), sender).await });
    heard(&mut pieces, "older than new\na\nb\n").await;
    append(&log, "c");
    heard(&mut pieces, "c\n").await;
    // Put aside while somebody still writes to it.
    let old = stamped(&log, Timestamp::UNIX_EPOCH);
    assert!(old > folder.path().join("0.log.20260102-030405"), "a clock that was set back");
    std::fs::rename(&log, &old).unwrap();
    append(&old, "d");
    heard(&mut pieces, "d\n").await;
    append(&log, "e");
    heard(&mut pieces, "e\n").await;
    runs.0.store(false, Ordering::SeqCst);
    append(&log, "last words");
    heard(&mut pieces, "last words\n").await;
    assert!(tokio::time::timeout(PATIENCE, pieces.recv()).await.expect("it goes on").is_none());
    copied.await.unwrap().unwrap();
}

#[tokio::test]
async fn who_reads_slowly_misses_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    append(&log, "a");
    let wanted = Wanted { follow: true, ..Wanted::default() };
    let (runs, ended) = (Runs(AtomicBool::new(true)), Runs(AtomicBool::new(false)));
    for (container, removed) in [(runs, false), (ended, false), (Runs(AtomicBool::new(true)), true)] {
        let container = std::sync::Arc::new(container);
        let reading = Reading::begin(log.clone(), &wanted).await.unwrap();
        // All of this happens before it is looked again.
        let mut before = Vec::new();
        for text in ["b", "c", "d"] {
            before.push(stamped(&log, Timestamp::now()));
            std::fs::rename(&log, before.last().unwrap()).unwrap();
            append(&log, text);
        }
        // Open as it is, it can be read although it is gone.
        if removed {
            std::fs::remove_file(&before[0]).unwrap();
        }
        let (sender, mut pieces) = mpsc::channel(4);
        let (wanted, told) = (wanted.clone(), container.clone());
        let copied = tokio::spawn(async move { reading.copy(wanted, &told, &Clock::system(), sender).await });
        heard(&mut pieces, "a\nb\nc\nd\n").await;
        container.0.store(false, Ordering::SeqCst);
        append(&log, "e");
        heard(&mut pieces, "e\n").await;
        copied.await.unwrap().unwrap();
        for path in before.iter().chain([&log]) {
            drop(std::fs::remove_file(path));
        }
        append(&log, "a");
    }
}

#[tokio::test]
async fn what_is_not_followed_ends_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    append(&folder.path().join("0.log.20260102-030405"), "old");
    append(&log, "a\nb");
    for (wanted, seen) in [
        (Wanted::default(), "old\na\nb\n"),
        (Wanted { tail: Some(1), ..Wanted::default() }, "b\n"),
        (Wanted { limit: Some(5), ..Wanted::default() }, "old\na"),
    ] {
        let (sender, mut pieces) = mpsc::channel(4);
        let reading = Reading::begin(log.clone(), &wanted).await.unwrap();
        let runs = std::sync::Arc::new(Runs(AtomicBool::new(true)));
        reading.copy(wanted, &runs, &Clock::system(), sender).await.unwrap();
        heard(&mut pieces, seen).await;
        assert!(pieces.recv().await.is_none());
    }
}
