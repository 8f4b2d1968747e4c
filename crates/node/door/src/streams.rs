//! Talking with what runs: commands, attached processes and ports. The runtime speaks SPDY at an address of its own; who
//! speaks SPDY too is passed on as is, who speaks WebSocket is translated.

mod backend;
mod channels;
mod ports;
mod relay;
#[cfg(test)]
mod tests;
mod tunnel;

use http::header::{CONNECTION, UPGRADE};
use k8s_openapi::api::core::v1::Pod;
use kedge_runtime::Runtime;
use kedge_runtime::wire::{AttachRequest, ExecRequest, PortForwardRequest};

use crate::answer::{Answer, Refusal};
use crate::call::{Call, Query};
use crate::pods::{name, sandbox, uid};
use crate::websocket::{Handshake, has_token};

/// Which streams somebody wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) tty: bool,
}

impl Said {
    pub(crate) fn of(query: &Query) -> Result<Self, Refusal> {
        let tty = query.is_set("tty");
        // A terminal has one output.
        let stderr = query.is_set("error") && !tty;
        let said = Self { stdin: query.is_set("input"), stdout: query.is_set("output"), stderr, tty };
        if !said.stdin && !said.stdout && !said.stderr {
            return Err(Refusal::bad("you must specify at least 1 of stdin, stdout, stderr"));
        }
        Ok(said)
    }
}

/// How a client wants to go on.
enum Asked {
    Spdy,
    WebSocket(Handshake),
}

impl Asked {
    fn of(call: &Call) -> Result<Self, Refusal> {
        let headers = call.headers();
        if has_token(headers, CONNECTION.as_str(), "upgrade")
            && has_token(headers, UPGRADE.as_str(), "SPDY/3.1")
        {
            return Ok(Self::Spdy);
        }
        let handshake = Handshake::of(headers)?;
        handshake.map(Self::WebSocket).ok_or_else(|| Refusal::bad("Upgrade request required"))
    }
}

/// Runs a command.
pub(crate) async fn exec(
    runtime: &Runtime,
    call: Call,
    container_id: String,
    cmd: Vec<String>,
    said: Said,
) -> Result<Answer, Refusal> {
    let asked = Asked::of(&call)?;
    if cmd.is_empty() {
        return Err(Refusal::bad("you must specify a command"));
    }
    let Said { stdin, stdout, stderr, tty } = said;
    let request = ExecRequest { container_id, cmd, tty, stdin, stdout, stderr };
    let address = runtime.exec_address(request).await.map_err(Refusal::failed)?;
    talk(call, asked, &address, said).await
}

/// Attaches to a process that runs already, and that has a terminal or not.
pub(crate) async fn attach(
    runtime: &Runtime,
    call: Call,
    container_id: String,
    tty: bool,
    said: Said,
) -> Result<Answer, Refusal> {
    let asked = Asked::of(&call)?;
    let Said { stdin, stdout, stderr, .. } = said;
    let request = AttachRequest { container_id, stdin, tty, stdout, stderr: stderr && !tty };
    let address = runtime.attach_address(request).await.map_err(Refusal::failed)?;
    talk(call, asked, &address, Said { tty, stderr: stderr && !tty, ..said }).await
}

async fn talk(call: Call, asked: Asked, address: &str, said: Said) -> Result<Answer, Refusal> {
    match asked {
        Asked::Spdy => relay::relay(call, address).await,
        Asked::WebSocket(handshake) => channels::translate(call, &handshake, address, said).await,
    }
}

/// Reaches ports of a pod.
pub(crate) async fn port_forward(
    runtime: &Runtime,
    call: Call,
    pod: &Pod,
    query: &Query,
) -> Result<Answer, Refusal> {
    let asked = Asked::of(&call)?;
    let sandbox = sandbox(runtime, uid(pod)).await.map_err(Refusal::failed)?;
    let sandbox = sandbox.ok_or_else(|| {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        Refusal::failed(format!("pod not found (\"{}_{namespace}\")", name(pod)))
    })?;
    let request = PortForwardRequest { pod_sandbox_id: sandbox.id, port: Vec::new() };
    let address = runtime.port_forward_address(request).await.map_err(Refusal::failed)?;
    match asked {
        Asked::Spdy => relay::relay(call, &address).await,
        Asked::WebSocket(handshake) if handshake.protocols.iter().any(|one| one == tunnel::PROTOCOL) => {
            tunnel::tunnel(call, &handshake, &address).await
        }
        Asked::WebSocket(handshake) => ports::translate(call, &handshake, &address, query).await,
    }
}
