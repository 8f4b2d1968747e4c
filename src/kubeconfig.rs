//! The administrator's kubeconfig: where the API is, whom to trust, and a certificate that opens every door.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_pki::Issued;

pub(crate) fn text(server: &str, authority: &str, admin: &Issued) -> String {
    let data = |pem: &str| STANDARD.encode(pem);
    format!(
        "apiVersion: v1
kind: Config
current-context: kedge
clusters:
- name: kedge
  cluster:
    server: {server}
    certificate-authority-data: {}
users:
- name: kedge-admin
  user:
    client-certificate-data: {}
    client-key-data: {}
contexts:
- name: kedge
  context:
    cluster: kedge
    user: kedge-admin
",
        data(authority),
        data(&admin.certificate),
        data(&admin.key),
    )
}
