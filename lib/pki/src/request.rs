//! Requests for certificates as others make them (PKCS#10): whom they name and whether they hold the key.
//! Decides nothing: whether a name may be had is the caller's to know.

use aws_lc_rs::signature as algorithms;
use aws_lc_rs::signature::{UnparsedPublicKey, VerificationAlgorithm};
use rustls::pki_types::CertificateSigningRequestDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RequestError {
    #[error("PEM block type must be CERTIFICATE REQUEST")]
    NotPem,
    #[error("the certificate request cannot be read: {0}")]
    Unreadable(String),
    #[error("unable to verify certificate request signature")]
    Signature,
}

/// A request that was signed with the key that it asks a certificate for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub common_name: String,
    pub organizations: Vec<String>,
    pub dns_names: Vec<String>,
    pub emails: Vec<String>,
    pub addresses: Vec<Vec<u8>>,
    pub uris: Vec<String>,
    /// DER, taken over into the certificate as it is.
    pub(crate) subject: Vec<u8>,
    pub(crate) public_key: Vec<u8>,
    pub(crate) alternative_names: Option<Vec<u8>>,
}

impl Request {
    pub fn parse(pem: &[u8]) -> Result<Self, RequestError> {
        let der = CertificateSigningRequestDer::from_pem_slice(pem).map_err(|_| RequestError::NotPem)?;
        let unreadable = |error: &dyn std::fmt::Display| RequestError::Unreadable(error.to_string());
        let (_, parsed) = X509CertificationRequest::from_der(&der).map_err(|error| unreadable(&error))?;
        verify(&parsed)?;
        let info = &parsed.certification_request_info;
        let mut request = Self {
            common_name: String::new(),
            organizations: Vec::new(),
            dns_names: Vec::new(),
            emails: Vec::new(),
            addresses: Vec::new(),
            uris: Vec::new(),
            subject: info.subject.as_raw().to_vec(),
            public_key: info.subject_pki.raw.to_vec(),
            alternative_names: None,
        };
        // The last one counts where there are several, as for those who read the certificate.
        for name in info.subject.iter_common_name() {
            request.common_name = name.as_str().map_err(|error| unreadable(&error))?.to_owned();
        }
        for name in info.subject.iter_organization() {
            request.organizations.push(name.as_str().map_err(|error| unreadable(&error))?.to_owned());
        }
        request.read_names(&parsed)?;
        Ok(request)
    }

    fn read_names(&mut self, parsed: &X509CertificationRequest<'_>) -> Result<(), RequestError> {
        for extension in parsed.requested_extensions().into_iter().flatten() {
            let ParsedExtension::SubjectAlternativeName(names) = extension else { continue };
            let mut raw = Vec::new();
            for name in &names.general_names {
                let (tag, contents) = match name {
                    GeneralName::RFC822Name(text) => {
                        self.emails.push((*text).to_owned());
                        (0x81, text.as_bytes())
                    }
                    GeneralName::DNSName(text) => {
                        self.dns_names.push((*text).to_owned());
                        (0x82, text.as_bytes())
                    }
                    GeneralName::URI(text) => {
                        self.uris.push((*text).to_owned());
                        (0x86, text.as_bytes())
                    }
                    GeneralName::IPAddress(bytes) => {
                        self.addresses.push(bytes.to_vec());
                        (0x87, *bytes)
                    }
                    // What we cannot name to whoever decides is not signed unseen.
                    other => {
                        let why = format!("a subjectAltName of this form is not supported: {other}");
                        return Err(RequestError::Unreadable(why));
                    }
                };
                raw.extend(crate::der::value(tag, contents));
            }
            self.alternative_names = Some(crate::der::value(0x30, &raw));
        }
        Ok(())
    }
}

/// Whoever asks must hold the key, else they could be certified as the owner of another's.
fn verify(request: &X509CertificationRequest<'_>) -> Result<(), RequestError> {
    let ec: [&'static dyn VerificationAlgorithm; 8] = [
        &algorithms::ECDSA_P256_SHA256_ASN1,
        &algorithms::ECDSA_P384_SHA256_ASN1,
        &algorithms::ECDSA_P521_SHA256_ASN1,
        &algorithms::ECDSA_P256_SHA384_ASN1,
        &algorithms::ECDSA_P384_SHA384_ASN1,
        &algorithms::ECDSA_P521_SHA384_ASN1,
        &algorithms::ECDSA_P521_SHA512_ASN1,
        &algorithms::ECDSA_P256_SHA512_ASN1,
    ];
    let candidates: &[&'static dyn VerificationAlgorithm] =
        match request.signature_algorithm.algorithm.to_id_string().as_str() {
            "1.2.840.10045.4.3.2" => &ec[..3],
            "1.2.840.10045.4.3.3" => &ec[3..6],
            "1.2.840.10045.4.3.4" => &ec[6..],
            "1.2.840.113549.1.1.11" => &[&algorithms::RSA_PKCS1_2048_8192_SHA256],
            "1.2.840.113549.1.1.12" => &[&algorithms::RSA_PKCS1_2048_8192_SHA384],
            "1.2.840.113549.1.1.13" => &[&algorithms::RSA_PKCS1_2048_8192_SHA512],
            "1.3.101.112" => &[&algorithms::ED25519],
            _ => &[],
        };
    let info = &request.certification_request_info;
    let key = &info.subject_pki.subject_public_key.data;
    let signature = &request.signature_value.data;
    let holds = |algorithm: &&'static dyn VerificationAlgorithm| {
        UnparsedPublicKey::new(*algorithm, key).verify(info.raw, signature).is_ok()
    };
    if candidates.iter().any(holds) { Ok(()) } else { Err(RequestError::Signature) }
}

#[cfg(test)]
mod tests;
