//! The machine's own logs: the files below one folder, and lists of them. Nothing outside is reached, also not by links.

use std::io;
use std::path::{Path, PathBuf};

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use crate::answer::{Answer, Refusal, stream, text};
use crate::logs;

const PIECE: usize = 64 * 1024;
const QUEUE: usize = 4;

enum Found {
    Folder(String),
    File(std::fs::File),
}

/// What is at a path below the folder.
pub(crate) async fn answer(root: &Path, path: &str) -> Result<Answer, Refusal> {
    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
    let root = root.to_owned();
    let looked = tokio::task::spawn_blocking(move || look(&root, &path)).await.map_err(Refusal::failed)?;
    let found = looked.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refusal::absent("404 page not found\n"),
        io::ErrorKind::PermissionDenied => Refusal::new(StatusCode::FORBIDDEN, "403 Forbidden\n"),
        _ => Refusal::failed(error),
    })?;
    let file = match found {
        Found::Folder(list) => {
            let mut answer = text(list);
            let html = HeaderValue::from_static("text/html; charset=utf-8");
            answer.headers_mut().insert(CONTENT_TYPE, html);
            return Ok(answer);
        }
        Found::File(file) => file,
    };
    let (sender, pieces) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let length = file.metadata().map_or(0, |meta| meta.len());
        // As long as it is now: one that grows would never end.
        let mut file = tokio::fs::File::from_std(file).take(length);
        loop {
            let mut piece = bytes::BytesMut::with_capacity(PIECE);
            match file.read_buf(&mut piece).await {
                Ok(1..) if sender.send(piece.freeze()).await.is_ok() => {}
                _ => return,
            }
        }
    });
    Ok(stream(logs::body(pieces)))
}

fn look(root: &Path, path: &str) -> io::Result<Found> {
    let wanted = inside(root, path)?;
    if !wanted.is_dir() {
        return std::fs::File::open(wanted).map(Found::File);
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(wanted)? {
        let entry = entry?;
        let end = if entry.file_type()?.is_dir() { "/" } else { "" };
        names.push(format!("{}{end}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    let mut list =
        String::from("<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n");
    for name in names {
        let shown =
            name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;");
        list.push_str(&format!("<a href=\"{shown}\">{shown}</a>\n"));
    }
    list.push_str("</pre>\n");
    Ok(Found::Folder(list))
}

/// Where a path leads once all links are followed, if that is still below the root.
fn inside(root: &Path, path: &str) -> io::Result<PathBuf> {
    let absent = || io::Error::from(io::ErrorKind::NotFound);
    let parts = path.split('/').filter(|part| !part.is_empty());
    if parts.clone().any(|part| part == ".." || part.contains('\0')) {
        return Err(absent());
    }
    let root = root.canonicalize()?;
    let wanted = parts.fold(root.clone(), |path, part| path.join(part)).canonicalize()?;
    if wanted.starts_with(&root) { Ok(wanted) } else { Err(absent()) }
}

#[cfg(test)]
mod tests {
    use super::{Found, look};

    #[test]
    fn only_what_is_below_the_folder_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("log");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("a<b>"), "x").unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("out")).unwrap();
        std::os::unix::fs::symlink("a<b>", root.join("in")).unwrap();
        for (path, found) in [
            ("", "list"),
            ("/sub/", "list"),
            ("/in", "file"),
            ("/a<b>", "file"),
            ("/out", "none"),
            ("/../secret", "none"),
            ("/sub/../../secret", "none"),
            ("/absent", "none"),
            ("/in/deeper", "none"),
        ] {
            let kind = match look(&root, path) {
                Ok(Found::Folder(_)) => "list",
                Ok(Found::File(_)) => "file",
                Err(_) => "none",
            };
            assert_eq!(kind, found, "{path}");
        }
        let Ok(Found::Folder(list)) = look(&root, "") else { panic!("no list") };
        assert!(list.contains("<a href=\"a&lt;b&gt;\">a&lt;b&gt;</a>\n<a href=\"in\">"), "{list}");
        assert!(list.contains("<a href=\"sub/\">sub/</a>"), "{list}");
    }
}
