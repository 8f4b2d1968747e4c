//! Gives back disk space that images take which nobody uses: when the disk is nearly full, the ones that were not used for
//! the longest time go first. An image that something is made of, that is new or that the runtime needs itself never goes.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_engine::{Note, Severity, Target};
use kedge_images::PAUSE_IMAGE;
use kedge_runtime::RuntimeError;
use kedge_runtime::wire::{Container, ContainerFilter, Image};
use parking_lot::Mutex;
use rustix::fs::statvfs;

use crate::tools::Tools;
use crate::volumes::is_layers_of;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(300);

/// When images go.
#[derive(Clone, Debug)]
pub struct ImageRules {
    /// The part of the disk, in percent, from which on images go, and down to which.
    pub high: u8,
    pub low: u8,
    /// Younger ones stay: whoever fetched them will want them.
    pub youngest: SignedDuration,
    /// Those that were not used for this long go in any case.
    pub oldest: Option<SignedDuration>,
}

impl Default for ImageRules {
    fn default() -> Self {
        Self { high: 85, low: 80, youngest: SignedDuration::from_mins(2), oldest: None }
    }
}

#[derive(Clone, Copy, Debug)]
struct Disk {
    capacity: u64,
    available: u64,
}

#[derive(Clone, Debug)]
struct Held {
    id: String,
    size: u64,
    first_seen: Timestamp,
    /// None if it was never seen in use.
    last_used: Option<Timestamp>,
    /// Something is made of it, or the runtime needs it.
    stays: bool,
}

/// What was decided: the images that go, and how much they should free.
#[derive(Debug, Default, PartialEq)]
struct Choice {
    go: Vec<String>,
    wanted: u64,
    freed: u64,
}

/// `begun` is since when is looked: before `oldest` has passed nobody knows what was used how long ago.
fn choose(mut held: Vec<Held>, disk: Disk, rules: &ImageRules, begun: Timestamp, now: Timestamp) -> Choice {
    held.sort_by_key(|image| (image.last_used, image.first_seen));
    let mut choice = Choice::default();
    let since = |moment: Timestamp| now.duration_since(moment);
    if let Some(oldest) = rules.oldest.filter(|oldest| since(begun) > *oldest) {
        let is_old =
            |image: &Held| !image.stays && since(image.last_used.unwrap_or(image.first_seen)) > oldest;
        choice.go.extend(held.iter().filter(|image| is_old(image)).map(|image| image.id.clone()));
        held.retain(|image| !is_old(image));
    }
    let available = disk.available.min(disk.capacity);
    let used = 100 - available.saturating_mul(100).checked_div(disk.capacity).unwrap_or(100);
    if used < u64::from(rules.high) {
        return choice;
    }
    let free = u128::from(disk.capacity) * u128::from(100 - rules.low.min(100)) / 100;
    choice.wanted = u64::try_from(free).unwrap_or(u64::MAX).saturating_sub(available);
    for image in held {
        if choice.freed >= choice.wanted {
            break;
        }
        if !image.stays && since(image.first_seen) >= rules.youngest {
            choice.freed = choice.freed.saturating_add(image.size);
            choice.go.push(image.id);
        }
    }
    choice
}

/// When an image was first seen, and when it was last in use.
type Times = HashMap<String, (Timestamp, Option<Timestamp>)>;

pub(crate) struct Collector {
    rules: ImageRules,
    begun: Timestamp,
    times: Mutex<Times>,
}

impl Collector {
    pub(crate) fn new(rules: ImageRules, now: Timestamp) -> Self {
        Self { rules, begun: now, times: Mutex::default() }
    }

    /// Until it is dropped.
    pub(crate) async fn keep(&self, tools: &Tools) {
        loop {
            if let Err(error) = self.turn(tools).await {
                tracing::warn!(%error, "cannot look after the images");
            }
            tools.clock.sleep(LOOK).await;
        }
    }

    async fn turn(&self, tools: &Tools) -> Result<(), RuntimeError> {
        let disk = statvfs(tools.folders.data()).ok().map(|disk| Disk {
            // What is set aside for others is not ours to fill.
            capacity: (disk.f_blocks.saturating_sub(disk.f_bfree) + disk.f_bavail)
                .saturating_mul(disk.f_frsize),
            available: disk.f_bavail.saturating_mul(disk.f_frsize),
        });
        let held = self.look(tools).await?;
        let Some(disk) = disk.filter(|disk| disk.capacity > 0) else { return Ok(()) };
        let choice = choose(held, disk, &self.rules, self.begun, tools.steady.now());
        self.remove(tools, &choice.go).await;
        if choice.freed < choice.wanted {
            let used = 100 - disk.available.min(disk.capacity) * 100 / disk.capacity;
            let message = format!(
                "Insufficient free disk space on the node's image filesystem ({used}% of {} used). \
                 Failed to free sufficient space by deleting unused images (freed {} bytes). \
                 Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
                gibibytes(disk.capacity),
                choice.freed
            );
            let node = tools.node.borrow().clone();
            if let Some(node) = node {
                let (severity, reason) = (Severity::Warning, "FreeDiskSpaceFailed");
                let note = Note { about: Target::of(&*node), part: String::new(), severity, reason, message };
                tools.voice.say(note);
            }
        }
        Ok(())
    }

    /// Removes every image that nobody uses, for a node whose disk is full.
    pub(crate) async fn remove_unused(&self, tools: &Tools) -> Result<(), RuntimeError> {
        let held = self.look(tools).await?;
        let full = Disk { capacity: u64::MAX, available: 0 };
        let rules = ImageRules { high: 0, low: 0, ..self.rules.clone() };
        let choice = choose(held, full, &rules, self.begun, tools.steady.now());
        self.remove(tools, &choice.go).await;
        Ok(())
    }

    async fn remove(&self, tools: &Tools, images: &[String]) {
        for id in images {
            tracing::info!(image = id, "removing an image that nobody uses");
            if let Err(error) = tools.runtime.remove_image(id).await {
                tracing::warn!(image = id, %error, "cannot remove an image");
            }
        }
        if !images.is_empty() {
            tools.board.write(|notes| notes.images = notes.images.wrapping_add(1));
        }
    }

    async fn look(&self, tools: &Tools) -> Result<Vec<Held>, RuntimeError> {
        let images = tools.runtime.images().await?;
        let containers = tools.runtime.containers(ContainerFilter::default()).await?;
        // What cannot be read is not taken for unused.
        let mounted = match tools.mounts.layered() {
            Ok(names) => Some(names),
            Err(error) => {
                tracing::warn!(%error, "cannot see which images are mounted");
                None
            }
        };
        let now = tools.steady.now();
        let ids: BTreeSet<String> = images.iter().map(|image| image.id.clone()).collect();
        tools.pulled.keep(&ids);
        let mut times = self.times.lock();
        times.retain(|id, _| ids.contains(id));
        let held = images.into_iter().map(|image| {
            let is_mounted =
                mounted.as_ref().is_none_or(|names| names.iter().any(|name| is_layers_of(name, &image.id)));
            let in_use = is_mounted || containers.iter().any(|container| is_of(container, &image));
            let (first_seen, last_used) = times.entry(image.id.clone()).or_insert((now, None));
            if in_use {
                *last_used = Some(now);
            }
            Held {
                first_seen: *first_seen,
                last_used: *last_used,
                stays: in_use || image.pinned || image.repo_tags.iter().any(|tag| tag == PAUSE_IMAGE),
                size: image.size,
                id: image.id,
            }
        });
        Ok(held.collect())
    }
}

/// Whether a container was made of an image, whichever of its names is written down.
fn is_of(container: &Container, image: &Image) -> bool {
    let named = container.image.as_ref().map(|spec| &spec.image);
    named
        .into_iter()
        .chain([&container.image_ref])
        .any(|name| *name == image.id || image.repo_tags.contains(name) || image.repo_digests.contains(name))
}

fn gibibytes(bytes: u64) -> String {
    format!("{}.{} GiB", bytes >> 30, ((bytes & ((1 << 30) - 1)) * 10) >> 30)
}

#[cfg(test)]
mod tests;
