//! How others check the tokens of service accounts: OpenID's discovery document and the key set that it points at.

use http::header::{CACHE_CONTROL, HeaderValue};
use kedge_kinds::Status;

use crate::answer::{self, Answer};
use crate::api::Api;

/// One of the two documents, by its path.
pub(crate) fn answer(api: &Api, path: &str) -> Result<Answer, Status> {
    let (media, document) = if path.starts_with("/openid/") {
        ("application/jwk-set+json", api.tokens().key_set())
    } else {
        let keys_at = format!("{}/openid/v1/jwks", api.address());
        ("application/json", api.tokens().discovery(&keys_at))
    };
    let mut answer = answer::of(200, media, document.to_string());
    // A key lives as long as its server, so relying parties need not ask for each token.
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Ok(answer)
}
