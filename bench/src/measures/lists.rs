//! Whole lists and lists in pages.

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;

use super::{Api, NAMESPACE};
use crate::BenchError;
use crate::connect::Connection;
use crate::load;
use crate::report::Line;

const ROUNDS: usize = 5;

/// List metadata stands before the items in every server's answer, so looking at the head is enough.
const HEAD: usize = 2048;

impl Api {
    pub(super) async fn list(&self, page: Option<usize>) -> Result<Line, BenchError> {
        let measure = page.map_or("list-pods".to_owned(), |page| format!("list-pods-by-{page}"));
        let (target, server) = (self.target.clone(), self.server);
        let seen = load::alone(async move {
            let read = move |mut connection: Connection, _| async move {
                let read = match page {
                    Some(page) => pages(&mut connection, page).await?,
                    None => {
                        connection.drain(Method::GET, &format!("{NAMESPACE}/pods"), "", Bytes::new()).await?
                    }
                };
                Ok((connection, read))
            };
            load::run(&target, 1, ROUNDS, server, read).await
        });
        Ok(seen.await?.line(&measure, 1))
    }
}

/// One list in pages. Finds the continue token without parsing the items, so that the client's parser isn't measured.
async fn pages(connection: &mut Connection, page: usize) -> Result<usize, BenchError> {
    let (mut token, mut read) = (String::new(), 0);
    loop {
        let path = format!("{NAMESPACE}/pods?limit={page}&continue={token}");
        let mut answer = connection.send(Method::GET, &path, "", Bytes::new()).await?.into_body();
        let mut head = Vec::new();
        while let Some(frame) = answer.frame().await {
            let frame = frame?;
            let data = frame.data_ref().map(|data| &data[..]).unwrap_or_default();
            read += data.len();
            head.extend(data.iter().take(HEAD.saturating_sub(head.len())));
        }
        match continue_token(&head) {
            Some(next) => token = next,
            None => return Ok(read),
        }
    }
}

fn continue_token(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let rest = head.split("\"continue\":\"").nth(1)?;
    let token = rest.split('"').next()?;
    (!token.is_empty()).then(|| token.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"))
}
