//! `cp`: files and folders into a container and out of it, as a tar archive through a `tar` that runs there.

mod pack;
mod unpack;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{exec, pods};
use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::error::CliError;
use crate::session::Session;
use crate::stream::channels::{Output, Said, talk};

const FLAGS: &[Flag] = &[
    value("container", "NAME", "The container").or('c'),
    switch("no-preserve", "Forget owner and permissions"),
    value("retries", "NUMBER", "Taken and ignored"),
];

pub(crate) static COMMAND: Command = Command {
    name: "cp",
    about: "Copy files into a container or out of it",
    usage: "[[NAMESPACE/]POD:]FROM [[NAMESPACE/]POD:]TO",
    examples: &["cp web-1:/var/log/app.log app.log", "cp site/ other/web-1:/srv/site -c app"],
    flags: &[FLAGS],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// One end of a copy.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Here(PathBuf),
    There { namespace: Option<String>, pod: String, path: String },
}

impl Place {
    /// `[[namespace/]pod:]path`; what begins like a path is one, colon or not.
    fn of(word: &str) -> Result<Self, CliError> {
        let before = word.split_once(':').filter(|(pod, _)| !pod.starts_with(['.', '/', '~']));
        let Some((pod, path)) = before else { return Ok(Self::Here(PathBuf::from(word))) };
        if path.is_empty() {
            return Err(CliError::usage(format!(
                "filepath can not be empty\n{word:?} should be [NAMESPACE/]POD:PATH"
            )));
        }
        let (namespace, pod) = match pod.split_once('/') {
            Some((namespace, pod)) => (Some(namespace.to_owned()), pod),
            None => (None, pod),
        };
        match pod.is_empty() || pod.contains('/') {
            true => Err(CliError::usage(format!(
                "filespec must match the canonical format: [[namespace/]pod:]file/path\n{word:?} names no pod"
            ))),
            false => Ok(Self::There { namespace, pod: pod.to_owned(), path: path.to_owned() }),
        }
    }
}

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let [from, to] = typed.words.as_slice() else {
        return Err(CliError::usage("source and destination are required"));
    };
    match (Place::of(from)?, Place::of(to)?) {
        (Place::Here(from), Place::There { namespace, pod, path }) => {
            let there = There::find(session, typed, namespace, &pod).await?;
            there.put(&from, &path, typed.is("no-preserve")).await
        }
        (Place::There { namespace, pod, path }, Place::Here(to)) => {
            let there = There::find(session, typed, namespace, &pod).await?;
            there.take(&path, &to).await
        }
        (Place::Here(_), Place::Here(_)) => {
            Err(CliError::usage("one of src or dest must be a remote file specification"))
        }
        (Place::There { .. }, Place::There { .. }) => Err(CliError::usage(
            "one of src or dest must be a local file specification\nCopy to a local file in between",
        )),
    }
}

/// A container in which commands are run.
struct There<'s> {
    session: &'s Session<'s>,
    pod: Value,
    container: String,
}

impl<'s> There<'s> {
    async fn find(
        session: &'s Session<'_>,
        typed: &Typed,
        namespace: Option<String>,
        name: &str,
    ) -> Result<There<'s>, CliError> {
        let namespace = match namespace {
            Some(namespace) => namespace,
            None => session.namespace()?,
        };
        let pod = session.read(&format!("/api/v1/namespaces/{namespace}/pods/{name}")).await?;
        let container = pods::container(session, &pod, typed.text("container")).to_owned();
        Ok(There { session, pod, container })
    }

    /// Runs a command there. What it complains about is the error.
    async fn run(
        &self,
        command: &[&str],
        said: Said,
        mut out: impl FnMut(&[u8]) + Send,
    ) -> Result<(), CliError> {
        let asked = exec::asked(&self.container, said.input.is_some(), false);
        let path = exec::path(&self.pod, command.iter().copied(), &asked);
        let mut complaint = Vec::new();
        let mut hear = |output: Output, bytes: &[u8]| {
            match output {
                Output::Out => out(bytes),
                Output::Err => complaint.extend_from_slice(bytes),
            }
            Ok(())
        };
        let api = self.session.api().await?;
        let done = talk(api, &self.session.clock, &path, said, &mut hear).await;
        if !complaint.is_empty() {
            self.session.screen.murmur(&String::from_utf8_lossy(&complaint));
        }
        match done {
            Err(CliError::Exit(code)) => {
                self.session.screen.warn(&format!("command terminated with exit code {code}"));
                Err(CliError::Exit(code))
            }
            done => done,
        }
    }

    async fn put(&self, from: &Path, to: &str, forget: bool) -> Result<(), CliError> {
        if !from.exists() {
            return Err(CliError::unmet(format!("{} doesn't exist in local filesystem", from.display())));
        }
        // Into a folder that is there, under its own name; otherwise as the name says.
        let api = self.session.api().await?;
        let test = exec::path(
            &self.pod,
            ["test", "-d", to].into_iter(),
            &exec::asked(&self.container, false, false),
        );
        let is_folder =
            talk(api, &self.session.clock, &test, Said::default(), &mut |_, _| Ok(())).await.is_ok();
        let name = from.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let to = match to.trim_end_matches('/') {
            "" => format!("/{name}"),
            to if is_folder => format!("{to}/{name}"),
            to => to.to_owned(),
        };
        let (folder, name) = match to.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some((folder, name)) => (folder, name),
            None => ("", &*to),
        };
        let mut command = match forget {
            true => vec!["tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-"],
            false => vec!["tar", "-xmf", "-"],
        };
        if !folder.is_empty() {
            command.extend(["-C", folder]);
        }
        let (archive, packed) = pack::pack(from.to_owned(), name.to_owned());
        let said = Said { input: Some(archive), sizes: None };
        self.run(&command, said, |_| {}).await?;
        match packed.await {
            Ok(packed) => packed,
            Err(_) => Err(CliError::unmet("packing the files was given up")),
        }
    }

    async fn take(&self, from: &str, to: &Path) -> Result<(), CliError> {
        let from = from.trim_end_matches('/');
        let name = from.rsplit('/').next().unwrap_or_default();
        let to = if to.is_dir() && !name.is_empty() && name != "." { to.join(name) } else { to.to_owned() };
        let (archive, unpacked) = unpack::unpack(from.trim_start_matches('/').to_owned(), to);
        let from = if from.is_empty() { "/" } else { from };
        let done = self
            .run(&["tar", "cf", "-", from], Said::default(), |bytes| {
                // Who unpacks has stopped at an error of its own, which is told below.
                let _stopped = archive.send(bytes.to_vec());
            })
            .await;
        drop(archive);
        let unpacked = match unpacked.await {
            Ok(unpacked) => unpacked,
            Err(_) => Err(CliError::unmet("unpacking the files was given up")),
        };
        unpacked?.iter().for_each(|warning| self.session.screen.warn(warning));
        done
    }
}

#[cfg(test)]
mod tests;
