//! What a node may be known as: its own name, and the addresses that it and nobody else has. One authority vouches for nodes and for
//! the API, so a node that got a certificate for the API's address could pass for it (`docs/decisions/0012-joining.md`).

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kedge_pki::Request;
use kedge_registry::User;
use serde_json::Value;

use super::Tools;
use crate::nodes;

/// Whether the node that asks names nothing but itself. What cannot be read is not its own.
pub(super) fn is_own(tools: &Tools, author: &User, object: &Value) -> bool {
    let Some(node) = nodes::identity(author) else { return false };
    let pem = STANDARD.decode(object["spec"]["request"].as_str().unwrap_or("")).unwrap_or_default();
    let Ok(request) = Request::parse(&pem) else { return false };
    let catalog = tools.api.registry().catalog();
    let Some(kind) = catalog.kind("", "v1", "nodes") else { return false };
    let snapshot = tools.api.registry().store().snapshot();
    let prefix = format!("/registry/{}/", kind.prefix);
    let all = snapshot.range(&prefix, None);
    let nodes: Option<Vec<Value>> =
        all.map(|(_, entry)| serde_json::from_slice(entry.bytes()).ok()).collect();
    nodes.is_some_and(|nodes| fits(&request, node, &nodes, tools.api.names()))
}

fn fits(request: &Request, node: &str, nodes: &[Value], taken: &[String]) -> bool {
    let addresses: Option<Vec<String>> = request.addresses.iter().map(|bytes| address(bytes)).collect();
    let Some(addresses) = addresses else { return false };
    let is_free = |name: &String| !taken.contains(name) && !is_of_the_api(name);
    let has = |node: &Value, wanted: &String| {
        let told = node["status"]["addresses"].as_array().into_iter().flatten();
        told.filter_map(|one| one["address"].as_str()).any(|one| one == wanted)
    };
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        nodes.iter().partition(|one| one["metadata"]["name"] == node);
    request.dns_names.iter().all(|name| name == node && is_free(name))
        && addresses.iter().all(|address| {
            is_free(address)
                && own.iter().any(|node| has(node, address))
                && !others.iter().any(|node| has(node, address))
        })
}

/// Names that mean the API to everybody, whatever its address is.
fn is_of_the_api(name: &str) -> bool {
    let is_own_machine = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    name == "localhost" || name == "kubernetes" || name.starts_with("kubernetes.default") || is_own_machine
}

fn address(bytes: &[u8]) -> Option<String> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::from(four).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| IpAddr::from(sixteen).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::upkeep::signing::tests::pem;

    #[test]
    fn a_node_is_known_as_itself_alone() {
        let node = |name: &str, address: &str| json!({"metadata": {"name": name}, "status": {"addresses": [{"type": "InternalIP", "address": address}]}});
        let nodes = [node("n1", "10.0.0.1"), node("n2", "10.0.0.2"), node("server", "10.0.0.9")];
        let api = ["10.0.0.9".to_owned(), "kedge.example".to_owned()];
        for (case, who, hosts, expected) in [
            ("its name and address", "n1", &["n1", "10.0.0.1"][..], true),
            ("its name alone", "n1", &["n1"], true),
            ("another name", "n1", &["n2"], false),
            ("another's address", "n1", &["n1", "10.0.0.2"], false),
            ("nobody's address", "n1", &["n1", "10.0.0.3"], false),
            ("the API's address", "server", &["server", "10.0.0.9"], false),
            ("the API's name", "kedge.example", &["kedge.example"], false),
            ("a name that means the API", "kubernetes.default.svc", &["kubernetes.default.svc"], false),
            ("everybody's own machine", "localhost", &["localhost"], false),
            ("one that nobody knows", "n3", &["n3", "10.0.0.1"], false),
        ] {
            let request =
                Request::parse(pem(&format!("system:node:{who}"), "system:nodes", hosts).as_bytes());
            assert_eq!(fits(&request.unwrap(), who, &nodes, &api), expected, "{case}");
        }
    }
}
