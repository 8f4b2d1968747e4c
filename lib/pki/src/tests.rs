use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kedge_clock::Clock;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn noon() -> Clock {
    Clock::manual("2030-01-01T12:00:00Z".parse::<Timestamp>().unwrap())
}

fn names(hosts: &[&str]) -> Names {
    Names {
        common_name: "server".to_owned(),
        organization: Some("some".to_owned()),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
    }
}

fn leaf(folder: &Path, hosts: &[&str]) -> Leaf {
    Leaf::new(folder, "server", names(hosts), Purpose::Server)
}

#[test]
fn an_authority_is_made_once_and_its_files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let pki = folder.path().join("pki");
    let clock = noon();
    let first = Authority::open(&pki, "us", &clock).unwrap().pem().to_owned();
    let again = Authority::open(&pki, "us", &clock).unwrap();
    assert_eq!(first, again.pem());
    leaf(&pki, &["localhost"]).current(&again, clock.now()).unwrap();
    for file in ["ca.crt", "ca.key", "server.crt", "server.key"] {
        let mode = std::fs::metadata(pki.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn a_leaf_is_kept_until_something_about_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let clock = noon();
    let authority = Authority::open(folder.path(), "us", &clock).unwrap();
    let of = |leaf: Leaf, authority: &Authority| leaf.current(authority, clock.now()).unwrap().0.certificate;
    let first = of(leaf(folder.path(), &["a", "::1"]), &authority);

    assert_eq!(first, of(leaf(folder.path(), &["a"]), &authority), "fewer names are no reason");
    let second = of(leaf(folder.path(), &["a", "b", "::1", "10.0.0.1"]), &authority);
    assert_ne!(first, second, "a missing name is a reason");
    assert_eq!(second, of(leaf(folder.path(), &["10.0.0.1", "::1"]), &authority), "addresses are read back");

    clock.advance(DAY * 200);
    assert_eq!(second, of(leaf(folder.path(), &["a"]), &authority), "more than a third is left");
    clock.advance(DAY * 60);
    let third = of(leaf(folder.path(), &["a"]), &authority);
    assert_ne!(second, third, "less than a third is left");

    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = Authority::open(elsewhere.path(), "them", &clock).unwrap();
    assert_ne!(third, of(leaf(folder.path(), &["a"]), &foreign), "signed by someone else");
}

#[tokio::test]
async fn a_server_shows_a_new_certificate_when_the_clock_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let clock = noon();
    let authority = Arc::new(Authority::open(folder.path(), "us", &clock).unwrap());
    let serving = Serving::start(leaf(folder.path(), &["localhost"]), &authority, clock.now()).unwrap();
    let shown = |serving: &Serving| serving.shown.load().cert.clone();
    let first = shown(&serving);

    let (renewed, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let task = tokio::spawn({
        let (serving, authority, clock) = (serving.clone(), authority.clone(), clock.clone());
        async move {
            serving.keep_fresh(&authority, &clock, |result| renewed.send(result.is_ok()).unwrap_or(())).await;
        }
    });
    clock.advance(DAY * 100);
    tokio::task::yield_now().await;
    assert_eq!(first, shown(&serving), "it is not time yet");
    clock.advance(DAY * 200);
    assert_eq!(seen.recv().await, Some(true));
    assert_ne!(first, shown(&serving));
    assert!(serving.renew_at() > clock.now());
    task.abort();
}

#[test]
fn client_certificates_are_judged_after_the_handshake() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let clock = noon();
    let ours = Authority::open(folder.path(), "us", &clock).unwrap();
    let theirs = Authority::open(elsewhere.path(), "us", &clock).unwrap();
    let issue = |authority: &Authority, purpose| {
        let issued = authority.issue(&names(&[]), purpose, clock.now()).unwrap();
        CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap()
    };
    let good = issue(&ours, Purpose::Client);
    let clients = ours.clients().unwrap();

    let subject = clients.check(std::slice::from_ref(&good), clock.now()).unwrap();
    assert_eq!((subject.common_name.as_str(), subject.organizations), ("server", vec!["some".to_owned()]));

    let later = clock.now().checked_add(jiff::SignedDuration::from_hours(24 * 366)).unwrap();
    for (case, chain, now) in [
        ("expired", vec![good], later),
        ("foreign", vec![issue(&theirs, Purpose::Client)], clock.now()),
        ("for servers", vec![issue(&ours, Purpose::Server)], clock.now()),
        ("rubbish", vec![CertificateDer::from(vec![1, 2, 3])], clock.now()),
        ("none", vec![], clock.now()),
    ] {
        assert!(clients.check(&chain, now).is_err(), "{case}");
    }
}

#[test]
fn a_certificate_says_whom_it_names_and_how_long() {
    let folder = tempfile::tempdir().unwrap();
    let clock = noon();
    let authority = Authority::open(folder.path(), "us", &clock).unwrap();
    let issued = authority.issue(&names(&["localhost", "127.0.0.1"]), Purpose::Server, clock.now()).unwrap();
    let looked = look(&issued.certificate).unwrap();
    assert!(looked.subject.contains("CN=server") && looked.subject.contains("O=some"), "{looked:?}");
    assert_eq!(looked.issuer, "CN=us");
    assert_eq!(looked.hosts, ["localhost", "127.0.0.1"]);
    assert!(looked.not_before <= clock.now() && clock.now() < looked.not_after && !looked.is_authority);
    assert!(look(authority.pem()).unwrap().is_authority);
    assert_eq!(look("no certificate"), None);
}
