//! The disk alone: how long it takes to sync a few bytes, at the pace of the writes that a figure is about.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::load::Seen;
use crate::report::Line;

pub(super) async fn syncs(folder: &Path, rate: u32, count: usize) -> Result<Line, BenchError> {
    let path = folder.join("syncs");
    let work = move || {
        let failed = |source| BenchError::Write { path: path.clone(), source };
        let mut file = File::create(&path).map_err(failed)?;
        let start = Instant::now();
        let mut taken = Vec::with_capacity(count);
        for turn in 1..=count {
            let begin = Instant::now();
            file.write_all(&[b'x'; 1024]).and_then(|()| file.sync_data()).map_err(failed)?;
            taken.push(begin.elapsed());
            let next = Duration::from_secs(1) * turn as u32 / rate;
            std::thread::sleep(next.saturating_sub(start.elapsed()));
        }
        Ok(Seen::new(taken, start.elapsed()).line("sync", 1))
    };
    tokio::task::spawn_blocking(work).await?
}
