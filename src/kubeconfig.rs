//! The administrator's kubeconfig: where the API is, whom to trust, and a certificate that opens every door.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_pki::Issued;

/// Where there are several servers, those who know how to look find all of them in an extension.
pub(crate) fn text(server: &str, servers: &[String], authority: &str, admin: &Issued) -> String {
    let data = |pem: &str| STANDARD.encode(pem);
    let all = match servers {
        [] | [_] => String::new(),
        several => format!(
            "\n    extensions:\n    - name: {}\n      extension:\n        servers: [{}]",
            kedge_client::Servers::EXTENSION,
            several.join(", ")
        ),
    };
    format!(
        "apiVersion: v1
kind: Config
current-context: kedge
clusters:
- name: kedge
  cluster:
    server: {server}
    certificate-authority-data: {}{all}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_or_several_are_named() {
        let admin = Issued { certificate: "c".to_owned(), key: "k".to_owned() };
        let read = |servers: &[&str]| {
            let servers: Vec<String> = servers.iter().map(|server| (*server).to_owned()).collect();
            let text = text("https://127.0.0.1:6443", &servers, "ca", &admin);
            let config: kube::config::Kubeconfig = serde_saphyr::from_str(&text).unwrap();
            let cluster = config.clusters[0].cluster.as_ref().unwrap();
            kedge_client::Servers::listed(cluster).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(read(&["https://10.0.0.1:6443"]).is_empty());
        assert_eq!(
            read(&["https://10.0.0.1:6443", "https://10.0.0.2:6443"]),
            ["https://127.0.0.1:6443", "https://10.0.0.1:6443", "https://10.0.0.2:6443"]
        );
    }
}
