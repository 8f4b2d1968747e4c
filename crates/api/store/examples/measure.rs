//! Measures the embedded engine on the disk of a folder: `cargo run --release -p kedge-store --example measure -- FOLDER`.
//! Prints one line for each figure. Makes its stores under FOLDER and removes them.

// A program for a terminal, run by hand: it prints, and stops at the first surprise.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kedge_store::{Draft, Expect, Options, Store, Txn};

/// The allocator of the program that we ship.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let base = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    // Each in a process of its own, or one's memory would count for the next.
    let Some(only) = std::env::args().nth(2) else {
        for name in ["commits", "open", "flat", "watch", "memory"] {
            let program = std::env::current_exe().unwrap();
            let ended = std::process::Command::new(program).arg(&base).arg(name).status().unwrap();
            assert!(ended.success());
        }
        return;
    };
    if only == "reopen" {
        return reopen(&base).await;
    }
    let dir = base.join(&only);
    let _ = std::fs::remove_dir_all(&dir);
    match only.as_str() {
        "commits" => {
            for writers in [1, 16, 64, 256] {
                commits(&dir.join(writers.to_string()), writers, Duration::from_secs(3)).await;
            }
        }
        "open" => open_many(&dir, 100_000).await,
        "flat" => flat(&dir).await,
        "watch" => fan_out(&dir).await,
        _ => come_and_go(&dir, 20_000).await,
    }
    std::fs::remove_dir_all(dir).unwrap();
}

fn value(size: usize) -> Draft {
    Draft::with_revision_at("x".repeat(size), size / 2)
}

fn key(number: usize) -> String {
    format!("/registry/configmaps/default/map-{number:07}")
}

async fn commits(dir: &Path, writers: usize, during: Duration) {
    let store = Store::open(dir, Options::default()).await.unwrap();
    let began = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut waits = Vec::new();
                while began.elapsed() < during {
                    let asked = Instant::now();
                    let number = writer * 1_000_000 + waits.len();
                    store.commit(Txn::new().put(key(number), Expect::Absent, value(1024))).await.unwrap();
                    waits.push(asked.elapsed());
                }
                waits
            })
        })
        .collect();
    let mut waits = Vec::new();
    for task in tasks {
        waits.extend(task.await.unwrap());
    }
    let took = began.elapsed();
    waits.sort_unstable();
    let stats = store.stats();
    println!(
        "{writers:3} writers: {:6.0} commits/s of 1 KiB, p50 {:?}, p99 {:?}, worst {:?}, {:.1} in a sync, {:?} each",
        waits.len() as f64 / took.as_secs_f64(),
        waits[waits.len() / 2],
        waits[waits.len() * 99 / 100],
        waits[waits.len() - 1],
        stats.commits as f64 / stats.batches as f64,
        stats.sync_total / u32::try_from(stats.batches).unwrap(),
    );
    store.close().await;
}

async fn fill(store: &Store, from: usize, to: usize, size: usize) {
    let tasks: Vec<_> = (0..64)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (from + writer..to).step_by(64) {
                    store.commit(Txn::new().put(key(number), Expect::Any, value(size))).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn open_many(dir: &Path, count: usize) {
    let store = Store::open(dir, Options::default()).await.unwrap();
    fill(&store, 0, count, 1024).await;
    store.close().await;
    drop(store);
    // Opened by a process that has not written them.
    let program = std::env::current_exe().unwrap();
    std::process::Command::new(program).arg(dir).arg("reopen").status().unwrap();
}

async fn reopen(dir: &Path) {
    let began = Instant::now();
    let store = Store::open(dir, Options::default()).await.unwrap();
    println!(
        "open {} objects of 1 KiB: {:?}, {} MB resident",
        store.snapshot().len(),
        began.elapsed(),
        resident()
    );
    let began = Instant::now();
    let bytes: usize = store.snapshot().range("/registry/", None).map(|(_, entry)| entry.bytes().len()).sum();
    println!("walk over them ({bytes} bytes): {:?}", began.elapsed());
    let began = Instant::now();
    println!("count them: {} in {:?}", store.snapshot().count("/registry/configmaps/"), began.elapsed());
    let backup = dir.with_extension("backup");
    let began = Instant::now();
    store.backup(&backup).await.unwrap();
    println!("back them up: {:?}", began.elapsed());
    std::fs::remove_file(backup).unwrap();
    store.close().await;
}

async fn flat(dir: &Path) {
    let store = Store::open(dir, Options::default()).await.unwrap();
    for (from, to) in [(0, 1000), (1000, 21_000), (21_000, 100_000), (100_000, 120_000)] {
        let began = Instant::now();
        fill(&store, from, to, 1024).await;
        println!("puts {from} to {to}: {:?} each with 64 writers", began.elapsed() / (to - from) as u32);
    }
    store.close().await;
}

async fn fan_out(dir: &Path) {
    let store = Store::open(dir, Options::default()).await.unwrap();
    let start = store.revision();
    let idle: Vec<_> = (0..1000)
        .map(|number| {
            let mut watch = store.watch(&format!("/registry/kind{number}/"), start).unwrap();
            tokio::spawn(async move { watch.next().await.is_ok() })
        })
        .collect();
    let watchers: Vec<_> = (0..100)
        .map(|_| {
            let mut watch = store.watch("/registry/configmaps/", start).unwrap();
            tokio::spawn(async move {
                for _ in 0..2000 {
                    watch.next().await.unwrap();
                }
            })
        })
        .collect();
    let began = Instant::now();
    fill(&store, 0, 2000, 1024).await;
    let written = began.elapsed();
    for watcher in watchers {
        watcher.await.unwrap();
    }
    println!(
        "2000 events to 100 watchers beside 1000 idle ones: written in {written:?}, seen in {:?}",
        began.elapsed()
    );
    store.close().await;
    drop(idle);
}

async fn come_and_go(dir: &Path, count: usize) {
    let store = Store::open(dir, Options::default()).await.unwrap();
    let before = resident();
    fill(&store, 0, count, 3 << 10).await;
    let full = resident();
    for number in 0..count {
        store.commit(Txn::new().delete(key(number), Expect::Present)).await.unwrap();
    }
    println!("{count} objects of 3 KiB come and go: {before} MB, {full} MB, {} MB resident", resident());
    store.close().await;
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
