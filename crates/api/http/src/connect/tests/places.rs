//! Tables of the pure parts: names, places, links.

use serde_json::json;

use crate::connect::nodes::place_of;
use crate::connect::relay::rewritten;

#[test]
fn a_node_is_where_it_says() {
    for (status, wanted) in [
        (
            json!({"addresses": [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}]}),
            "10.0.0.1 10250",
        ),
        (
            json!({"addresses": [{"type": "Hostname", "address": "h"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": 4}}}),
            "h 4",
        ),
        (
            json!({"addresses": [{"type": "InternalIP", "address": "fd00::1"}, {"type": "InternalIP", "address": "10.0.0.1"}]}),
            "fd00::1 10250",
        ),
        (json!({}), "no preferred addresses found; known addresses: []"),
        (
            json!({"addresses": [{"type": "Odd", "address": "x"}]}),
            "no preferred addresses found; known addresses: [{Odd x}]",
        ),
    ] {
        let found = place_of(&json!({"status": status}));
        let told = found.map_or_else(|status| status.message, |(host, port)| format!("{host} {port}"));
        assert_eq!(told, wanted);
    }
}

#[test]
fn links_to_the_same_server_lead_through_us() {
    let prefix = "/api/v1/nodes/n/proxy";
    for (location, wanted) in [
        ("/logs/", Some("/api/v1/nodes/n/proxy/logs/")),
        ("https://10.0.0.1:10250/logs?a=b", Some("/api/v1/nodes/n/proxy/logs?a=b")),
        ("http://localhost:8001/x", Some("http://localhost:8001/api/v1/nodes/n/proxy/x")),
        ("https://elsewhere/x", None),
        ("//elsewhere/x", None),
        ("relative/x", None),
        ("/api/v1/nodes/n/proxy/x", None),
        ("?a=http://10.0.0.1:10250/", None),
    ] {
        let got = rewritten(location, "10.0.0.1:10250", "localhost:8001", prefix);
        assert_eq!(got.as_deref(), wanted, "{location}");
    }
}
