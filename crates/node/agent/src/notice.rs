//! Notices what happens to containers: hears it from our own containerd at once, and looks now and then at all of them in any
//! case. Says only which pod to look at again, never what happened.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_runtime::containerd;

use crate::registry::Registry;
use crate::tidy::tidy;
use crate::tools::Tools;

/// How often is looked at containers whose runtime tells of them, and at those of another.
const SELDOM: Duration = Duration::from_secs(10);
const OFTEN: Duration = Duration::from_secs(1);
/// After what was heard, is looked again after each of these.
const ECHOES: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(300)];
/// Between two tries to hear.
const PAUSE: Duration = Duration::from_millis(200);

/// How often old sandboxes are looked for.
const TIDY: Duration = Duration::from_secs(60);

/// Until it is dropped. `socket` is that of a containerd of our own.
pub(crate) async fn notice(tools: &Arc<Tools>, registry: &Arc<Registry>, socket: Option<&Path>) {
    let clean = async {
        loop {
            tools.clock.sleep(TIDY).await;
            tidy(tools).await;
        }
    };
    match socket {
        Some(socket) => {
            tokio::join!(hear(tools, registry, socket), look(tools, registry, SELDOM), clean);
        }
        // It may tell nothing at all.
        None => {
            tokio::join!(look(tools, registry, OFTEN), clean);
        }
    }
}

async fn hear(tools: &Arc<Tools>, registry: &Arc<Registry>, socket: &Path) {
    loop {
        let heard = |id: &str| {
            registry.ring(id);
            let (tools, registry, id) = (tools.clone(), registry.clone(), id.to_owned());
            tokio::spawn(async move {
                // What it tells of, it may itself not know yet when it is asked.
                for wait in ECHOES {
                    tools.clock.sleep(wait).await;
                    registry.ring(&id);
                }
            });
        };
        let error = containerd::follow(socket, heard).await;
        tracing::debug!(%error, "containerd tells nothing more");
        tools.clock.sleep(PAUSE).await;
    }
}

/// One list for all containers, and only what changed is looked at.
async fn look(tools: &Tools, registry: &Registry, every: Duration) {
    let mut before: HashMap<String, i32> = HashMap::new();
    loop {
        if let Ok(containers) = tools.runtime.containers(Default::default()).await {
            let now: HashMap<String, i32> =
                containers.into_iter().map(|container| (container.id, container.state)).collect();
            let changed = now.iter().filter(|(id, state)| before.get(*id) != Some(state)).map(|(id, _)| id);
            let gone = before.keys().filter(|id| !now.contains_key(*id));
            changed.chain(gone).for_each(|id| registry.ring(id));
            before = now;
        }
        tools.clock.sleep(every).await;
    }
}
