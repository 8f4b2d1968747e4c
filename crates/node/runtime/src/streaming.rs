//! Asks the runtime for an address at which it streams. The address is good for one use, and for about a minute.

use std::time::Duration;

use crate::client::Runtime;
use crate::error::RuntimeError;
use crate::wire::{AttachRequest, ExecRequest, PortForwardRequest, StreamingAddress};

const LIMIT: Duration = Duration::from_secs(30);

impl Runtime {
    /// Where a command in a container is talked with; it starts when somebody does.
    pub async fn exec_address(&self, request: ExecRequest) -> Result<String, RuntimeError> {
        self.address("Exec", "/runtime.v1.RuntimeService/Exec", request).await
    }

    /// Where a container's own process is talked with.
    pub async fn attach_address(&self, request: AttachRequest) -> Result<String, RuntimeError> {
        self.address("Attach", "/runtime.v1.RuntimeService/Attach", request).await
    }

    /// Where a sandbox's ports are reached.
    pub async fn port_forward_address(&self, request: PortForwardRequest) -> Result<String, RuntimeError> {
        self.address("PortForward", "/runtime.v1.RuntimeService/PortForward", request).await
    }

    async fn address<M: prost::Message + 'static>(
        &self,
        call: &'static str,
        path: &'static str,
        request: M,
    ) -> Result<String, RuntimeError> {
        let answer: StreamingAddress = self.caller.ask(path, request, LIMIT).await?;
        if answer.url.is_empty() {
            return Err(RuntimeError::Incomplete { call, what: "an address" });
        }
        Ok(answer.url)
    }
}
