//! An answer that comes in lines for as long as it is open: watches, logs that are followed.

use bytes::BytesMut;
use http::Method;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use super::{Api, JSON, refusal, request};
use crate::error::CliError;

/// Lines, each without its end.
pub(crate) struct Lines {
    body: Body,
    read: BytesMut,
    ended: bool,
}

impl Api {
    /// A watch at this path; each line is an event.
    pub(crate) async fn watch(&self, path: &str, accept: &str) -> Result<Lines, CliError> {
        let request = request(Method::GET, path, accept, None, bytes::Bytes::new())?;
        let response = self.open(request).await?;
        Ok(Lines { body: response.into_body(), read: BytesMut::new(), ended: false })
    }

    /// Text that goes on, as it comes.
    pub(crate) async fn follow(&self, path: &str) -> Result<Lines, CliError> {
        self.watch(path, &format!("{JSON}, */*")).await
    }
}

impl Lines {
    /// The next line, or nothing once the server has ended it.
    pub(crate) async fn next(&mut self) -> Result<Option<BytesMut>, CliError> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let mut line = self.read.split_to(end + 1);
                line.truncate(end);
                return Ok(Some(line));
            }
            if self.ended {
                let rest = self.read.split();
                return Ok((!rest.is_empty()).then_some(rest));
            }
            match self.bytes().await? {
                Some(more) => self.read.extend_from_slice(&more),
                None => self.ended = true,
            }
        }
    }

    /// Whatever came next, lines or not.
    pub(crate) async fn bytes(&mut self) -> Result<Option<bytes::Bytes>, CliError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    return Err(CliError::Unreachable(format!(
                        "The connection broke: {}",
                        super::causes(&error)
                    )));
                }
            }
        }
    }

    /// The next event of a watch: its type and its object. A `Status` in the place of an event is an error.
    pub(crate) async fn event(&mut self) -> Result<Option<(String, Value)>, CliError> {
        let Some(line) = self.next().await? else { return Ok(None) };
        let mut event: Value = serde_json::from_slice(&line).map_err(|error| CliError::Manifest {
            what: "an event cannot be read".to_owned(),
            message: error.to_string(),
        })?;
        let object = event["object"].take();
        match event["type"].as_str() {
            Some("ERROR") => {
                let code = object["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
                Err(CliError::Server(refusal(code, object.to_string().as_bytes(), "watch".to_owned())))
            }
            kind => Ok(Some((kind.unwrap_or_default().to_owned(), object))),
        }
    }
}
