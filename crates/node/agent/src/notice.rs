//! Notices what happens to containers: hears it from our own containerd at once, and looks at all of them whenever it began to listen
//! and now and then in any case. Says only which pod to look at again, never what happened.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_runtime::containerd;
use tokio::sync::Notify;

use crate::registry::Registry;
use crate::tidy::tidy;
use crate::tools::Tools;

/// How often is looked at containers whose runtime tells of them.
pub(crate) const SELDOM: Duration = Duration::from_secs(10);
/// And at those of another.
const OFTEN: Duration = Duration::from_secs(1);
/// After what was heard, is looked again after each of these.
const ECHOES: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(300)];
/// Between two tries to hear, or to look.
const PAUSE: Duration = Duration::from_millis(200);

/// How often old sandboxes are looked for.
const TIDY: Duration = Duration::from_secs(60);

/// Until it is dropped. `socket` is that of a containerd of our own, at whose containers is looked every so `often`.
pub(crate) async fn notice(
    tools: &Arc<Tools>,
    registry: &Arc<Registry>,
    socket: Option<&Path>,
    often: Duration,
) {
    let clean = async {
        loop {
            tools.clock.sleep(TIDY).await;
            tidy(tools).await;
        }
    };
    let missed = Notify::new();
    match socket {
        Some(socket) => {
            let hear = hear(tools, registry, socket, &missed);
            tokio::join!(hear, look(tools, registry, often, &missed), clean);
        }
        // It may tell nothing at all.
        None => {
            tokio::join!(look(tools, registry, OFTEN, &missed), clean);
        }
    }
}

async fn hear(tools: &Arc<Tools>, registry: &Arc<Registry>, socket: &Path, missed: &Notify) {
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
        // Nobody tells what happened before, nor when the listening has begun; it has by the last of these.
        let before = async {
            missed.notify_one();
            for wait in ECHOES.into_iter().chain([OFTEN]) {
                tools.steady.sleep(wait).await;
                missed.notify_one();
            }
            std::future::pending::<()>().await;
        };
        let error = tokio::select! {
            error = containerd::follow(socket, heard) => error,
            () = before => continue,
        };
        tracing::debug!(%error, "containerd tells nothing more");
        tools.steady.sleep(PAUSE).await;
    }
}

/// One list for all containers, and only what changed is looked at. A runtime that cannot say it now is asked until it does.
async fn look(tools: &Tools, registry: &Registry, every: Duration, missed: &Notify) {
    let mut before: HashMap<String, i32> = HashMap::new();
    loop {
        let wait = match tools.runtime.containers(Default::default()).await {
            Ok(containers) => {
                let now: HashMap<String, i32> =
                    containers.into_iter().map(|container| (container.id, container.state)).collect();
                let changed =
                    now.iter().filter(|(id, state)| before.get(*id) != Some(state)).map(|(id, _)| id);
                let gone = before.keys().filter(|id| !now.contains_key(*id));
                changed.chain(gone).for_each(|id| registry.ring(id));
                before = now;
                every
            }
            Err(_) => PAUSE,
        };
        tokio::select! {
            () = tools.steady.sleep(wait) => {}
            () = missed.notified() => {}
        }
    }
}
