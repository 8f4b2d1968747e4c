//! Which kubeconfig counts, and what the flags change about it. Order: `--kubeconfig`, `KUBECONFIG` (a list), `~/.kube/config`, the
//! administrator's of a server on this machine, the service account of the pod that we run in.

use std::path::PathBuf;

use kedge_client::{Place, Servers};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::causes;
use crate::Setting;
use crate::args::Typed;
use crate::error::CliError;

/// The files that count, first wins. Those of the list need not all exist.
pub(crate) fn files(typed: &Typed, setting: &Setting) -> Vec<PathBuf> {
    if let Some(named) = typed.global("kubeconfig").filter(|path| !path.is_empty()) {
        return vec![PathBuf::from(named)];
    }
    if let Some(list) = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        return std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
    }
    let own = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config"));
    match own {
        Some(own) if own.exists() => vec![own],
        _ if setting.kubeconfig.exists() => vec![setting.kubeconfig.clone()],
        own => own.into_iter().collect(),
    }
}

/// All files as one; nothing if none of them exists.
pub(crate) fn merged(typed: &Typed, setting: &Setting) -> Result<Option<Kubeconfig>, CliError> {
    let mut merged: Option<Kubeconfig> = None;
    let files = files(typed, setting);
    let named = typed.given("kubeconfig");
    for file in files.iter().filter(|file| named || file.exists()) {
        let wrong = |error: kube::config::KubeconfigError| CliError::Kubeconfig {
            message: match file.exists() {
                true => format!("{}: {}", file.display(), causes(&error)),
                false => format!("stat {}: no such file or directory", file.display()),
            },
        };
        let read = Kubeconfig::read_from(file).map_err(wrong)?;
        merged = Some(match merged {
            Some(before) => before.merge(read).map_err(wrong)?,
            None => read,
        });
    }
    Ok(merged)
}

/// The namespace of the context, without connecting.
pub(crate) fn namespace(typed: &Typed, setting: &Setting) -> Result<Option<String>, CliError> {
    let Some(config) = merged(typed, setting)? else { return Ok(None) };
    let current = typed.global("context").map(str::to_owned).or(config.current_context);
    let named = config.contexts.into_iter().find(|context| Some(&context.name) == current.as_ref());
    Ok(named.and_then(|context| context.context).and_then(|context| context.namespace))
}

/// Where to connect to and as whom, and all servers there are if the kubeconfig lists several.
pub(crate) async fn config(typed: &Typed, setting: &Setting) -> Result<(Config, Vec<Place>), CliError> {
    let mut places = Vec::new();
    let mut config = match merged(typed, setting)? {
        Some(kubeconfig) if kubeconfig.current_context.is_none() && typed.global("context").is_none() => {
            match typed.global("server") {
                Some(server) => Config::new(uri(server)?),
                None => return Err(unchosen(&kubeconfig)),
            }
        }
        Some(kubeconfig) => {
            known(&kubeconfig, typed)?;
            let options = KubeConfigOptions {
                context: typed.global("context").map(str::to_owned),
                cluster: typed.global("cluster").map(str::to_owned),
                user: typed.global("user").map(str::to_owned),
            };
            if typed.global("server").is_none() {
                places = Servers::meant(&kubeconfig, &options);
            }
            let made = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            made.map_err(|error| CliError::Kubeconfig { message: causes(&error) })?
        }
        None => match typed.global("server") {
            Some(server) => Config::new(uri(server)?),
            None => Config::incluster().map_err(|_| missing(typed, setting))?,
        },
    };
    overrule(&mut config, typed)?;
    Ok((config, places))
}

/// What is named has to be there; kube would go on as nobody.
fn known(config: &Kubeconfig, typed: &Typed) -> Result<(), CliError> {
    let context = typed.global("context").or(config.current_context.as_deref());
    let missing = |what: String, list: &str| CliError::Kubeconfig {
        message: format!("{what}\n`config get-{list}` shows those there are"),
    };
    match (context, typed.global("cluster"), typed.global("user")) {
        (Some(name), ..) if !config.contexts.iter().any(|known| known.name == name) => {
            Err(missing(format!("context {name:?} does not exist"), "contexts"))
        }
        (_, Some(name), _) if !config.clusters.iter().any(|known| known.name == name) => {
            Err(missing(format!("cluster {name:?} does not exist"), "clusters"))
        }
        (.., Some(name)) if !config.auth_infos.iter().any(|known| known.name == name) => {
            Err(missing(format!("auth info {name:?} does not exist"), "users"))
        }
        _ => Ok(()),
    }
}

fn unchosen(config: &Kubeconfig) -> CliError {
    let names: Vec<&str> = config.contexts.iter().map(|context| &*context.name).collect();
    let message = match &names[..] {
        [] => "the kubeconfig has no context: `kedge server` writes one into its data folder; name it with --kubeconfig or KUBECONFIG"
            .to_owned(),
        names => format!(
            "the kubeconfig says of none of its contexts that it is the current one: choose with `config use-context` or --context: {}",
            names.join(", ")
        ),
    };
    CliError::Kubeconfig { message }
}

fn overrule(config: &mut Config, typed: &Typed) -> Result<(), CliError> {
    let text = |flag: &str| typed.global(flag).map(str::to_owned);
    if let Some(server) = typed.global("server") {
        config.cluster_url = uri(server)?;
    }
    if let Some(namespace) = text("namespace").filter(|name| !name.is_empty()) {
        config.default_namespace = namespace;
    }
    if let Some(token) = text("token") {
        config.auth_info.token = Some(token.into());
        config.auth_info.client_certificate = None;
        config.auth_info.client_certificate_data = None;
        config.auth_info.client_key = None;
        config.auth_info.client_key_data = None;
    }
    if let Some(file) = text("client-certificate") {
        config.auth_info.client_certificate = Some(file);
        config.auth_info.client_certificate_data = None;
    }
    if let Some(file) = text("client-key") {
        config.auth_info.client_key = Some(file);
        config.auth_info.client_key_data = None;
    }
    if let Some(file) = text("certificate-authority") {
        config.root_cert = None;
        config.root_cert_file = Some(PathBuf::from(file));
    }
    if let Some(name) = text("tls-server-name") {
        config.tls_server_name = Some(name);
    }
    if typed.given("insecure-skip-tls-verify") {
        config.accept_invalid_certs = typed.is("insecure-skip-tls-verify");
    }
    if let Some(user) = text("as") {
        config.auth_info.impersonate = Some(user);
    }
    if typed.given("as-group") {
        config.auth_info.impersonate_groups = Some(typed.all("as-group").to_vec());
    }
    if let Some(uid) = text("as-uid") {
        config.auth_info.impersonate_uid = Some(uid);
    }
    Ok(())
}

fn uri(server: &str) -> Result<http::Uri, CliError> {
    let whole = if server.contains("://") { server.to_owned() } else { format!("https://{server}") };
    whole.parse().map_err(|_| {
        CliError::usage(format!("--server takes an address like https://host:6443, not {server:?}"))
    })
}

fn missing(typed: &Typed, setting: &Setting) -> CliError {
    let own = &setting.kubeconfig;
    if own.try_exists().is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        let own = own.display();
        return CliError::Kubeconfig {
            message: format!(
                "only root may read {own}: use sudo, or have root copy it and name the copy with --kubeconfig or KUBECONFIG"
            ),
        };
    }
    let tried: Vec<String> = files(typed, setting).iter().map(|file| file.display().to_string()).collect();
    CliError::Kubeconfig {
        message: format!(
            "there is no kubeconfig: looked for {} and {}\n`kedge server` writes one into its data folder; name it with \
             --kubeconfig or KUBECONFIG",
            tried.join(", "),
            setting.kubeconfig.display()
        ),
    }
}
