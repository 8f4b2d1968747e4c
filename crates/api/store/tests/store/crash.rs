//! Kills a writing process at random instants, again and again in one folder, and looks at what is left.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kedge_store::{Draft, Expect, Options, Store, Txn};
use rand::{Rng, SeedableRng, rngs::StdRng};

/// Set for the process that writes; names its folder.
const FOLDER: &str = "KEDGE_STORE_CRASH_FOLDER";
const LIVES: u64 = 220;
const TASKS: u64 = 24;

fn options() -> Options {
    // Small, so that kills also hit rotations, snapshots and recycling.
    Options { segment_bytes: 128 << 10, snapshot_after_bytes: 256 << 10, ..Options::default() }
}

fn key(half: &str, task: u64) -> String {
    format!("/registry/{half}/ns/{task}")
}

/// The count that a key's value holds, and its revision.
fn count(store: &Store, key: &str) -> (u64, u64) {
    let snapshot = store.snapshot();
    snapshot.get(key).map_or((0, 0), |entry| {
        let text = String::from_utf8_lossy(entry.bytes()).into_owned();
        (text.split(' ').next().unwrap().parse().unwrap(), entry.modified().get())
    })
}

/// The process that is killed. Does nothing unless the test below started it.
#[test]
fn writer_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(Path::new(&folder), options()).await.unwrap();
        say(format!("\nopened {}\n", store.revision()));
        let writers: Vec<_> = (0..TASKS).map(|task| tokio::spawn(count_up(store.clone(), task))).collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

/// Counts up in two keys at once, and tells of each count once it is acknowledged.
async fn count_up(store: Store, task: u64) {
    let (mut number, _) = count(&store, &key("left", task));
    loop {
        number += 1;
        let value = |size: usize| Draft::new(format!("{number} {}", "x".repeat(size)));
        let txn = Txn::new().put(key("left", task), Expect::Any, value(200)).put(
            key("right", task),
            Expect::Any,
            value((number % 7 * 300) as usize),
        );
        let revision = store.commit(txn).await.unwrap().revision;
        say(format!("{task} {number} {revision}\n"));
    }
}

/// One system call for each line: a line is told whole or not at all.
fn say(line: String) {
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let seed = rand::rng().random();
    let mut chance = StdRng::seed_from_u64(seed);
    // For each task, the last count that was acknowledged and its revision.
    let mut told: HashMap<u64, (u64, u64)> = HashMap::new();
    let (mut newest, mut acknowledged) = (0, 0);
    for life in 0..LIVES {
        let lines = live_and_die(dir.path(), Duration::from_micros(chance.random_range(0..25_000)));
        for line in &lines {
            let [task, number, revision] = line[..] else { panic!("{line:?}") };
            assert!(revision > newest, "seed {seed}, life {life}: revision {revision} was given out before");
            let before = told.insert(task, (number, revision));
            assert!(before.is_none_or(|(before, _)| before < number), "seed {seed}, life {life}: {line:?}");
        }
        acknowledged += lines.len();

        let store = Store::open(dir.path(), options()).await.unwrap();
        for task in 0..TASKS {
            let (left, right) = (count(&store, &key("left", task)), count(&store, &key("right", task)));
            assert_eq!(left, right, "seed {seed}, life {life}: half a transaction of task {task}");
            let (number, revision) = told.get(&task).copied().unwrap_or_default();
            assert!(
                left == (number, revision) || (left.0 == number + 1 && left.1 > revision),
                "seed {seed}, life {life}: task {task} was told {number} at {revision}, found {left:?}"
            );
            told.insert(task, left);
        }
        let revision = store.revision().get();
        assert!(revision >= newest, "seed {seed}, life {life}: {revision} after {newest}");
        newest = revision;
        store.close().await;
    }
    assert!(acknowledged > 1000, "only {acknowledged} writes in {LIVES} lives: this proves little");
}

/// Starts a writer, kills it some time after it has opened the store, and returns what it told.
fn live_and_die(folder: &Path, after: Duration) -> Vec<Vec<u64>> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::writer_process", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("opened") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the writer ended before it opened the store");
    }
    // The pipe must be emptied meanwhile, or a full one would stop the writer.
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text
    });
    // Not a wait for something to become true: the instant of the kill is the point of the test.
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let text = reader.join().unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
}
