//! Questions to the API whose answers are only looked at: no kind is decoded. Lists come in pieces, so that none has to be held whole.

use std::time::Duration;

use kedge_client::Client;
use kedge_clock::Clock;
use serde_json::Value;

const PIECE: usize = 500;

/// What is asked, if the answer comes in time; otherwise words for that it doesn't.
pub(crate) async fn within<T>(
    clock: &Clock,
    patience: Duration,
    asked: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    tokio::select! {
        answer = asked => answer,
        () = clock.sleep(patience) => Err(format!("no answer within {} s", patience.as_secs())),
    }
}

/// The text that a path answers with.
pub(crate) async fn text(client: &Client, path: &str) -> Result<String, Box<kube::Error>> {
    client.request_text(request(path)?).await.map_err(Box::new)
}

/// The object at a path.
pub(crate) async fn object(client: &Client, path: &str) -> Result<Value, Box<kube::Error>> {
    client.request(request(path)?).await.map_err(Box::new)
}

/// Has `look` see every object of a list.
pub(crate) async fn each(
    client: &Client,
    path: &str,
    mut look: impl FnMut(&Value),
) -> Result<(), Box<kube::Error>> {
    let mut from = String::new();
    let mark = if path.contains('?') { '&' } else { '?' };
    loop {
        let list = object(client, &format!("{path}{mark}limit={PIECE}{from}")).await?;
        list["items"].as_array().into_iter().flatten().for_each(&mut look);
        match list["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
            Some(token) => from = format!("&continue={token}"),
            None => return Ok(()),
        }
    }
}

/// All of a list.
pub(crate) async fn list(client: &Client, path: &str) -> Result<Vec<Value>, Box<kube::Error>> {
    let mut all = Vec::new();
    each(client, path, |object| all.push(object.clone())).await?;
    Ok(all)
}

fn request(path: &str) -> Result<http::Request<Vec<u8>>, Box<kube::Error>> {
    let made = http::Request::get(path).body(Vec::new());
    made.map_err(|error| Box::new(kube::Error::HttpError(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_waited_for_and_not_for_ever() {
        let clock = Clock::manual(jiff::Timestamp::UNIX_EPOCH);
        let patience = Duration::from_secs(5);
        assert_eq!(within(&clock, patience, async { Ok(1) }).await, Ok(1));
        assert_eq!(
            within::<()>(&clock, patience, async { Err("no".to_owned()) }).await,
            Err("no".to_owned())
        );
        let silent = std::future::pending::<Result<(), String>>();
        let asked = tokio::join!(within(&clock, patience, silent), async { clock.advance(patience) });
        assert_eq!(asked.0, Err("no answer within 5 s".to_owned()));
    }
}
