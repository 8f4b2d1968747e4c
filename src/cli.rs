//! The command line of a cluster's users, told what only the binary knows: its own commands, and where its kubeconfig is.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::command::Kedge;
use crate::settings::DATA_DIR;

/// Answers if what was typed is for the cluster, not for this machine.
pub(crate) fn called() -> Option<ExitCode> {
    kedge_cli::called(&kedge_cli::Setting {
        kubeconfig: Path::new(DATA_DIR).join("kubeconfig"),
        own: |name| Kedge::command().find_subcommand(name).is_some(),
        version: env!("CARGO_PKG_VERSION"),
    })
}
