//! What a container is told when it has started and before it ends. A hook that fails is told of without its words: they may
//! hold what is nobody's business.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, LifecycleHandler};
use kedge_probes::{Page, Ran, WebError, fetch};

use crate::probes::{page, run};
use crate::tools::Tools;

const AGENT: &str = "kube-lifecycle/1.36";

#[derive(Debug, thiserror::Error)]
pub(crate) enum HookError {
    #[error("command '{command}' exited with {code}: {output}")]
    Exited { command: String, code: i32, output: String },
    #[error("{0}")]
    NotRun(String),
    #[error("command timed out: {0:?}")]
    TimedOut(String),
    #[error(transparent)]
    Web(#[from] WebError),
    #[error("invalid handler")]
    None,
}

/// What went fine although it should be read about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fallback(pub(crate) String);

/// Runs a hook of the container `id`, whose pod is at `ip`. `limit` is all the time that there is.
pub(crate) async fn run_hook(
    tools: &Tools,
    id: &str,
    container: &Container,
    hook: &LifecycleHandler,
    ip: &str,
    limit: Duration,
) -> Result<Option<Fallback>, HookError> {
    if let Some(action) = &hook.exec {
        let words = action.command.clone().unwrap_or_default();
        let command = words.join(" ");
        return match run(&tools.runtime, id, words, limit).await {
            Ran::Ended { code: 0, .. } => Ok(None),
            Ran::Ended { code, output } => Err(HookError::Exited {
                command,
                code,
                output: String::from_utf8_lossy(&output).into_owned(),
            }),
            Ran::TimedOut => Err(HookError::TimedOut(command)),
            Ran::Not(reason) => Err(HookError::NotRun(reason)),
        };
    }
    if let Some(action) = &hook.http_get {
        let page = page(action, container, ip, AGENT).map_err(HookError::NotRun)?;
        return ask(page, limit).await;
    }
    if let Some(action) = &hook.sleep {
        let wanted = Duration::from_secs(u64::try_from(action.seconds).unwrap_or_default());
        tools.clock.sleep(wanted.min(limit)).await;
        return Ok(None);
    }
    // Kubernetes keeps `tcpSocket` in the format and has never done anything for it.
    if hook.tcp_socket.is_some() { Err(HookError::None) } else { Ok(None) }
}

/// Any answer will do. Who was to be asked with TLS and speaks without is asked again so.
async fn ask(page: Page, limit: Duration) -> Result<Option<Fallback>, HookError> {
    let plain = match fetch(&page, limit).await {
        Ok(_) => return Ok(None),
        Err(WebError::Plain { .. }) => Page {
            tls: false,
            headers: page
                .headers
                .into_iter()
                .filter(|(name, _)| !name.eq_ignore_ascii_case("authorization"))
                .collect(),
            ..page
        },
        Err(error) => return Err(error.into()),
    };
    fetch(&plain, limit).await?;
    let at = format!("{}:{}", plain.host, plain.port);
    let message =
        format!("request to HTTPS lifecycle hook {at} got HTTP response, retry with HTTP succeeded");
    Ok(Some(Fallback(message)))
}
