//! How a further node is set up: whom it joins, and with what.

use std::path::PathBuf;

use kedge_client::Place;
use serde::Deserialize;

use super::words::Hidden;
use super::{NodeSettings, SettingsError, list, read};

#[derive(clap::Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct AgentSettings {
    /// A server of the cluster, https://host:6443; may be repeated [default: those that it joined].
    #[arg(long, value_name = "URL", value_delimiter = ',', env = "KEDGE_SERVER")]
    pub(crate) server: Vec<Place>,
    /// What proves that this machine may join, as `kedge token create` shows it; of no use once it has joined.
    #[arg(long, value_name = "TOKEN", env = "KEDGE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<Hidden>,
    /// A file that holds the token.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// How the node of this machine is.
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) node: NodeSettings,
}

impl AgentSettings {
    /// These flags, with what they leave open taken from the config file.
    pub(crate) fn with_file(self) -> Result<Self, SettingsError> {
        let path = self.node.config.clone();
        match read::<Self>(path.as_deref(), &[], "an agent")? {
            Some((file, node)) => Ok(self.or(Self { node, ..file })),
            None => Ok(self),
        }
    }

    fn or(self, file: Self) -> Self {
        // One way of giving the token takes the place of the other.
        let (token, token_file) = match (self.token, self.token_file) {
            (None, None) => (file.token, file.token_file),
            given => given,
        };
        Self { server: list(self.server, file.server), token, token_file, node: self.node.or(file.node) }
    }
}
