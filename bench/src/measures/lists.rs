//! Whole lists and lists in pages.

use std::time::Instant;

use bytes::Bytes;
use http::Method;

use super::{Api, NAMESPACE};
use crate::BenchError;
use crate::connect::Connection;
use crate::load::{self, Seen};
use crate::process;
use crate::report::Line;

const ROUNDS: usize = 5;

impl Api {
    pub(super) async fn list(&self, page: Option<usize>) -> Result<Line, BenchError> {
        let Some(page) = page else {
            let seen = load::run(&self.target, 1, ROUNDS, self.server, |mut connection, _| async move {
                let read =
                    connection.drain(Method::GET, &format!("{NAMESPACE}/pods"), "", Bytes::new()).await?;
                Ok((connection, read))
            });
            return Ok(seen.await?.line("list-pods", 1));
        };
        let mut connection = Connection::open(&self.target).await?;
        let before = self.server.map(process::cost);
        let start = Instant::now();
        let mut latencies = Vec::new();
        for _ in 0..ROUNDS {
            let began = Instant::now();
            pages(&mut connection, page).await?;
            latencies.push(began.elapsed());
        }
        let seen = Seen::new(latencies, start.elapsed()).costing(before, self.server.map(process::cost));
        Ok(seen.line(&format!("list-pods-by-{page}"), 1))
    }
}

/// One list in pages. Finds the continue token without parsing the items, so that the client's parser isn't measured.
async fn pages(connection: &mut Connection, page: usize) -> Result<(), BenchError> {
    let mut token = String::new();
    loop {
        let path = format!("{NAMESPACE}/pods?limit={page}&continue={token}");
        let answer = connection.send(Method::GET, &path, "", Bytes::new()).await?;
        let body = http_body_util::BodyExt::collect(answer.into_body()).await?.to_bytes();
        match continue_token(&body) {
            Some(next) => token = next,
            None => return Ok(()),
        }
    }
}

/// List metadata stands before the items in every server's answer, so looking at the head is enough.
fn continue_token(body: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(body.get(..body.len().min(2048))?);
    let rest = head.split("\"continue\":\"").nth(1)?;
    let token = rest.split('"').next()?;
    (!token.is_empty()).then(|| token.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"))
}
