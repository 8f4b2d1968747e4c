//! A disk that forgets what was not synced, as on a power failure: any part of an unsynced write may have happened,
//! in any order, and a name that was not synced may still be the old one. Killing a process cannot show this.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kedge_store::{Disk, DiskFile, Draft, Expect, Options, Store, Txn};
use rand::{Rng, SeedableRng, rngs::StdRng};

/// What a disk writes at once.
const SECTOR: usize = 512;

#[derive(Clone, Default)]
struct FragileDisk(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    files: HashMap<u64, Content>,
    next: u64,
    /// Nothing works any more.
    dead: bool,
    /// Syncs until the power fails.
    syncs_left: Option<u64>,
}

#[derive(Clone, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
}

struct FragileFile {
    disk: FragileDisk,
    id: u64,
}

impl FragileDisk {
    fn alive(&self) -> io::Result<std::sync::MutexGuard<'_, Inner>> {
        let inner = self.0.lock().unwrap();
        if inner.dead { Err(io::Error::from_raw_os_error(5)) } else { Ok(inner) }
    }

    /// The power fails after so many syncs.
    fn fail_after(&self, syncs: u64) {
        self.0.lock().unwrap().syncs_left = Some(syncs);
    }

    /// What a process finds that was killed and started again: what the kernel has, synced or not.
    fn after_kill(&self) -> FragileDisk {
        let inner = self.0.lock().unwrap();
        let (names, durable_names) = (inner.names.clone(), inner.durable_names.clone());
        let (files, next) = (inner.files.clone(), inner.next);
        let inner = Inner { names, durable_names, files, next, dead: false, syncs_left: None };
        FragileDisk(Arc::new(Mutex::new(inner)))
    }

    /// What a machine finds that is switched on again.
    fn after_power_loss(&self, chance: &mut StdRng) -> FragileDisk {
        let inner = self.0.lock().unwrap();
        let names = if chance.random() { inner.names.clone() } else { inner.durable_names.clone() };
        let files: HashMap<u64, Content> = names
            .values()
            .map(|id| {
                let Content { now, durable } = &inner.files[id];
                let mut left = durable.clone();
                left.resize(durable.len().max(now.len()), 0);
                for (sector, written) in now.chunks(SECTOR).enumerate() {
                    let at = sector * SECTOR;
                    if left[at..at + written.len()] != *written && chance.random() {
                        left[at..at + written.len()].copy_from_slice(written);
                    }
                }
                (*id, Content { now: left.clone(), durable: left })
            })
            .collect();
        let next = inner.next;
        let durable_names = names.clone();
        let inner = Inner { names, durable_names, files, next, dead: false, syncs_left: None };
        FragileDisk(Arc::new(Mutex::new(inner)))
    }
}

impl Inner {
    /// Whether the power is still there for this sync.
    fn sync(&mut self) -> io::Result<()> {
        if let Some(left) = &mut self.syncs_left {
            if *left == 0 {
                self.dead = true;
                return Err(io::Error::from_raw_os_error(5));
            }
            *left -= 1;
        }
        Ok(())
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for FragileDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut inner = self.alive()?;
        inner.next += 1;
        let id = inner.next;
        inner.names.insert(path.to_owned(), id);
        inner.files.insert(id, Content::default());
        Ok(Box::new(FragileFile { disk: self.clone(), id }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let id = *self.alive()?.names.get(path).ok_or_else(missing)?;
        Ok(Box::new(FragileFile { disk: self.clone(), id }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.alive()?;
        let id = inner.names.remove(from).ok_or_else(missing)?;
        inner.names.insert(to.to_owned(), id);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.alive()?.names.remove(path).map(|_| ()).ok_or_else(missing)
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        Ok(self.alive()?.names.keys().map(name).collect())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        let mut inner = self.alive()?;
        inner.sync()?;
        inner.durable_names = inner.names.clone();
        Ok(())
    }
}

impl DiskFile for FragileFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.alive()?.files[&self.id].now.len() as u64)
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        let inner = self.disk.alive()?;
        let rest = inner.files[&self.id].now.get(at as usize..).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let mut inner = self.disk.alive()?;
        let file = inner.files.get_mut(&self.id).unwrap();
        let end = at as usize + bytes.len();
        file.now.resize(file.now.len().max(end), 0);
        file.now[at as usize..end].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn sync(&self) -> io::Result<()> {
        let mut inner = self.disk.alive()?;
        inner.sync()?;
        let file = inner.files.get_mut(&self.id).unwrap();
        file.durable = file.now.clone();
        Ok(())
    }
}

fn options(disk: &FragileDisk) -> Options {
    Options {
        segment_bytes: 8 << 10,
        snapshot_after_bytes: 24 << 10,
        snapshot_bytes_per_second: u64::MAX,
        disk: Arc::new(disk.clone()),
        ..Options::default()
    }
}

/// Writes pairs until the power fails; returns the acknowledged count and revision of each writer.
async fn live(store: &Store, told: &mut HashMap<usize, (u64, u64)>) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..6 {
        let (store, mut last) = (store.clone(), told.get(&writer).copied().unwrap_or_default());
        writers.spawn(async move {
            loop {
                let number = last.0 + 1;
                let value = |size: u64| Draft::new(format!("{number} {}", "x".repeat(size as usize)));
                let txn = Txn::new().put(format!("/registry/left/{writer}"), Expect::Any, value(10)).put(
                    format!("/registry/right/{writer}"),
                    Expect::Any,
                    value(number % 5 * 300),
                );
                match store.commit(txn).await {
                    Ok(committed) => last = (number, committed.revision.get()),
                    Err(_) => return (writer, last),
                }
            }
        });
    }
    while let Some(ended) = writers.join_next().await {
        let (writer, last) = ended.unwrap();
        told.insert(writer, last);
    }
}

fn found(store: &Store, key: &str) -> (u64, u64) {
    store.snapshot().get(key).map_or((0, 0), |entry| {
        let text = String::from_utf8_lossy(entry.bytes()).into_owned();
        (text.split(' ').next().unwrap().parse().unwrap(), entry.modified().get())
    })
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_power_fails() {
    let seed = rand::rng().random();
    let mut chance = StdRng::seed_from_u64(seed);
    for history in 0..40 {
        // Only the lock file is on the real disk.
        let dir = tempfile::tempdir().unwrap();
        let mut disk = FragileDisk::default();
        let (mut told, mut newest) = (HashMap::new(), 0);
        for life in 0..20 {
            let at = format!("seed {seed}, history {history}, life {life}");
            let store = match Store::open(dir.path(), options(&disk)).await {
                Ok(store) => store,
                Err(error) => panic!("{at}: {error}"),
            };
            for writer in 0..6 {
                let left = found(&store, &format!("/registry/left/{writer}"));
                let right = found(&store, &format!("/registry/right/{writer}"));
                assert_eq!(left, right, "{at}: half a transaction");
                let (number, revision) = told.get(&writer).copied().unwrap_or_default();
                let kept = left == (number, revision) || (left.0 == number + 1 && left.1 > revision);
                assert!(kept, "{at}: was told {number} at {revision}, found {left:?}");
                told.insert(writer, left);
            }
            assert!(store.revision().get() >= newest, "{at}: revisions went back");
            newest = store.revision().get();
            // Short lives too, so that what one left undone meets the end of the next.
            let longest = if chance.random() { 5 } else { 120 };
            disk.fail_after(chance.random_range(0..longest));
            live(&store, &mut told).await;
            store.close().await;
            disk = match chance.random() {
                true => disk.after_power_loss(&mut chance),
                false => disk.after_kill(),
            };
        }
    }
}
