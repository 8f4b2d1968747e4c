//! Whether a process has the ports that it was told to, as the kernel's tables say. Tries none: whoever tries a port takes it from others.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// How the kernel writes that a socket is listened to.
const LISTENS: &str = "0A";

/// What is to be told of the gateway's places that others have; nothing where the process has them, or nobody.
pub(super) fn beware(pid: u32, places: &[SocketAddr]) -> String {
    let Some(own) = sockets(pid) else { return String::new() };
    let all: Vec<_> = ["tcp", "tcp6"]
        .iter()
        .flat_map(|table| {
            listeners(&fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default())
        })
        .collect();
    let told = taken(&all, &own, places).into_iter().map(|at| {
        let port = at.port();
        format!(
            "Beware: {at} is not the gateway's, somebody else listens there (`ss -lntp | grep :{port}` says who). The gateway takes it \
             once it is free; --gateway-http and --gateway-https choose others, --no-gateway does without.\n"
        )
    });
    told.collect()
}

/// The places that somebody listens at, but no socket of the process's own. One that has the port elsewhere does not have it there.
fn taken(all: &[(SocketAddr, u64)], own: &BTreeSet<u64>, places: &[SocketAddr]) -> Vec<SocketAddr> {
    let meets = |one: IpAddr, other: IpAddr| one == other || one.is_unspecified() || other.is_unspecified();
    let is_taken = |place: &&SocketAddr| {
        let is_had = all.iter().any(|(at, socket)| at == *place && own.contains(socket));
        let mut theirs = all.iter().filter(|(_, socket)| !own.contains(socket));
        !is_had && theirs.any(|(at, _)| at.port() == place.port() && meets(at.ip(), place.ip()))
    };
    places.iter().filter(is_taken).copied().collect()
}

/// Where is listened, and by which socket.
fn listeners(table: &str) -> Vec<(SocketAddr, u64)> {
    let read = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (place, state, socket) = (words.get(1)?, words.get(3)?, words.get(9)?);
        let (address, port) = place.split_once(':')?;
        let at = SocketAddr::new(address_of(address)?, u16::from_str_radix(port, 16).ok()?);
        (*state == LISTENS).then_some((at, socket.parse().ok()?))
    };
    table.lines().filter_map(read).collect()
}

/// The kernel writes addresses as numbers of four bytes, in the machine's own order.
fn address_of(text: &str) -> Option<IpAddr> {
    let part = |at: usize| {
        let number = u32::from_str_radix(text.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(number.to_ne_bytes())
    };
    if text.len() == 8 {
        return Some(Ipv4Addr::from(part(0)?).into());
    }
    let mut bytes = [0; 16];
    for (at, place) in bytes.chunks_mut(4).enumerate() {
        place.copy_from_slice(&part(at)?);
    }
    Some(Ipv6Addr::from(bytes).into())
}

/// The sockets of a process; none if they cannot be seen.
fn sockets(pid: u32) -> Option<BTreeSet<u64>> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let sockets = links.filter_map(|link| {
        let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        number.parse().ok()
    });
    Some(sockets.collect())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_what_somebody_else_has_is_taken() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        for (case, listening, place, is_taken) in [
            ("nobody", vec![], "0.0.0.0:80", false),
            ("another port", vec![("0.0.0.0:8080", 1)], "0.0.0.0:80", false),
            ("another process", vec![("0.0.0.0:80", 1)], "0.0.0.0:80", true),
            ("one of both versions", vec![("[::]:80", 1)], "0.0.0.0:80", true),
            ("one address of all", vec![("127.0.0.1:80", 1)], "0.0.0.0:80", true),
            ("another address", vec![("127.0.0.1:80", 1)], "192.0.2.1:80", false),
            ("half of it", vec![("0.0.0.0:80", 1), ("[::]:80", 8)], "0.0.0.0:80", true),
            ("the gateway", vec![("0.0.0.0:80", 7), ("[::]:80", 8)], "0.0.0.0:80", false),
        ] {
            let all: Vec<_> = listening.iter().map(|(text, socket)| (at(text), *socket)).collect();
            let found = taken(&all, &[7, 8].into(), &[at(place)]);
            assert_eq!(!found.is_empty(), is_taken, "{case}");
        }
    }

    #[test]
    fn the_kernels_tables_are_read() {
        // Not every machine has the sixth version.
        let held: Vec<TcpListener> =
            ["127.0.0.1:0", "[::1]:0"].iter().filter_map(|at| TcpListener::bind(at).ok()).collect();
        let places: Vec<SocketAddr> = held.iter().map(|listener| listener.local_addr().unwrap()).collect();
        assert!(!places.is_empty());
        assert_eq!(beware(std::process::id(), &places), "", "our own");
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let told = beware(other.id(), &places);
        other.kill().unwrap();
        other.wait().unwrap();
        for at in &places {
            assert!(told.contains(&format!("Beware: {at} is not the gateway's")), "{told}");
        }
    }
}
