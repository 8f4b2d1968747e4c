//! The names that a pod knows without asking anybody. Pure.

use k8s_openapi::api::core::v1::Pod;

use crate::spec::names;
use crate::spec::sandbox::Common;

/// Both headers are Kubernetes' own; programs look for them.
const HEADER: &str = "# Kubernetes-managed hosts file.\n";
const HEADER_OF_NODE: &str = "# Kubernetes-managed hosts file (host network).\n";
const EVERYBODY: &str = "127.0.0.1\tlocalhost\n\
                         ::1\tlocalhost ip6-localhost ip6-loopback\n\
                         fe00::0\tip6-localnet\n\
                         fe00::0\tip6-mcastprefix\n\
                         fe00::1\tip6-allnodes\n\
                         fe00::2\tip6-allrouters\n";

/// Whoever shares the node's network knows the names that the node knows.
pub(super) fn text(pod: &Pod, ips: &[String], nodes: &str, common: &Common) -> String {
    let spec = pod.spec.as_ref();
    let mut text = match spec.is_some_and(|spec| spec.host_network == Some(true)) {
        true => format!("{HEADER_OF_NODE}{nodes}"),
        false => {
            let mut text = format!("{HEADER}{EVERYBODY}");
            let short = names::short_hostname(pod);
            let full = names::full_name(pod, &short, common);
            for ip in ips {
                match &full {
                    Some(full) => text.push_str(&format!("{ip}\t{full}\t{short}\n")),
                    None => text.push_str(&format!("{ip}\t{short}\n")),
                }
            }
            text
        }
    };
    let aliases = spec.and_then(|spec| spec.host_aliases.as_deref()).unwrap_or_default();
    if !aliases.is_empty() {
        text.push_str("\n# Entries added by HostAliases.\n");
    }
    for alias in aliases {
        let names = alias.hostnames.as_deref().unwrap_or_default().join("\t");
        text.push_str(&format!("{}\t{names}\n", alias.ip));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_pod_knows_its_own_names_and_those_it_is_told() {
        let common = Common { cluster_domain: "cluster.local".to_owned(), ..Common::default() };
        let ips = ["10.1.0.2".to_owned(), "2001:db8::2".to_owned()];
        let of = |spec: Value| -> String {
            let meta = json!({"name": "web-0", "namespace": "shop"});
            let pod = serde_json::from_value(json!({"metadata": meta, "spec": spec})).unwrap();
            text(&pod, &ips, "192.0.2.1\tnode\n", &common)
        };
        let plain = of(json!({"containers": []}));
        assert!(plain.starts_with("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"), "{plain}");
        assert!(plain.ends_with("\n10.1.0.2\tweb-0\n2001:db8::2\tweb-0\n"), "{plain}");
        let named = of(json!({"containers": [], "subdomain": "web", "setHostnameAsFQDN": true}));
        assert!(named.contains("10.1.0.2\tweb-0.web.shop.svc.cluster.local\tweb-0\n"), "{named}");
        let over = of(json!({"containers": [], "subdomain": "web", "hostnameOverride": "other.name"}));
        assert!(over.ends_with("\n10.1.0.2\tother.name\n2001:db8::2\tother.name\n"), "{over}");
        let aliases = json!([{"ip": "192.0.2.9", "hostnames": ["a", "b"]}]);
        let shared = of(json!({"containers": [], "hostNetwork": true, "hostAliases": aliases}));
        let expected = "# Kubernetes-managed hosts file (host network).\n192.0.2.1\tnode\n\n# Entries added by HostAliases.\n192.0.2.9\ta\tb\n";
        assert_eq!(shared, expected);
    }
}
