//! Whole lists and lists in pages.

use std::time::Instant;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;

use super::{Api, NAMESPACE};
use crate::BenchError;
use crate::connect::Connection;
use crate::load::{self, Seen};
use crate::process;
use crate::report::Line;

const ROUNDS: usize = 5;

/// List metadata stands before the items in every server's answer, so looking at the head is enough.
const HEAD: usize = 2048;

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
        let mut answer = connection.send(Method::GET, &path, "", Bytes::new()).await?.into_body();
        let mut head = Vec::new();
        while let Some(frame) = answer.frame().await {
            let room = HEAD.saturating_sub(head.len());
            head.extend(frame?.data_ref().into_iter().flatten().take(room));
        }
        match continue_token(&head) {
            Some(next) => token = next,
            None => return Ok(()),
        }
    }
}

fn continue_token(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let rest = head.split("\"continue\":\"").nth(1)?;
    let token = rest.split('"').next()?;
    (!token.is_empty()).then(|| token.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"))
}
