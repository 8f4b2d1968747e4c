//! The two ways to reach the API. Both give the same client; nothing behind them may tell which one it is.

use bytes::Bytes;
use http::{Request, Response};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tower::{BoxError, Service};

use crate::several::answering;

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[from] KubeconfigError),
    #[error("a client cannot be made from the kubeconfig")]
    Client(#[from] Box<kube::Error>),
}

/// A client over HTTPS to the current context of a kubeconfig: of a server that answers now, if it lists several.
pub async fn https(kubeconfig: Kubeconfig) -> Result<Client, ConnectError> {
    let kubeconfig = answering(kubeconfig).await;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Client::try_from(config).map_err(|error| ConnectError::Client(Box::new(error)))
}

/// A client of a server in this process: the same router, authorization and encoding as on a socket, without the socket.
/// Who it acts as is the service's to know. Needs a running tokio runtime.
pub fn in_process<S, B>(service: S) -> Client
where
    S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    Client::new(service, "default")
}
