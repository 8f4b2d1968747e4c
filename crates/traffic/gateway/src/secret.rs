//! A Secret, of which only a certificate and its key are read: whatever else Secrets hold is nothing to a gateway.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};

#[derive(Clone, Default, PartialEq)]
pub struct TlsSecret {
    pub metadata: ObjectMeta,
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

impl std::fmt::Debug for TlsSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is nobody's to read, least of all in a log.
        f.debug_struct("TlsSecret").field("name", &self.metadata.name).finish_non_exhaustive()
    }
}

impl<'de> Deserialize<'de> for TlsSecret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Read {
            metadata: ObjectMeta,
            #[serde(default)]
            data: Option<Data>,
        }
        #[derive(Default, Deserialize)]
        struct Data {
            #[serde(default, rename = "tls.crt")]
            certificate: Option<ByteString>,
            #[serde(default, rename = "tls.key")]
            key: Option<ByteString>,
        }
        let read = Read::deserialize(from)?;
        let data = read.data.unwrap_or_default();
        let bytes = |part: Option<ByteString>| part.map(|bytes| bytes.0).unwrap_or_default();
        let meta = read.metadata;
        // Thousands of Secrets are held, most of them with nothing for us.
        let metadata = ObjectMeta {
            name: meta.name,
            namespace: meta.namespace,
            uid: meta.uid,
            resource_version: meta.resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, certificate: bytes(data.certificate), key: bytes(data.key) })
    }
}

kedge_client::watched!(TlsSecret);

impl kube::Resource for TlsSecret {
    type DynamicType = ();
    type Scope = <Secret as kube::Resource>::Scope;

    fn kind(_: &()) -> std::borrow::Cow<'_, str> {
        Secret::kind(&())
    }

    fn group(_: &()) -> std::borrow::Cow<'_, str> {
        Secret::group(&())
    }

    fn version(_: &()) -> std::borrow::Cow<'_, str> {
        Secret::version(&())
    }

    fn plural(_: &()) -> std::borrow::Cow<'_, str> {
        Secret::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_certificates_are_read() {
        let secret: TlsSecret = serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}},
            "type": "kubernetes.io/tls",
            "data": {"tls.crt": "Y2VydA==", "tls.key": "a2V5", "other": "b3RoZXI="},
        }))
        .unwrap();
        assert_eq!((&*secret.certificate, &*secret.key), (&b"cert"[..], &b"key"[..]));
        assert_eq!(secret.metadata.labels, None);
        assert!(!format!("{secret:?}").contains("107"), "no key in what is printed");
        let other: TlsSecret =
            serde_json::from_value(json!({"metadata": {"name": "x"}, "data": {"a": "YQ=="}})).unwrap();
        assert!(other.certificate.is_empty() && other.key.is_empty());
        let empty: TlsSecret = serde_json::from_value(json!({"metadata": {}, "data": null})).unwrap();
        assert!(empty.key.is_empty());
    }
}
