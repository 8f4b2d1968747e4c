//! What the gateway says about the objects that it serves: whether a DNSRecord leads anywhere, where an Ingress is reached, and who
//! keeps them from it. Pure plans for `control/engine`; serves nothing.

mod ingresses;
mod records;

use kedge_engine::Engine;

/// Gives an engine every controller of this crate. Their kinds are the lean ones of `traffic/facts`.
pub fn join(engine: Engine) -> Engine {
    engine.with(records::Records).with(ingresses::Ingresses)
}
