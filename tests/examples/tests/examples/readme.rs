//! The lines that the README tells a newcomer to type, typed as they are: at their end a web page is read by host name and path.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use kedge_shipped::import_as;
use serde_json::json;

use crate::machine::Machine;

/// What the README's image is called, and what its first page says.
const IMAGE: &str = "nginx:1";
const PAGE: &str = "Welcome to nginx!";

pub(crate) fn leads_to_a_web_page(machine: &Machine, readme: &Path) {
    let text = std::fs::read_to_string(readme).unwrap();
    let mut blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let typed = blocks.find(|block| block.starts_with("export KUBECONFIG")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A web server under the name of another: no registry is asked.
    let command = json!({"Cmd": ["/bin/httpd", "-f", "-p", "80", "-h", "/tmp"]});
    runtime.block_on(import_as(&machine.data(), IMAGE, Some(("/tmp/index.html", PAGE)), command));
    let here = tempfile::TempDir::new().unwrap();
    symlink(machine.data(), here.path().join(".kedge")).unwrap();
    // The gateway of a test is not at port 80, and this machine's own names are left alone.
    let port = machine.gateway();
    let curl = format!("curl() {{ command curl -sS --connect-to ::127.0.0.1:{port} \"$@\"; }}");
    let kubectl = format!("kubectl() {{ command '{}' \"$@\"; }}", kedge_shipped::kubectl().display());
    let script = format!("set -euo pipefail\n{curl}\n{kubectl}\n{typed}");
    let said = Command::new("bash").args(["-c", &script]).current_dir(here.path()).output().unwrap();
    let [out, err] = [&said.stdout, &said.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(said.status.success() && out.contains(PAGE), "{out}{err}\n{}", machine.log());
    machine.kubectl(&["delete", "deployment/web", "service/web", "dnsrecord/web", "--timeout=30s"]);
}
