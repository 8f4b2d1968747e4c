//! A client that never stops writing and deleting, and knows what was acknowledged to it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{Api, Door};

const AT: &str = "/api/v1/namespaces/default/configmaps";
const PAUSE: Duration = Duration::from_millis(100);
/// So many objects stay: one that is made takes the place of one that is deleted.
const KEPT: u64 = 500;

pub(crate) struct Writer {
    over: Arc<AtomicBool>,
    acknowledged: Arc<Acknowledged>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Acknowledged {
    there: Mutex<BTreeSet<u64>>,
    /// Those that were there and were deleted.
    gone: Mutex<BTreeSet<u64>>,
    /// How many were made.
    made: AtomicU64,
    /// What the one object was last changed to.
    turned: AtomicU64,
    /// Attempts that came to nothing, or whose answer was lost.
    vain: AtomicU64,
}

impl Writer {
    /// `network` is where the server is reached.
    pub(crate) fn start(door: Door, network: impl FnOnce() + Send + 'static) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::<Acknowledged>::default();
        let (told, known) = (over.clone(), acknowledged.clone());
        let thread = std::thread::spawn(move || {
            network();
            write(&door.open(), &told, &known);
        });
        Self { over, acknowledged, thread: Some(thread) }
    }

    pub(crate) fn count(&self) -> u64 {
        self.acknowledged.made.load(Ordering::Relaxed)
    }

    pub(crate) fn vain(&self) -> u64 {
        self.acknowledged.vain.load(Ordering::Relaxed)
    }

    /// What was acknowledged and is not so.
    pub(crate) fn lost(&self, api: &Api) -> Result<Vec<String>, String> {
        // Asked for before and after: what is deleted in between is no loss, nor is what is made.
        let (before, gone) = (self.acknowledged.there(), self.acknowledged.gone.lock().unwrap().clone());
        let turned = self.acknowledged.turned.load(Ordering::SeqCst);
        let found = api.list(&format!("{AT}?labelSelector=by%3Dwriter"))?;
        let after = self.acknowledged.there();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let found_at = |one: &Value| text(&one["metadata"]["name"]).strip_prefix('w')?.parse().ok();
        let whole = found.iter().filter(|one| one["data"]["name"] == one["metadata"]["name"]);
        let numbers: BTreeSet<u64> = whole.filter_map(found_at).collect();
        let missing = before.intersection(&after).filter(|number| !numbers.contains(number));
        let back = gone.intersection(&numbers);
        let mut lost: Vec<String> = missing
            .map(|number| format!("acknowledged and lost: w{number}"))
            .chain(back.map(|number| format!("deleted and there again: w{number}")))
            .collect();
        let counter = found.iter().find(|one| one["metadata"]["name"] == "counter");
        let reached: u64 = counter
            .map(|one| text(&one["data"]["turn"]))
            .and_then(|turn| turn.parse().ok())
            .unwrap_or_default();
        if reached < turned {
            lost.push(format!("acknowledged and lost: turn {turned} of the counter, which is at {reached}"));
        }
        Ok(lost)
    }
}

impl Acknowledged {
    fn there(&self) -> BTreeSet<u64> {
        self.there.lock().unwrap().clone()
    }

    /// Tries until it is done.
    fn insist(&self, over: &AtomicBool, mut attempt: impl FnMut() -> bool) -> bool {
        while !over.load(Ordering::Relaxed) {
            if attempt() {
                return true;
            }
            self.vain.fetch_add(1, Ordering::Relaxed);
            std::thread::park_timeout(PAUSE);
        }
        false
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _it_said_so_itself = thread.join();
        }
    }
}

fn write(api: &Api, over: &AtomicBool, known: &Acknowledged) {
    let object = |name: &str, data: Value| {
        let metadata = json!({"name": name, "labels": {"by": "writer"}});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    };
    let mut counter = false;
    for number in 1_u64.. {
        let name = format!("w{number}");
        let made = object(&name, json!({"name": name}));
        // One whose answer was lost is found by the next try.
        if !known.insist(over, || is_done(api.call("POST", AT, &made), "already exists")) {
            return;
        }
        known.there.lock().unwrap().insert(number);
        known.made.fetch_add(1, Ordering::Relaxed);
        if let Some(old) = number.checked_sub(KEPT) {
            // Whether it is there is not known until that is answered.
            known.there.lock().unwrap().remove(&old);
            let at = format!("{AT}/w{old}");
            if !known.insist(over, || is_done(api.call("DELETE", &at, &json!({})), "not found")) {
                return;
            }
            known.gone.lock().unwrap().insert(old);
        }
        let turn = json!({"turn": number.to_string()});
        let turned = match counter {
            true => api.call("PATCH", &format!("{AT}/counter"), &json!({"data": turn})).is_ok(),
            false => is_done(api.call("POST", AT, &object("counter", turn)), "already exists"),
        };
        if turned && counter {
            known.turned.store(number, Ordering::SeqCst);
        }
        counter |= turned;
        std::thread::park_timeout(PAUSE);
    }
}

/// Whether it was acknowledged, now or, by what it says, at a try before.
fn is_done(answer: Result<Value, String>, before: &str) -> bool {
    match answer {
        Ok(_) => true,
        Err(why) => why.contains(before),
    }
}
