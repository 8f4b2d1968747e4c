//! Waits until the kernel tells of a change of links, addresses or routes.

use kedge_network::{Change, Monitor};
use tokio::io::unix::AsyncFd;

pub(super) struct Changes(Option<AsyncFd<Monitor>>);

impl Changes {
    /// Without them only what others say of the cluster makes us look again.
    pub(super) fn open() -> Self {
        let monitor = Monitor::open().map_err(|error| error.to_string());
        #[expect(deprecated, reason = "an owned descriptor stays what it is for as long as it is held")]
        let opened = monitor.and_then(|monitor| AsyncFd::new(monitor).map_err(|error| error.to_string()));
        if let Err(error) = &opened {
            tracing::warn!("changes of links and routes go unnoticed: {error}");
        }
        Self(opened.ok())
    }

    /// Until there is one that concerns whoever waits.
    pub(super) async fn next(&mut self, concerns: impl Fn(&Change) -> bool) {
        while let Some(monitor) = &mut self.0 {
            let Ok(mut ready) = monitor.readable_mut().await else { break };
            let changes = ready.get_inner_mut().changes();
            // All of them were read: there is nothing more until the kernel says so.
            ready.clear_ready();
            match changes {
                Ok(changes) => {
                    if changes.iter().any(&concerns) {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!("changes of links and routes go unnoticed from now on: {error}");
                    self.0 = None;
                }
            }
        }
        std::future::pending().await
    }
}
