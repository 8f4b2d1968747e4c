//! Manifests that lie at an address: fetched by HTTP or HTTPS, wherever they have moved to. Nothing of the cluster goes there, no
//! credential and no certificate.

use http::header::{LOCATION, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::{Client, Config};

use crate::client::causes;
use crate::error::CliError;

/// Whoever sends us on more often than this sends us round in circles.
const MOVES: usize = 10;

/// Waits for all of it. On a thread of its own: whoever reads manifests has no time for anything else, and is in a runtime already.
pub(super) fn fetch(address: &str) -> Result<String, CliError> {
    let wrong = |why: &str| CliError::unmet(format!("unable to read URL {address:?}: {why}"));
    let named = address.to_owned();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| Failure::Why(error.to_string()))?.block_on(read(&named))
    });
    match thread.join() {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(Failure::Why(why))) => Err(wrong(&why)),
        Ok(Err(Failure::Said(code))) => Err(CliError::unmet(format!(
            "unable to read URL {address:?}, server reported {code}, status code={}",
            code.as_u16()
        ))),
        Err(_) => Err(wrong("reading it broke off")),
    }
}

enum Failure {
    Why(String),
    /// The server has something else for us.
    Said(http::StatusCode),
}

async fn read(address: &str) -> Result<String, Failure> {
    let mut at: Uri =
        address.parse().map_err(|error: http::uri::InvalidUri| Failure::Why(error.to_string()))?;
    for _ in 0..=MOVES {
        let response = ask(&at).await.map_err(Failure::Why)?;
        let code = response.status();
        let moved = response.headers().get(LOCATION).filter(|_| code.is_redirection());
        if let Some(place) = moved.and_then(|place| place.to_str().ok()) {
            at = from(&at, place).ok_or_else(|| Failure::Why(format!("it has moved to {place:?}")))?;
            continue;
        }
        if !code.is_success() {
            return Err(Failure::Said(code));
        }
        let body = response.into_body().collect().await;
        let bytes = body.map_err(|error| Failure::Why(causes(&error)))?.to_bytes();
        return String::from_utf8(bytes.into()).map_err(|error| Failure::Why(error.to_string()));
    }
    Err(Failure::Why(format!("it has moved more than {MOVES} times")))
}

async fn ask(at: &Uri) -> Result<Response<Body>, String> {
    let mut parts = at.clone().into_parts();
    let path = parts.path_and_query.replace(PathAndQuery::from_static("/"));
    let root = Uri::from_parts(parts).map_err(|error| error.to_string())?;
    let client = Client::try_from(Config::new(root)).map_err(|error| causes(&error))?;
    let path = path.map_or_else(|| "/".to_owned(), |path| path.to_string());
    let request = Request::get(path).header(USER_AGENT, "kedge").body(Body::empty());
    client.send(request.map_err(|error| error.to_string())?).await.map_err(|error| causes(&error))
}

/// Where a place leads that is named at an address: an address of its own, or one of the same server.
fn from(at: &Uri, place: &str) -> Option<Uri> {
    if place.contains("://") {
        return place.parse().ok();
    }
    let mut parts = at.clone().into_parts();
    let path = match place.starts_with('/') {
        true => place.to_owned(),
        false => format!("{}/{place}", at.path().rsplit_once('/')?.0),
    };
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::{fetch, from};

    #[test]
    fn places_are_read_from_where_they_are_named() {
        for (place, found) in [
            ("https://b.example/y", "https://b.example/y"),
            ("/y?z", "http://a.example:81/y?z"),
            ("y", "http://a.example:81/d/y"),
        ] {
            let at = "http://a.example:81/d/x?q".parse().unwrap();
            assert_eq!(from(&at, place).map(|uri| uri.to_string()).as_deref(), Some(found), "{place}");
        }
    }

    /// Answers these questions, one connection each, in any order.
    fn serving(answers: &'static [(&str, &str)]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let mut lines = BufReader::new(connection.try_clone().unwrap()).lines().map_while(Result::ok);
                let asked = lines.next().unwrap_or_default();
                // All of the question is read before the answer: a reset would take the answer away.
                lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
                let path = asked.split(' ').nth(1).unwrap_or_default();
                let known = answers.iter().find(|(known, _)| *known == path);
                let answer = known.map_or("404 Not Found\r\ncontent-length: 0\r\n\r\n", |(_, answer)| answer);
                let _told = write!(connection, "HTTP/1.1 {answer}");
            }
        });
        format!("http://{address}")
    }

    #[test]
    fn what_lies_at_an_address_is_read_wherever_it_moved_to() {
        let server = serving(&[
            ("/old.yaml", "302 Found\r\nlocation: new.yaml?a=b\r\ncontent-length: 0\r\n\r\n"),
            ("/new.yaml?a=b", "200 OK\r\ncontent-length: 8\r\n\r\nkind: A\n"),
            ("/round", "301 Moved Permanently\r\nlocation: /round\r\ncontent-length: 0\r\n\r\n"),
        ]);
        for (path, told) in [
            ("/old.yaml", "kind: A\n"),
            ("/none", "/none\", server reported 404 Not Found, status code=404"),
            ("/round", "moved more than 10 times"),
        ] {
            let found = fetch(&format!("{server}{path}")).unwrap_or_else(|error| error.to_string());
            assert!(found.ends_with(told), "{path}: {found}");
        }
    }
}
