//! One command's run: its screen, its client, what the server has, and what every flag of every command says. Connects on first use,
//! so that what needs no server works without one.

use kedge_clock::Clock;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::Setting;
use crate::args::Typed;
use crate::client::{Api, kubeconfig};
use crate::error::CliError;
use crate::mapping::Mapping;
use crate::screen::Screen;

pub(crate) struct Session<'s> {
    pub(crate) screen: Screen,
    pub(crate) setting: &'s Setting,
    pub(crate) clock: Clock,
    /// What the user calls us: `kubectl`, `kedge` or `kedge kubectl`.
    pub(crate) program: &'s str,
    pub(crate) typed: &'s Typed,
    api: OnceCell<Api>,
    mapping: OnceCell<Mapping>,
}

/// How far a write goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DryRun {
    None,
    Client,
    Server,
}

impl DryRun {
    /// What is said behind "created".
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

impl<'s> Session<'s> {
    pub(crate) fn new(typed: &'s Typed, screen: Screen, setting: &'s Setting, program: &'s str) -> Self {
        Self {
            screen,
            setting,
            clock: Clock::system(),
            program,
            typed,
            api: OnceCell::new(),
            mapping: OnceCell::new(),
        }
    }

    pub(crate) async fn api(&self) -> Result<&Api, CliError> {
        self.api.get_or_try_init(|| Api::connect(self.typed, self.setting, self.screen)).await
    }

    /// What kinds the server has, asked for once.
    pub(crate) async fn mapping(&self) -> Result<&Mapping, CliError> {
        self.mapping
            .get_or_try_init(|| async {
                let mapping = Mapping::ask(self.api().await?).await?;
                mapping.silent.iter().for_each(|group| {
                    self.screen.warn(&format!("Warning: the server of API group {group} does not answer"));
                });
                Ok(mapping)
            })
            .await
    }

    /// What kinds these manifests are of, for when no server is asked.
    pub(crate) fn supposed(&self, manifests: &[Value]) -> Option<&Mapping> {
        if !self.mapping.initialized() {
            // Nobody else fills it meanwhile: a command is one task.
            let _first = self.mapping.set(Mapping::supposed(manifests));
        }
        self.mapping.get()
    }

    /// The namespace to work in: the flag's, the context's, or `default`.
    pub(crate) fn namespace(&self) -> Result<String, CliError> {
        if let Some(named) = self.typed.text("namespace").filter(|name| !name.is_empty()) {
            return Ok(named.to_owned());
        }
        if let Some(api) = self.api.get() {
            return Ok(api.namespace.clone());
        }
        Ok(kubeconfig::namespace(self.typed, self.setting)?.unwrap_or_else(|| "default".to_owned()))
    }

    pub(crate) fn dry_run(&self) -> Result<DryRun, CliError> {
        match self.typed.text("dry-run") {
            None | Some("none" | "false") => Ok(DryRun::None),
            Some("client" | "true" | "unchanged") => Ok(DryRun::Client),
            Some("server") => Ok(DryRun::Server),
            Some(other) => Err(CliError::usage(format!(
                "Invalid dry-run value ({other}). Must be \"none\", \"server\", or \"client\"."
            ))),
        }
    }

    /// The parameters of a write: dry run, manager of fields, strictness.
    pub(crate) fn writing(&self, manager: &str) -> Result<Vec<(&'static str, String)>, CliError> {
        let mut parameters = vec![(
            "fieldManager",
            self.typed.text("field-manager").filter(|name| !name.is_empty()).unwrap_or(manager).to_owned(),
        )];
        if self.dry_run()? == DryRun::Server {
            parameters.push(("dryRun", "All".to_owned()));
        }
        let strictness = match self.typed.text("validate") {
            None | Some("true" | "strict") => "Strict",
            Some("warn") => "Warn",
            Some("false" | "ignore") => "Ignore",
            Some(other) => {
                return Err(CliError::usage(format!(
                    "invalid - validate option {other:?}; must be one of: strict (or true), warn, ignore (or false)"
                )));
            }
        };
        parameters.push(("fieldValidation", strictness.to_owned()));
        Ok(parameters)
    }

    /// An object that has to be there.
    pub(crate) async fn read(&self, path: &str) -> Result<Value, CliError> {
        match self.api().await?.get(path).await {
            Err(error) if error.is_not_found() => Err(self.nowhere(path, error).await),
            done => done,
        }
    }

    /// Why something is not there: a namespace that does not exist has nothing, and is more likely what was typed wrongly.
    pub(crate) async fn nowhere(&self, path: &str, error: CliError) -> CliError {
        let namespace = path.split("/namespaces/").nth(1).and_then(|rest| rest.split('/').next());
        let Some(namespace) = namespace.filter(|namespace| *namespace != "default") else { return error };
        let Ok(api) = self.api().await else { return error };
        match api.get(&format!("/api/v1/namespaces/{namespace}")).await {
            Err(missing) if missing.is_not_found() => missing,
            _ => error,
        }
    }
}
