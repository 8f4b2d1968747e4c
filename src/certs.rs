//! Which certificates a data folder holds: whom each names, how long it holds, and when it is renewed. Renewal is done by whoever runs.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use kedge_pki::Looked;

const FOLDER: &str = "pki";
/// Whoever runs renews long before; less than this means that nobody does.
pub(crate) const SOON: SignedDuration = SignedDuration::from_hours(24 * 7);

#[derive(Debug, thiserror::Error)]
pub(crate) enum CertsError {
    #[error("there are no certificates in {}: no server and no agent was started there", folder.display())]
    None { folder: PathBuf },
    #[error("only root, and the user who runs what runs on it, may look into {}: use sudo", folder.display())]
    Shut { folder: PathBuf },
    #[error("cannot read {}", folder.display())]
    Read { folder: PathBuf, source: std::io::Error },
}

/// One certificate, by its file below the folder.
pub(crate) struct Found {
    pub(crate) file: String,
    pub(crate) looked: Looked,
    /// None for authorities, which nobody renews.
    pub(crate) renewed: Option<Timestamp>,
}

/// All of a data folder, by name.
pub(crate) fn find(data: &Path) -> Result<Vec<Found>, CertsError> {
    let folder = data.join(FOLDER);
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => {}
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(CertsError::Shut { folder });
        }
        _ => return Err(CertsError::None { folder }),
    }
    let mut found = Vec::new();
    gather(&folder, "", &mut found).map_err(|source| CertsError::Read { folder, source })?;
    found.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(found)
}

fn gather(folder: &Path, below: &str, found: &mut Vec<Found>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            gather(&entry.path(), &format!("{name}/"), found)?;
            continue;
        }
        // Keys lie beside their certificates, and are none.
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        if let Some(looked) = kedge_pki::look(&text) {
            let renewed = if looked.is_authority { None } else { kedge_pki::renew_at(&text) };
            found.push(Found { file: name, looked, renewed });
        }
    }
    Ok(())
}

/// As a table for a person.
pub(crate) fn table(found: &[Found], now: Timestamp) -> String {
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    let rows = found.iter().map(|one| {
        let looked = &one.looked;
        let left = looked.not_after.duration_since(now).as_hours().div_euclid(24);
        let ends = match left {
            ..0 => format!("{} (over)", day(looked.not_after)),
            left => format!("{} ({left} d)", day(looked.not_after)),
        };
        let renewed = one.renewed.map_or_else(|| "never".to_owned(), day);
        [one.file.clone(), looked.subject.clone(), ends, renewed]
    });
    let head = ["FILE", "SUBJECT", "ENDS", "RENEWED"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let mut widths = [0; 4];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text.push_str("Certificates are renewed by whoever runs, without a restart. Authorities are not: they last ten years.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kedge_clock::Clock;
    use kedge_pki::{Authority, Names, Purpose};

    #[test]
    fn certificates_are_found_wherever_they_lie() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join(FOLDER);
        assert!(matches!(find(data.path()), Err(CertsError::None { .. })));
        let clock = Clock::system();
        let authority = Authority::open(&folder, "kedge-ca", &clock).unwrap();
        Authority::open(&folder.join("front-proxy"), "front", &clock).unwrap();
        let names = Names { common_name: "admin".to_owned(), organization: None, hosts: Vec::new() };
        let issued = authority.issue(&names, Purpose::Client, clock.now()).unwrap();
        std::fs::write(folder.join("admin.crt"), &issued.certificate).unwrap();
        std::fs::write(folder.join("admin.key"), &issued.key).unwrap();

        let found = find(data.path()).unwrap();
        let names: Vec<(&str, &str, bool)> =
            found.iter().map(|one| (&*one.file, &*one.looked.subject, one.renewed.is_some())).collect();
        let wanted = [
            ("admin.crt", "CN=admin", true),
            ("ca.crt", "CN=kedge-ca", false),
            ("front-proxy/ca.crt", "CN=front", false),
        ];
        assert_eq!(names, wanted);
        let text = table(&found, clock.now());
        assert!(text.starts_with("FILE                SUBJECT      ENDS"), "{text}");
        assert!(!text.contains("(over)"), "{text}");
        let late = clock.now().checked_add(SignedDuration::from_hours(24 * 365 * 40)).unwrap();
        assert_eq!(table(&found, late).matches("(over)").count(), 3);
    }
}
