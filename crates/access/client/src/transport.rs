//! The ways to reach the API. All give the same client; nothing behind them may tell which one it is.

use bytes::Bytes;
use http::{Request, Response};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

use crate::proxies::is_exempt;
use crate::servers::{Place, Servers};

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[from] KubeconfigError),
    #[error("a client cannot be made from the kubeconfig")]
    Client(#[from] Box<kube::Error>),
}

/// A client over HTTPS to the current context of a kubeconfig: of whichever of its servers answers, if it lists several.
pub async fn https(kubeconfig: Kubeconfig) -> Result<Client, ConnectError> {
    let options = KubeConfigOptions::default();
    let places = Servers::meant(&kubeconfig, &options);
    connect(Config::from_custom_kubeconfig(kubeconfig, &options).await?, places)
}

/// A client as a configuration says, of whichever of these servers answers. With no places it is the one that the configuration
/// names, which may then be reached through a proxy or below a path. Dials nobody yet.
pub fn connect(mut config: Config, places: Vec<Place>) -> Result<Client, ConnectError> {
    go_direct(&mut config);
    several(config, places).map_err(|error| ConnectError::Client(Box::new(error)))
}

/// A kubeconfig that names a proxy means it; the environment's is not for this machine, nor for whom it exempts.
fn go_direct(config: &mut Config) {
    let told = |names: [&str; 2]| names.into_iter().find_map(|name| std::env::var(name).ok());
    let environments =
        told(["HTTPS_PROXY", "https_proxy"]).and_then(|address| address.parse::<http::Uri>().ok());
    let host = config.cluster_url.host().unwrap_or_default();
    let exempt = is_exempt(host, &told(["NO_PROXY", "no_proxy"]).unwrap_or_default());
    if exempt && config.proxy_url == environments {
        config.proxy_url = None;
    }
}

fn several(config: Config, places: Vec<Place>) -> Result<Client, kube::Error> {
    if places.is_empty() {
        return Client::try_from(config);
    }
    let servers = Servers::trusting(places, config.rustls_client_config()?, config.tls_server_name.clone());
    let service = ServiceBuilder::new()
        .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .service(servers);
    Ok(ClientBuilder::new(service, config.default_namespace).build())
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
