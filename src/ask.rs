//! Questions to the API whose answers are only looked at: no kind is decoded. Lists come in pieces, so that none has to be held whole.

use kedge_client::Client;
use serde_json::Value;

const PIECE: usize = 500;

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
