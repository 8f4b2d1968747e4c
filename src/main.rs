//! The one binary: picks a role and leaves it to that role. Knows no crate from the inside; `assemble` does.

mod agent;
mod aside;
mod ask;
mod assemble;
mod backup;
mod bundled;
mod certificate;
mod certs;
mod cli;
mod cluster;
mod cni;
mod command;
mod control;
mod doctor;
mod door;
mod etcd;
mod figures;
mod gateway;
mod hatch;
mod hosts;
mod image;
mod install;
mod join;
mod journal;
mod kubeconfig;
mod limits;
mod member;
mod names;
mod network;
mod notify;
mod operate;
mod pages;
mod peers;
mod pki;
mod policy;
mod proxy;
mod ranges;
mod secrets;
mod services;
mod settings;
mod shutdown;
mod status;
mod tidy;
mod token;
mod traffic;
mod unseen;
mod ways;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command::{Command, ImageCommand, SecretsCommand, TokenCommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(answered) = cni::called() {
        return answered;
    }
    if let Some(answered) = cli::called() {
        return answered;
    }
    let done = match command::typed().command {
        Command::Server(flags) => server(*flags),
        Command::Apiserver(flags) => server(flags.of_api_alone()),
        Command::Controllers { kubeconfig } => alone(control::controllers_alone(&kubeconfig)),
        Command::Scheduler { kubeconfig, config } => alone(control::scheduler_alone(&kubeconfig, config)),
        Command::Proxy { node_name, clean: true, .. } => proxy::clean(node_name).map_err(Into::into),
        Command::Proxy { kubeconfig, node_name, cluster_cidr, clean: false } => {
            alone(proxy::alone(&kubeconfig.unwrap_or_default(), node_name, cluster_cidr))
        }
        Command::Agent(flags) => agent(*flags),
        Command::Token { command, data_dir, kubeconfig } => tokens(command, &data_dir, kubeconfig),
        Command::Clean { data_dir } => operate::clean(&data_dir),
        Command::Status { data_dir, output } => operate::status(&data_dir, output),
        Command::Doctor { role, kubeconfig, output, settings } => {
            operate::doctor(role, *settings, kubeconfig, output)
        }
        Command::Certs { data_dir } => operate::certs(&data_dir),
        Command::Install { role, flags } => operate::install(role, &flags),
        Command::Uninstall { data_dir } => operate::uninstall(&data_dir),
        Command::Backup { file, data_dir, keys_only, without_keys } => {
            operate::backup(&file, &data_dir, backup::Part::of(keys_only, without_keys))
        }
        Command::Restore { file, data_dir, keys_only, force } => {
            operate::restore(&file, &data_dir, keys_only, force)
        }
        Command::Secrets { command: SecretsCommand::RotateKey { data_dir } } => operate::rotate(&data_dir),
        Command::Image { command, data_dir, container_runtime_endpoint } => {
            images(command, &data_dir, container_runtime_endpoint)
        }
        Command::Version => say(&format!("kedge {} (Kubernetes v1.36)\n", env!("CARGO_PKG_VERSION"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If even this cannot be written there is nobody left to tell.
            let words = journal::grave(&format!("kedge: {}", told(&*error)));
            let _told = std::io::stderr().write_all(format!("{words}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn server(flags: settings::Settings) -> Result<(), Box<dyn Error>> {
    let settings = flags.with_file()?;
    // Huge pages make a nearly empty heap resident. Where they cannot be switched off, the server is only larger.
    let _kept = rustix::thread::disable_transparent_huge_pages(true);
    journal::begin();
    // Shells and service managers give few by default, and each connection is one.
    let files = limits::raise_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_park(tidy::when_idle)
        .on_thread_unpark(tidy::when_woken)
        .build()?;
    runtime.block_on(assemble::server(settings, files))?;
    Ok(())
}

fn agent(flags: settings::AgentSettings) -> Result<(), Box<dyn Error>> {
    unseen::hide_token();
    let settings = flags.with_file()?;
    let _kept = rustix::thread::disable_transparent_huge_pages(true);
    journal::begin();
    limits::raise_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(member::run(settings))?;
    Ok(())
}

fn tokens(command: TokenCommand, data_dir: &Path, kubeconfig: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let told = runtime.block_on(async {
        let client = token::admin(data_dir, kubeconfig).await?;
        let now = kedge_clock::Clock::system().now();
        match command {
            TokenCommand::Create { ttl, description, print_join_command } => {
                token::create(&client, ttl.0, &description, print_join_command, now).await
            }
            TokenCommand::List => token::list(&client, now).await,
            TokenCommand::Delete { tokens } => token::delete(&client, &tokens).await,
        }
    })?;
    say(&told)
}

/// Runs one part until a signal ends it; others go on from what it wrote.
fn alone(part: impl Future<Output = Result<(), control::ControlError>>) -> Result<(), Box<dyn Error>> {
    journal::begin();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(part)?)
}

fn images(command: ImageCommand, data_dir: &Path, endpoint: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let socket = image::socket(data_dir, endpoint)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let told = runtime.block_on(async {
        match command {
            ImageCommand::Import { files, name } => image::import(&socket, &files, name).await,
            ImageCommand::List => image::list(&socket).await,
            ImageCommand::Remove { images } => image::remove(&socket, &images).await,
        }
    })?;
    say(&told)
}

/// Whoever reads no further wants no more; that is no error.
fn say(text: &str) -> Result<(), Box<dyn Error>> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Words of the layers between, which tell a person nothing.
const BETWEEN: [&str; 2] = ["ServiceError: ", "client error (Connect): "];

/// The error and what it came from, in one line; what was said already is not said again.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(&format!(": {said}"));
        }
        cause = error.source();
    }
    BETWEEN.iter().fold(text, |text, words| text.replace(words, ""))
}
