//! A client that never stops writing, and knows what was acknowledged to it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{Api, Door};

const AT: &str = "/api/v1/namespaces/default/configmaps";
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Writer {
    over: Arc<AtomicBool>,
    acknowledged: Arc<Acknowledged>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Acknowledged {
    made: Mutex<BTreeSet<String>>,
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

    pub(crate) fn count(&self) -> usize {
        self.acknowledged.made.lock().unwrap().len()
    }

    pub(crate) fn vain(&self) -> u64 {
        self.acknowledged.vain.load(Ordering::Relaxed)
    }

    /// What was acknowledged and is not there.
    pub(crate) fn lost(&self, api: &Api) -> Result<Vec<String>, String> {
        // In this order: what is acknowledged in between is no loss.
        let (wanted, turned) = {
            let made = self.acknowledged.made.lock().unwrap().clone();
            (made, self.acknowledged.turned.load(Ordering::SeqCst))
        };
        let found = api.list(&format!("{AT}?labelSelector=by%3Dwriter"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let names: BTreeSet<String> = found
            .iter()
            .filter(|one| one["data"]["name"] == one["metadata"]["name"])
            .map(|one| text(&one["metadata"]["name"]))
            .collect();
        let mut lost: Vec<String> = wanted.difference(&names).cloned().collect();
        let counter = found.iter().find(|one| one["metadata"]["name"] == "counter");
        let reached: u64 = counter
            .map(|one| text(&one["data"]["turn"]))
            .and_then(|turn| turn.parse().ok())
            .unwrap_or_default();
        if reached < turned {
            lost.push(format!("turn {turned} of the counter, which is at {reached}"));
        }
        Ok(lost)
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
        // Tries until it is there. One whose answer was lost is found by the next try.
        while !over.load(Ordering::Relaxed) {
            let made = object(&name, json!({"name": name}));
            if acknowledged(api.call("POST", AT, &made)) {
                known.made.lock().unwrap().insert(name.clone());
                break;
            }
            known.vain.fetch_add(1, Ordering::Relaxed);
            std::thread::park_timeout(PAUSE);
        }
        if over.load(Ordering::Relaxed) {
            return;
        }
        let turn = json!({"turn": number.to_string()});
        let turned = match counter {
            true => api.call("PATCH", &format!("{AT}/counter"), &json!({"data": turn})).is_ok(),
            false => acknowledged(api.call("POST", AT, &object("counter", turn))),
        };
        if turned && counter {
            known.turned.store(number, Ordering::SeqCst);
        }
        counter |= turned;
        std::thread::park_timeout(PAUSE);
    }
}

fn acknowledged(answer: Result<Value, String>) -> bool {
    match answer {
        Ok(_) => true,
        Err(why) => why.contains("already exists"),
    }
}
