//! How full the folders of other machines are. Such a machine may be gone for good, and whoever asks it then waits for ever: each folder is
//! asked by one thread at a time, and waited for only for a moment.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use kedge_usage::{Disk, disk};
use parking_lot::Mutex;

const MOMENT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Far {
    /// Those that have not answered yet.
    asked: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Far {
    /// None where nobody answers.
    pub(crate) fn disk(&self, place: &Path) -> Option<Disk> {
        self.ask(place, MOMENT, |place| disk(place).ok())
    }

    fn ask(
        &self,
        place: &Path,
        moment: Duration,
        question: impl FnOnce(&Path) -> Option<Disk> + Send + 'static,
    ) -> Option<Disk> {
        if !self.asked.lock().insert(place.to_owned()) {
            return None;
        }
        let (tell, answer) = mpsc::channel();
        let (asked, path) = (self.asked.clone(), place.to_owned());
        let begun = thread::Builder::new().name("far".to_owned()).spawn(move || {
            let found = question(&path);
            asked.lock().remove(&path);
            // Whoever asked may have gone on.
            let _told = tell.send(found);
        });
        if begun.is_err() {
            self.asked.lock().remove(place);
            return None;
        }
        answer.recv_timeout(moment).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn who_does_not_answer_is_asked_once_and_holds_up_nobody() {
        let far = Far::default();
        let full = Disk { capacity: 5, ..Disk::default() };
        let soon = Duration::from_millis(10);
        let (release, held) = mpsc::channel::<()>();
        let silent = move |_: &Path| {
            let _released = held.recv();
            None
        };
        assert_eq!(far.ask(Path::new("/gone"), soon, silent), None);
        let never = |_: &Path| panic!("it is asked already");
        assert_eq!(far.ask(Path::new("/gone"), MOMENT, never), None);
        assert_eq!(far.ask(Path::new("/there"), MOMENT, move |_| Some(full)), Some(full), "others answer");
        drop(release);
        let end = Instant::now() + Duration::from_secs(20);
        while far.ask(Path::new("/gone"), MOMENT, move |_| Some(full)).is_none() {
            assert!(Instant::now() < end, "it is still not asked again");
            thread::yield_now();
        }
    }
}
