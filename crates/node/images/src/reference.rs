//! The name of an image as people write it, taken apart as registries read it. Says what is wrong in the words that clients
//! of Kubernetes know.

use std::fmt;

const USUAL_HOST: &str = "docker.io";
const OLD_HOST: &str = "index.docker.io";
/// Longer names are none.
const LONGEST: usize = 255;
const LONGEST_TAG: usize = 128;
const SHORTEST_DIGEST: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    #[error("invalid reference format")]
    Format,
    #[error("invalid reference format: repository name ({path}) must be lowercase")]
    Uppercase { path: String },
    #[error("repository name must not be more than {LONGEST} characters")]
    TooLong,
    #[error("invalid repository name ({name}), cannot specify 64-byte hexadecimal strings")]
    Digest { name: String },
}

/// `busybox` is `docker.io`, `library/busybox`, without tag and digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub host: String,
    pub path: String,
    pub tag: Option<String>,
    pub digest: Option<String>,
}

impl Reference {
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        if text.len() == 64 && text.bytes().all(is_hex) {
            return Err(ReferenceError::Digest { name: text.to_owned() });
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) if is_digest(digest) => (name, Some(digest.to_owned())),
            Some(_) => return Err(ReferenceError::Format),
            None => (text, None),
        };
        let (host, rest) = match name.split_once('/') {
            Some((host, rest)) if is_host_like(host) => (host, rest.to_owned()),
            _ => (USUAL_HOST, name.to_owned()),
        };
        let (path, tag) = match rest.rsplit_once(':') {
            Some((path, tag)) if is_tag(tag) => (path.to_owned(), Some(tag.to_owned())),
            Some(_) => return Err(ReferenceError::Format),
            None => (rest, None),
        };
        let host = if host == OLD_HOST { USUAL_HOST } else { host };
        let path = if host == USUAL_HOST && !path.contains('/') { format!("library/{path}") } else { path };
        if path.bytes().any(|letter| letter.is_ascii_uppercase()) {
            return Err(ReferenceError::Uppercase { path });
        }
        if !is_host(host) || !path.split('/').all(is_path_part) {
            return Err(ReferenceError::Format);
        }
        if host.len() + 1 + path.len() > LONGEST {
            return Err(ReferenceError::TooLong);
        }
        Ok(Self { host: host.to_owned(), path, tag, digest })
    }

    /// Where the image is, without which of its versions is meant.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.host, self.path)
    }
}

/// With the tag that is meant where none is written.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)?;
        match (&self.tag, &self.digest) {
            (Some(tag), None) => write!(f, ":{tag}"),
            (None, None) => f.write_str(":latest"),
            // Whoever names a digest means it, whatever the tag says.
            (_, Some(digest)) => write!(f, "@{digest}"),
        }
    }
}

/// What stands before the first slash is a host only if it looks like one.
fn is_host_like(part: &str) -> bool {
    part.contains(['.', ':']) || part == "localhost" || part.bytes().any(|letter| letter.is_ascii_uppercase())
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let address = address.bytes().all(|letter| is_hex(letter) || letter == b':');
            return address && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    port.is_none_or(is_port) && name.split('.').all(is_host_part)
}

fn is_port(port: &str) -> bool {
    !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit())
}

fn is_host_part(part: &str) -> bool {
    let plain = part.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-');
    plain && !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
}

/// Letters and digits, and between them one dot, one or two underscores, or any number of dashes.
fn is_path_part(part: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let mut gaps = part.split(is_word).collect::<Vec<_>>();
    // Before the first word and after the last there is nothing.
    let ends = [gaps.pop(), (!gaps.is_empty()).then(|| gaps.remove(0))];
    ends == [Some(""), Some("")]
        && gaps
            .iter()
            .all(|gap| matches!(*gap, "" | "." | "_" | "__") || gap.bytes().all(|letter| letter == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
    let mut letters = tag.bytes();
    tag.len() <= LONGEST_TAG
        && letters.next().is_some_and(is_word)
        && letters.all(|letter| is_word(letter) || matches!(letter, b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, letters)) = digest.split_once(':') else { return false };
    let named = algorithm.bytes().next().is_some_and(|letter| letter.is_ascii_alphabetic());
    let plain = algorithm
        .bytes()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'.' | b'-' | b'_'));
    let enough = if algorithm == "sha256" { letters.len() == 64 } else { letters.len() >= SHORTEST_DIGEST };
    named && plain && enough && letters.bytes().all(is_hex)
}

fn is_hex(letter: u8) -> bool {
    letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_registries_do() {
        let sum = "a".repeat(64);
        let by_digest = format!("r.io/app@sha256:{sum}");
        let both = format!("r.io/app:1@sha256:{sum}");
        for (text, whole) in [
            ("busybox", "docker.io/library/busybox:latest"),
            ("busybox:1.36", "docker.io/library/busybox:1.36"),
            ("me/app", "docker.io/me/app:latest"),
            ("index.docker.io/me/app", "docker.io/me/app:latest"),
            ("docker.io/app", "docker.io/library/app:latest"),
            ("localhost/app", "localhost/app:latest"),
            ("localhost:5000/a/b__c:d-e.F", "localhost:5000/a/b__c:d-e.F"),
            ("Host/app", "Host/app:latest"),
            ("[::1]:5000/app:x", "[::1]:5000/app:x"),
            ("r.io/a--b/c.d_e", "r.io/a--b/c.d_e:latest"),
            (&by_digest, &by_digest),
            (&both, &by_digest),
        ] {
            assert_eq!(Reference::parse(text).map(|found| found.to_string()).as_deref(), Ok(whole), "{text}");
        }
    }

    #[test]
    fn what_is_no_name_says_so() {
        let upper = |path: &str| ReferenceError::Uppercase { path: path.to_owned() };
        for (text, error) in [
            ("", ReferenceError::Format),
            ("Busybox", upper("library/Busybox")),
            ("r.io/Busy/box", upper("Busy/box")),
            ("busy box", ReferenceError::Format),
            ("busybox:", ReferenceError::Format),
            ("busybox:-a", ReferenceError::Format),
            ("busybox@sha256:1", ReferenceError::Format),
            ("a..b/c", ReferenceError::Format),
            ("r.io/a/", ReferenceError::Format),
            ("r.io/-a", ReferenceError::Format),
            ("r.io/a___b", ReferenceError::Format),
            ("r.io:x/a", ReferenceError::Format),
        ] {
            assert_eq!(Reference::parse(text), Err(error), "{text}");
        }
        let long = format!("r.io/{}", "a".repeat(255));
        assert_eq!(Reference::parse(&long), Err(ReferenceError::TooLong));
        let digest = "0".repeat(64);
        assert_eq!(Reference::parse(&digest), Err(ReferenceError::Digest { name: digest.clone() }));
    }
}
