//! A process in a container over one WebSocket: its input, its two outputs, its terminal's size, and how it ended. Each message begins with
//! the number of its channel.

use bytes::Bytes;
use kedge_clock::Clock;
use kedge_websocket::Kind;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::nonsense;
use super::websocket::{self, Reader, Socket, Writer};
use crate::client::Api;
use crate::error::CliError;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
/// Says that one of our channels has ended.
const CLOSE: u8 = 255;

/// With the newer one we can say that our input has ended.
const CLOSING: &str = "v5.channel.k8s.io";
const PROTOCOLS: [&str; 2] = [CLOSING, "v4.channel.k8s.io"];

/// Columns and rows.
pub(crate) type Size = (u16, u16);

/// What this end says: bytes until they end, and the terminal's size whenever it changes.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) input: Option<mpsc::Receiver<Bytes>>,
    pub(crate) sizes: Option<mpsc::Receiver<Size>>,
}

/// Where the process's words go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Out,
    Err,
}

pub(crate) type Hear<'h> = dyn FnMut(Output, &[u8]) -> Result<(), CliError> + Send + 'h;

/// Talks until the process has ended, and says how.
pub(crate) async fn talk(
    api: &Api,
    clock: &Clock,
    path: &str,
    said: Said,
    hear: &mut Hear<'_>,
) -> Result<(), CliError> {
    let Socket { reader, mut writer, protocol } = websocket::connect(api, clock, path, &PROTOCOLS).await?;
    let (pongs, pings) = mpsc::channel(4);
    let status = tokio::select! {
        status = listen(reader, pongs, hear) => status?,
        broken = say(&mut writer, said, pings, protocol == CLOSING) => return Err(broken),
    };
    // The server may have gone already, and all is said.
    let _gone = writer.close().await;
    ended(&status.ok_or_else(|| nonsense("it ended before the process did"))?)
}

async fn listen(
    mut reader: Reader,
    pongs: mpsc::Sender<Bytes>,
    hear: &mut Hear<'_>,
) -> Result<Option<Value>, CliError> {
    let mut status = None;
    while let Some(message) = reader.next().await? {
        match message.kind {
            Kind::Close => break,
            // Who pings faster than we write hears that we are there from what we write.
            Kind::Ping => drop(pongs.try_send(message.content)),
            Kind::Pong => {}
            Kind::Text | Kind::Binary => match message.content.split_first() {
                Some((&STDOUT, content)) => hear(Output::Out, content)?,
                Some((&STDERR, content)) => hear(Output::Err, content)?,
                Some((&ERROR, content)) if !content.is_empty() => {
                    let told = serde_json::from_slice(content);
                    status = Some(told.map_err(|_| nonsense("its last word is no status"))?);
                }
                _ => {}
            },
        }
    }
    Ok(status)
}

/// Comes back only if it cannot go on.
async fn say(writer: &mut Writer, said: Said, mut pings: mpsc::Receiver<Bytes>, closes: bool) -> CliError {
    let Said { mut input, mut sizes } = said;
    loop {
        let sent = tokio::select! {
            next = hear_of(&mut input) => match next {
                Some(bytes) => writer.send(Kind::Binary, &[&[STDIN], &bytes]).await,
                None if closes => writer.send(Kind::Binary, &[&[CLOSE, STDIN]]).await,
                None => Ok(()),
            },
            next = hear_of(&mut sizes) => match next {
                Some((columns, rows)) => {
                    let size = json!({"Width": columns, "Height": rows}).to_string();
                    writer.send(Kind::Binary, &[&[RESIZE], size.as_bytes()]).await
                }
                None => Ok(()),
            },
            Some(ping) = pings.recv() => writer.send(Kind::Pong, &[&ping]).await,
        };
        if let Err(error) = sent {
            return error;
        }
    }
}

/// What comes next; none at the end, and after it nothing ever.
async fn hear_of<T>(source: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    let Some(open) = source else { return std::future::pending().await };
    let next = open.recv().await;
    if next.is_none() {
        *source = None;
    }
    next
}

/// The process's own exit code becomes ours; who called says so.
fn ended(status: &Value) -> Result<(), CliError> {
    if status["status"] == "Success" {
        return Ok(());
    }
    let causes = status["details"]["causes"].as_array();
    let code = causes.into_iter().flatten().find(|cause| cause["reason"] == "ExitCode");
    let code = code.and_then(|cause| cause["message"].as_str()?.parse::<u8>().ok());
    match code {
        Some(code) => Err(CliError::Exit(code)),
        None => {
            let message = status["message"].as_str().unwrap_or("the server does not say why it ended");
            Err(CliError::unmet(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ended;

    #[test]
    fn a_process_ends_as_its_status_says() {
        let causes = json!([{"reason": "ExitCode", "message": "7"}]);
        for (case, status, told) in [
            ("well", json!({"status": "Success"}), None),
            ("with a code", json!({"status": "Failure", "details": {"causes": causes}}), Some("exit code 7")),
            (
                "otherwise",
                json!({"status": "Failure", "message": "no such container"}),
                Some("no such container"),
            ),
        ] {
            let got = ended(&status).err().map(|error| error.to_string());
            assert_eq!(got.is_some(), told.is_some(), "{case}: {got:?}");
            if let (Some(got), Some(told)) = (got, told) {
                assert!(got.contains(told), "{case}: {got}");
            }
        }
    }
}
