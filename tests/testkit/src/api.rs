//! The real API server on a memory store, without sockets.

use kedge_clock::Clock;
use kedge_http::Router;
use kedge_registry::{Options, Registry, User};
use kedge_store::Store;
use kube::Client;

/// An API server that nobody has used yet.
pub struct Api {
    pub store: Store,
    pub router: Router,
}

impl Api {
    pub async fn start(clock: Clock, options: Options) -> Self {
        let store = Store::memory();
        let registry = Registry::start(store.clone(), clock, options).await.expect("the registry starts");
        let key = kedge_pki::new_key().expect("a key can be made");
        let router = kedge_http::router(registry, kedge_http::Options::new(key)).expect("the router starts");
        Self { store, router }
    }

    pub fn client(&self, user: User) -> Client {
        kedge_client::in_process(self.router.acting_as(user))
    }
}

/// Somebody who may do everything.
pub fn admin(name: &str) -> User {
    User {
        name: name.to_owned(),
        groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    }
}
