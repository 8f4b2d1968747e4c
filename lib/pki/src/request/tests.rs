//! Requests made by an independent library are read, signed and then trusted; bent ones are refused.

use jiff::{SignedDuration, Timestamp};
use kedge_clock::Clock;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::{Request, RequestError};
use crate::{Authority, Usage};

fn request(hosts: &[&str]) -> String {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, "system:node:n1");
    subject.push(DnType::OrganizationName, "system:nodes");
    params.distinguished_name = subject;
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

#[test]
fn reads_whom_a_request_names() {
    let read = Request::parse(request(&["n1.example", "10.0.0.7"]).as_bytes()).unwrap();
    assert_eq!(
        (&*read.common_name, &*read.organizations),
        ("system:node:n1", &["system:nodes".to_owned()][..])
    );
    assert_eq!((read.dns_names, read.addresses), (vec!["n1.example".to_owned()], vec![vec![10, 0, 0, 7]]));
}

#[test]
fn refuses_what_is_no_request_or_was_bent() {
    assert_eq!(Request::parse(b"rubbish"), Err(RequestError::NotPem));
    let der =
        CertificateDer::from_pem_slice(request(&[]).replace("CERTIFICATE REQUEST", "CERTIFICATE").as_bytes())
            .unwrap();
    let at = der.windows(14).position(|bytes| bytes == b"system:node:n1").unwrap();
    let mut bent = der.to_vec();
    bent[at + 13] = b'2';
    let pem = crate::sign::pem("CERTIFICATE REQUEST", &bent);
    assert_eq!(Request::parse(pem.as_bytes()), Err(RequestError::Signature));
}

#[test]
fn what_is_signed_is_trusted_while_it_lasts() {
    let folder = tempfile::tempdir().unwrap();
    let now: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
    let authority = Authority::open(folder.path(), "ca", &Clock::manual(now)).unwrap();
    let asked = Request::parse(request(&["n1.example"]).as_bytes()).unwrap();
    let usages = [Usage::DIGITAL_SIGNATURE, Usage::KEY_ENCIPHERMENT, Usage::CLIENT_AUTH];
    let pem = authority.sign(&asked, &usages, SignedDuration::from_hours(1), now).unwrap();
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let (_, read) = x509_parser::parse_x509_certificate(&der).unwrap();
    let uses = read.key_usage().unwrap().unwrap().value;
    assert!(uses.digital_signature() && uses.key_encipherment() && !uses.key_cert_sign());
    assert!(read.extended_key_usage().unwrap().unwrap().value.client_auth && !read.is_ca());
    let clients = authority.clients().unwrap();
    let subject = clients.check(std::slice::from_ref(&der), now).unwrap();
    assert_eq!(
        (&*subject.common_name, subject.organizations),
        ("system:node:n1", vec!["system:nodes".to_owned()])
    );
    assert_eq!(subject.not_after, now + SignedDuration::from_hours(1));
    assert!(clients.check(&[der], now + SignedDuration::from_hours(2)).is_err());
    let ten_years = SignedDuration::from_hours(24 * 365 * 20);
    let long = authority.sign(&asked, &usages, ten_years, now).unwrap();
    assert_eq!(
        crate::not_after(long.as_bytes()),
        crate::not_after(authority.pem().as_bytes()),
        "not beyond its root"
    );
}
