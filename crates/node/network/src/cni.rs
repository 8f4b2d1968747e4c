//! The Container Network Interface: a runtime starts this program for each sandbox, says in the environment and on standard
//! input what it wants, and reads what came of it from standard output. See the specification, version 1.1.

mod answer;
mod call;
mod check;

use kedge_netlink::{Namespace, Socket, link};
use serde_json::{Value, json};

use self::answer::{Failure, added, is_known, versions};
use self::call::{Call, Command, Config};
use self::check::check;
use crate::attach::{attach, detach};
use crate::leftovers::keep_only;
use crate::records::Records;

/// The name under which the runtime asks for the link that every network has.
const LOOPBACK: &str = "loopback";
/// Its number is the same everywhere.
const LOOPBACK_INDEX: u32 = 1;

/// What is to be printed, and whether it was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub text: String,
    pub is_done: bool,
}

/// Answers one call. `program` is the name by which it was started, `variable` the environment.
pub fn answer(program: &str, variable: impl Fn(&str) -> Option<String>, input: &[u8]) -> Outcome {
    let config = Config::read(input);
    let version = config.as_ref().map_or_else(|_| String::new(), |config| config.version.clone());
    let done = config.and_then(|config| {
        let call = Call::read(variable, config)?;
        if program == LOOPBACK { loopback(&call) } else { carry_out(&call) }
    });
    match done {
        Ok(Value::Null) => Outcome { text: String::new(), is_done: true },
        Ok(value) => Outcome { text: value.to_string(), is_done: true },
        Err(failure) => Outcome { text: failure.told(&version), is_done: false },
    }
}

fn carry_out(call: &Call) -> Result<Value, Failure> {
    if call.command == Command::Version {
        return Ok(versions(&call.config.version));
    }
    if !is_known(&call.config.version) {
        return Err(Failure::Version(call.config.version.clone()));
    }
    let network = call.config.network()?;
    match call.command {
        Command::Version => Ok(versions(&call.config.version)),
        Command::Add => {
            let (owner, namespace) = (call.owner()?, call.namespace()?);
            let attached = attach(&network, owner, namespace, call.config.doors()?, call.config.limits()?)?;
            Ok(added(&call.config.version, &network, owner, namespace, &attached))
        }
        Command::Delete => detach(&network, call.owner()?).map(|()| Value::Null).map_err(Failure::from),
        Command::Check => check(&network, call).map(|()| Value::Null),
        Command::Collect => {
            keep_only(&network, &call.config.valid).map(|()| Value::Null).map_err(Failure::from)
        }
        Command::Status => Records::lock(&network.records).map(|_| Value::Null).map_err(Failure::NotReady),
    }
}

/// The link to itself needs only to be switched on, and goes with its namespace.
fn loopback(call: &Call) -> Result<Value, Failure> {
    match call.command {
        Command::Version => return Ok(versions(&call.config.version)),
        Command::Add => {}
        Command::Delete | Command::Check | Command::Collect | Command::Status => return Ok(Value::Null),
    }
    let path = call.namespace()?;
    let namespace = Namespace::open(path).map_err(|error| Failure::no_namespace(path, error))?;
    let done = namespace.inside(|| Socket::route()?.tell(&mut [link::up(LOOPBACK_INDEX)]));
    done.map_err(|error| Failure::no_namespace(path, error))??;
    Ok(json!({
        "cniVersion": call.config.version,
        "interfaces": [{"name": "lo", "mac": "00:00:00:00:00:00", "sandbox": path}],
        "ips": answer::ips(&call.config.version, [("127.0.0.1/8", None, 0), ("::1/128", None, 0)].into_iter()),
        "dns": {},
    }))
}

#[cfg(test)]
mod tests;
