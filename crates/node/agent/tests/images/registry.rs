//! A registry for one test: on loopback, without encryption, with one image under every name. Names that begin with
//! `closed/` need the credentials `me:secret`; of those that begin with `slow/` only a part is sent until somebody says so.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_images::Digest;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// `Basic` and `me:secret` in base64.
const KEY: &str = "authorization: basic bwu6c2vjcmv0";
/// What is smaller is sent at once.
const LARGE: usize = 100_000;
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

pub(crate) struct Registry {
    pub(crate) port: u16,
    /// Whether the rest is sent.
    pub(crate) whole: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

/// By digest: what it is, and its bytes.
type Blobs = HashMap<String, (&'static str, Vec<u8>)>;

impl Registry {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (manifest, blobs) = image();
        let (manifest, blobs) = (Arc::new(manifest), Arc::new(blobs));
        let whole = watch::Sender::new(false);
        let waiting = whole.subscribe();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (manifest, blobs, waiting) = (manifest.clone(), blobs.clone(), waiting.clone());
                tokio::spawn(async move { answer(stream, &manifest, &blobs, waiting).await });
            }
        });
        Self { port, whole, task }
    }

    pub(crate) fn name(&self, rest: &str) -> String {
        format!("127.0.0.1:{}/{rest}", self.port)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A busybox that sleeps.
fn image() -> (String, Blobs) {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    let content = std::fs::read("/bin/busybox").unwrap();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    tar.append_data(&mut header, "busybox", &content[..]).unwrap();
    let layer = tar.into_inner().unwrap();
    let digest = Digest::of(&layer).to_string();
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let config = json!({
        "architecture": architecture, "os": "linux",
        "config": {"Entrypoint": ["/busybox", "sleep", "100000"]},
        "rootfs": {"type": "layers", "diff_ids": [digest]},
    });
    let config = serde_json::to_vec(&config).unwrap();
    let describe = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": Digest::of(bytes).to_string(), "size": bytes.len()});
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": describe("application/vnd.oci.image.config.v1+json", &config),
        "layers": [describe("application/vnd.oci.image.layer.v1.tar", &layer)],
    });
    let manifest = serde_json::to_vec(&manifest).unwrap();
    let name = Digest::of(&manifest).to_string();
    let blobs =
        [(MANIFEST, manifest), ("application/octet-stream", config), ("application/octet-stream", layer)];
    (name, blobs.into_iter().map(|(kind, bytes)| (Digest::of(&bytes).to_string(), (kind, bytes))).collect())
}

async fn answer(stream: TcpStream, manifest: &str, blobs: &Blobs, mut whole: watch::Receiver<bool>) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut head = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let mut words = head.first().map(|line| line.split(' ')).into_iter().flatten();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let allowed = !path.starts_with("/v2/closed/") || head.iter().any(|line| line.to_lowercase() == KEY);
    let digest = match path.rsplit('/').next().unwrap_or_default() {
        reference if path.contains("/manifests/") && !reference.starts_with("sha256:") => manifest,
        digest => digest,
    };
    let (status, extra, body): (&str, String, &[u8]) = match blobs.get(digest) {
        _ if !allowed => ("401 Unauthorized", "WWW-Authenticate: Basic realm=\"test\"\r\n".to_owned(), b""),
        _ if path.contains("/none/") => ("404 Not Found", String::new(), b""),
        Some((kind, bytes)) => {
            ("200 OK", format!("Content-Type: {kind}\r\nDocker-Content-Digest: {digest}\r\n"), bytes)
        }
        None if path == "/v2/" => ("200 OK", String::new(), b"{}"),
        None => ("404 Not Found", String::new(), b""),
    };
    let head =
        format!("HTTP/1.1 {status}\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    // Whoever hung up does not want the rest.
    let _written = write.write_all(head.as_bytes()).await;
    if method != "HEAD" {
        let slow = path.starts_with("/v2/slow/") && body.len() > LARGE;
        let (first, second) = body.split_at(if slow { body.len() / 4 * 3 } else { body.len() });
        let _written = write.write_all(first).await;
        if !second.is_empty() && whole.wait_for(|whole| *whole).await.is_ok() {
            let _written = write.write_all(second).await;
        }
    }
}
