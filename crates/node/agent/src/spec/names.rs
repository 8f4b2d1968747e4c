//! What a pod is called, and how it finds others by their names. Pure.

use k8s_openapi::api::core::v1::Pod;
use kedge_runtime::wire::DnsConfig;

use super::sandbox::Common;

/// Longer host names are none to the kernel.
const LONGEST_HOSTNAME: usize = 63;
const LONGEST_FULL_NAME: usize = 64;
/// What resolvers can deal with.
const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const LONGEST_SEARCH: usize = 253;
const LONGEST_SEARCHES: usize = 2048;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to construct FQDN from Pod hostname and cluster domain, FQDN {name} is too long ({LONGEST_FULL_NAME} characters is \
     the max, {} characters requested)",
    name.len()
)]
pub(crate) struct NameTooLong {
    name: String,
}

/// The pod's own part of its name.
pub(crate) fn short_hostname(pod: &Pod) -> String {
    let spec = pod.spec.as_ref();
    let set = spec.and_then(|spec| spec.hostname_override.clone().or_else(|| spec.hostname.clone()));
    let set = set.filter(|name| !name.is_empty());
    let name = set.or_else(|| pod.metadata.name.clone()).unwrap_or_default();
    let short: String = name.chars().take(LONGEST_HOSTNAME).collect();
    match short.len() < name.len() {
        true => short.trim_end_matches(['-', '.']).to_owned(),
        false => short,
    }
}

/// What the pod is called inside.
pub(crate) fn hostname(pod: &Pod, common: &Common) -> Result<String, NameTooLong> {
    let short = short_hostname(pod);
    let wants_full = pod.spec.as_ref().is_some_and(|spec| spec.set_hostname_as_fqdn == Some(true));
    match full_name(pod, &short, common).filter(|_| wants_full) {
        Some(name) if name.len() > LONGEST_FULL_NAME => Err(NameTooLong { name }),
        Some(name) => Ok(name),
        None => Ok(short),
    }
}

/// The name in the cluster of a pod that has a subdomain.
pub(crate) fn full_name(pod: &Pod, hostname: &str, common: &Common) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let subdomain = spec.subdomain.as_deref().filter(|name| !name.is_empty())?;
    if spec.hostname_override.is_some() {
        return None;
    }
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    Some(format!("{hostname}.{subdomain}.{namespace}.svc.{}", common.cluster_domain))
}

/// How the pod finds names, and what had to be left out.
pub(crate) fn dns(pod: &Pod, common: &Common) -> (DnsConfig, Vec<String>) {
    let spec = pod.spec.as_ref();
    let host_network = spec.is_some_and(|spec| spec.host_network == Some(true));
    let policy = spec.and_then(|spec| spec.dns_policy.as_deref()).unwrap_or("ClusterFirst");
    let cluster = match policy {
        "ClusterFirst" => !host_network,
        "ClusterFirstWithHostNet" => true,
        _ => false,
    };
    let mut dns = match policy {
        "None" => DnsConfig::default(),
        _ if cluster && !common.cluster_dns.is_empty() => {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let domain = &common.cluster_domain;
            let own = [format!("{namespace}.svc.{domain}"), format!("svc.{domain}"), domain.clone()];
            let mut searches = Vec::new();
            add(&mut searches, own.into_iter().chain(common.node_dns.pods.searches.iter().cloned()));
            DnsConfig { servers: common.cluster_dns.clone(), searches, options: vec!["ndots:5".to_owned()] }
        }
        _ if host_network => common.node_dns.own.clone(),
        _ => common.node_dns.pods.clone(),
    };
    if let Some(more) = spec.and_then(|spec| spec.dns_config.as_ref()) {
        add(&mut dns.servers, more.nameservers.iter().flatten().cloned());
        add(&mut dns.searches, more.searches.iter().flatten().cloned());
        for option in more.options.iter().flatten() {
            let Some(name) = &option.name else { continue };
            let value = option.value.as_deref().filter(|value| !value.is_empty());
            set(&mut dns.options, name, value);
        }
    }
    let left_out = fit(&mut dns);
    (dns, left_out)
}

/// The node's own `resolv.conf`.
pub(crate) fn of_node(text: &str) -> DnsConfig {
    let mut dns = DnsConfig::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("nameserver") => dns.servers.extend(words.next().map(str::to_owned)),
            // The last line counts.
            Some("search") => {
                let domains = words.filter(|domain| *domain != ".");
                dns.searches = domains.map(|domain| domain.trim_end_matches('.').to_owned()).collect();
            }
            Some("options") => {
                for option in words {
                    let (name, value) = option.split_once(':').map_or((option, None), |(n, v)| (n, Some(v)));
                    set(&mut dns.options, name, value);
                }
            }
            _ => {}
        }
    }
    dns
}

fn set(options: &mut Vec<String>, name: &str, value: Option<&str>) {
    let option = value.map_or_else(|| name.to_owned(), |value| format!("{name}:{value}"));
    match options.iter_mut().find(|set| set.split(':').next() == Some(name)) {
        Some(there) => *there = option,
        None => options.push(option),
    }
}

fn add(list: &mut Vec<String>, more: impl Iterator<Item = String>) {
    for one in more {
        if !list.contains(&one) {
            list.push(one);
        }
    }
}

fn fit(dns: &mut DnsConfig) -> Vec<String> {
    let mut left_out = Vec::new();
    if dns.servers.len() > MOST_SERVERS {
        dns.servers.truncate(MOST_SERVERS);
        left_out.push(format!(
            "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: {}",
            dns.servers.join(" ")
        ));
    }
    let before = dns.searches.len();
    dns.searches.truncate(MOST_SEARCHES);
    dns.searches.retain(|search| search.len() <= LONGEST_SEARCH);
    while dns.searches.join(" ").len() > LONGEST_SEARCHES {
        dns.searches.pop();
    }
    if dns.searches.len() < before {
        left_out.push(format!(
            "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: {}",
            dns.searches.join(" ")
        ));
    }
    left_out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::resolver::NodeDns;

    fn pod(spec: Value) -> Pod {
        let meta = json!({"name": "web-0", "namespace": "shop"});
        serde_json::from_value(json!({"metadata": meta, "spec": spec})).unwrap()
    }

    fn common() -> Common {
        Common {
            cluster_domain: "cluster.local".to_owned(),
            cluster_dns: vec!["10.96.0.10".to_owned()],
            node_dns: NodeDns {
                own: of_node("nameserver 127.0.0.53\nsearch example.org\n"),
                pods: of_node(
                    "nameserver 192.0.2.53\nsearch old\nsearch example.org. .\noptions rotate ndots:2\n",
                ),
            },
        }
    }

    #[test]
    fn a_pod_is_called_what_it_says() {
        let long = "x".repeat(62) + "-y";
        for (spec, name) in [
            (json!({}), "web-0"),
            (json!({"hostname": "db"}), "db"),
            (json!({"hostname": long}), &*"x".repeat(62)),
            (json!({"subdomain": "web"}), "web-0"),
            (json!({"subdomain": "web", "setHostnameAsFQDN": true}), "web-0.web.shop.svc.cluster.local"),
            (json!({"setHostnameAsFQDN": true}), "web-0"),
            (json!({"subdomain": "web", "hostnameOverride": "other.org"}), "other.org"),
        ] {
            let mut whole = json!({"containers": []});
            whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            assert_eq!(hostname(&pod(whole), &common()).unwrap(), name, "{spec}");
        }
        let spec = json!({"containers": [], "subdomain": "s".repeat(50), "setHostnameAsFQDN": true});
        let told = hostname(&pod(spec), &common()).unwrap_err().to_string();
        assert!(told.ends_with("is too long (64 characters is the max, 79 characters requested)"), "{told}");
    }

    #[test]
    fn names_are_asked_for_where_the_policy_says() {
        let of = |spec: Value| {
            let mut whole = json!({"containers": []});
            whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            let (dns, left_out) = dns(&pod(whole), &common());
            assert_eq!(left_out, Vec::<String>::new());
            format!("{} | {} | {}", dns.servers.join(" "), dns.searches.join(" "), dns.options.join(" "))
        };
        let cluster =
            "10.96.0.10 | shop.svc.cluster.local svc.cluster.local cluster.local example.org | ndots:5";
        let node = "192.0.2.53 | example.org | rotate ndots:2";
        let beside = "127.0.0.53 | example.org | ";
        let config = json!({
            "nameservers": ["192.0.2.1", "10.96.0.10"], "searches": ["more.org"],
            "options": [{"name": "ndots", "value": "1"}, {"name": "edns0"}],
        });
        for (spec, expected) in [
            (json!({}), cluster),
            (json!({"dnsPolicy": "ClusterFirst", "hostNetwork": true}), beside),
            (json!({"dnsPolicy": "Default", "hostNetwork": true}), beside),
            (json!({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": true}), cluster),
            (json!({"dnsPolicy": "Default"}), node),
            (
                json!({"dnsPolicy": "None", "dnsConfig": config}),
                "192.0.2.1 10.96.0.10 | more.org | ndots:1 edns0",
            ),
            (
                json!({"dnsConfig": config}),
                "10.96.0.10 192.0.2.1 | shop.svc.cluster.local svc.cluster.local cluster.local example.org more.org | ndots:1 edns0",
            ),
        ] {
            assert_eq!(of(spec.clone()), expected, "{spec}");
        }
    }

    #[test]
    fn what_resolvers_cannot_do_is_left_out() {
        let servers: Vec<_> = (1..=4).map(|n| format!("192.0.2.{n}")).collect();
        let searches: Vec<_> = (1..=40).map(|n| format!("{n}.org")).collect();
        let config = json!({"nameservers": servers, "searches": searches});
        let (dns, told) =
            dns(&pod(json!({"containers": [], "dnsPolicy": "None", "dnsConfig": config})), &common());
        assert_eq!((dns.servers.len(), dns.searches.len()), (3, 32));
        assert!(told[0].ends_with("line is: 192.0.2.1 192.0.2.2 192.0.2.3"), "{told:?}");
        assert!(told[1].starts_with("Search Line limits were exceeded"), "{told:?}");
    }
}
