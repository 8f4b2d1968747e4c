//! Who has which address and which doors, as files below one folder. They outlive every process that uses them, but need not
//! outlive the machine: what they tell of is in the kernel only, so nothing here waits for the disk.
//!
//! `addresses/10.244.0.7` is a symbolic link that names the owner: making it is the reservation, and cannot be done twice.
//! `owners/<container>@<link>` says what else belongs to him.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, FileExt, symlink};
use std::path::{Path, PathBuf};

use kedge_netlink::Namespace;
use kedge_range::Range;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::doors::Door;
use crate::error::NetworkError;
use crate::owner::Owner;
use crate::pace::Limits;

/// What belongs to an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Where the other end of the wire is. Once it is gone, so is the owner.
    pub(crate) namespace: PathBuf,
    pub(crate) addresses: Vec<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) doors: Vec<Door>,
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub(crate) limits: Limits,
}

/// Nobody else reads or writes while this lives.
pub(crate) struct Records {
    folder: PathBuf,
    _lock: File,
}

impl Records {
    pub(crate) fn lock(folder: &Path) -> Result<Self, NetworkError> {
        let path = folder.join("lock");
        let open = |may_make| File::options().create(may_make).append(true).open(&path);
        // The folders are made before the lock is, so where it is they are.
        let file = match open(false) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                for made in [folder.join("addresses"), folder.join("owners")] {
                    let mut builder = DirBuilder::new();
                    let done = builder.recursive(true).mode(0o700).create(&made);
                    done.map_err(NetworkError::record(&made))?;
                }
                open(true)
            }
            opened => opened,
        };
        let file = file.map_err(NetworkError::record(&path))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| NetworkError::record(&path)(error.into()))?;
        Ok(Self { folder: folder.to_owned(), _lock: file })
    }

    pub(crate) fn find(&self, owner: &Owner) -> Result<Option<Record>, NetworkError> {
        let path = self.owner(owner);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|source| NetworkError::Unreadable { path, source }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(NetworkError::record(&path)(error)),
        }
    }

    /// All that are readable: a record that a crash left half written has nothing to say.
    pub(crate) fn all(&self) -> Result<Vec<(Owner, Record)>, NetworkError> {
        let names = names(&self.folder.join("owners"))?;
        let owners = names.iter().filter_map(|name| Owner::parse(name));
        Ok(owners.filter_map(|owner| Some((owner.clone(), self.find(&owner).ok()??))).collect())
    }

    /// Reserves one address of each range for an owner who has none.
    pub(crate) fn reserve(
        &self,
        owner: &Owner,
        ranges: &[Range],
        namespace: &Path,
        doors: Vec<Door>,
        limits: Limits,
    ) -> Result<Record, NetworkError> {
        let mut record = Record { namespace: namespace.to_owned(), addresses: Vec::new(), doors, limits };
        for range in ranges {
            let address = match self.take(owner, range) {
                Err(NetworkError::Full { .. }) if !self.reap()?.is_empty() => self.take(owner, range),
                taken => taken,
            };
            match address {
                Ok(address) => record.addresses.push(address),
                Err(error) => {
                    self.release(owner)?;
                    return Err(error);
                }
            }
        }
        let path = self.owner(owner);
        let text = serde_json::to_vec(&record).map_err(|error| NetworkError::record(&path)(error.into()))?;
        fs::write(&path, text).map_err(NetworkError::record(&path))?;
        Ok(record)
    }

    /// Gives back what an owner has. Doing it twice is doing it once.
    pub(crate) fn release(&self, owner: &Owner) -> Result<(), NetworkError> {
        let known = self.find(owner).ok().flatten().map(|record| record.addresses);
        let addresses = match known {
            Some(addresses) => addresses.iter().map(ToString::to_string).collect(),
            // Whoever reserved them did not live to write it down.
            None => names(&self.folder.join("addresses"))?,
        };
        let name = owner.to_string();
        for address in addresses {
            let path = self.folder.join("addresses").join(address);
            if fs::read_link(&path).is_ok_and(|target| target == Path::new(&name)) {
                gone(&path, fs::remove_file(&path))?;
            }
        }
        let path = self.owner(owner);
        gone(&path, fs::remove_file(&path))
    }

    /// Gives back what nobody has any more: owners whose namespace is gone, and addresses whose owner is unknown. Answers who
    /// they were.
    pub(crate) fn reap(&self) -> Result<Vec<(Owner, Record)>, NetworkError> {
        let lives = |record: &Record| match Namespace::open(&record.namespace) {
            Ok(_) => true,
            Err(error) => error.kind() != ErrorKind::NotFound,
        };
        let all = self.all()?;
        let (alive, dead): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, record)| lives(record));
        for (owner, _) in &dead {
            self.release(owner)?;
        }
        let alive: Vec<String> = alive.iter().map(|(owner, _)| owner.to_string()).collect();
        for address in names(&self.folder.join("addresses"))? {
            let path = self.folder.join("addresses").join(address);
            let target = fs::read_link(&path).map_err(NetworkError::record(&path))?;
            if !alive.iter().any(|owner| target == Path::new(owner)) {
                gone(&path, fs::remove_file(&path))?;
            }
        }
        Ok(dead)
    }

    /// The next free address after the one that was given last, so that one that was given back rests for as long as possible.
    fn take(&self, owner: &Owner, range: &Range) -> Result<IpAddr, NetworkError> {
        let places = range.places();
        let count = places.end - places.start;
        let last = self.folder.join(format!("last-{}", range.to_string().replace('/', "-")));
        let begin = fs::read_to_string(&last).ok().and_then(|text| text.trim().parse::<u64>().ok());
        let begin = begin.filter(|place| places.contains(place)).map_or(0, |place| place - places.start + 1);
        // A range of the newer family has more places than anybody will ever look at.
        for step in 0..count.min(1 << 20) {
            let place = places.start + (begin + step) % count;
            let address = range.at(place);
            let path = self.folder.join("addresses").join(address.to_string());
            match symlink(owner.to_string(), &path) {
                Ok(()) => {
                    note(&last, place).map_err(NetworkError::record(&last))?;
                    return Ok(address);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(NetworkError::record(&path)(error)),
            }
        }
        Err(NetworkError::Full { range: *range })
    }

    fn owner(&self, owner: &Owner) -> PathBuf {
        self.folder.join("owners").join(owner.to_string())
    }
}

/// In the place of what stood there, and always as long: a file that is emptied first is sent to the disk when it is closed, and whoever
/// closed it waits.
fn note(path: &Path, place: u64) -> io::Result<()> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.write_all_at(format!("{place:<20}").as_bytes(), 0)
}

fn names(folder: &Path) -> Result<Vec<String>, NetworkError> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
    let names = read().map_err(NetworkError::record(folder))?;
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
}

/// Absent is as good as removed.
fn gone(path: &Path, done: io::Result<()>) -> Result<(), NetworkError> {
    match done {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(NetworkError::record(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
