//! What a machine's facts mean for Kedge. Pure.

use super::{Cgroups, Host, Parser, Port, Program};
use crate::doctor::finding::{Finding, doubt, fine, wrong};
use crate::status::bytes;
use crate::status::disk::Room;

/// Debian 11's.
const OLDEST_KERNEL: (u32, u32) = (5, 10);
const OLDEST_CONTAINERD: (u32, u32) = (1, 6);
/// Below this nodes say that they have no memory left.
const LEAST_MEMORY: u64 = 100 << 20;
/// Shares of the disk, in percent, at which nodes send pods away and at which it is time to look.
const LEAST_DISK: u64 = 10;
const LITTLE_DISK: u64 = 20;
/// The store goes on in files of some megabytes.
const LEAST_ROOM: u64 = 100 << 20;
const FEW_FILES: u64 = 65_536;

/// What all of it means.
pub(crate) fn judge(host: &Host) -> Vec<Finding> {
    let has_node = !host.programs.is_empty();
    let mut all = vec![of_root(host, has_node), of_kernel(host)];
    all.extend(host.features.iter().map(|(feature, has)| of_feature(feature, *has)));
    if has_node {
        all.push(of_cgroups(&host.cgroups));
    }
    if has_node {
        all.extend(of_parser(&host.parser));
    }
    all.extend(host.programs.iter().map(of_program));
    all.extend(host.ports.iter().map(of_port));
    all.extend(host.room.map(of_disk));
    all.extend(host.memory.map(of_memory));
    all.push(of_files(host.files));
    all.push(of_clock(host));
    if has_node {
        all.push(of_names(host));
        all.push(match host.forwards {
            Some(false) => fine("packets are not forwarded yet; the node switches that on when it starts"),
            _ => fine("packets are forwarded"),
        });
    }
    all.push(match &host.ranges {
        None => fine("the cluster's ranges of addresses are free here"),
        Some(why) => wrong(
            "the cluster's ranges of addresses are taken",
            why.clone(),
            "choose others with --cluster-cidr or --service-cidr",
        ),
    });
    all
}

fn of_root(host: &Host, has_node: bool) -> Finding {
    match (host.is_root, has_node) {
        (true, _) => fine("run by root"),
        (false, true) => wrong(
            "not run by root",
            "only root may run containers and set up networks",
            "use sudo, or run the server with --no-agent",
        ),
        (false, false) => fine("not run by root, which a server without a node needs not be"),
    }
}

fn of_kernel(host: &Host) -> Finding {
    match version(&host.kernel) {
        Some(found) if found < OLDEST_KERNEL => doubt(
            format!("kernel {}", host.kernel),
            format!("nothing before {}.{} is tried", OLDEST_KERNEL.0, OLDEST_KERNEL.1),
            "use a newer kernel",
        ),
        _ => fine(format!("kernel {}", host.kernel)),
    }
}

fn of_feature(feature: &str, has: Option<bool>) -> Finding {
    match has {
        Some(true) => fine(format!("the kernel has {feature}")),
        None => doubt(
            format!("whether the kernel has {feature} cannot be seen"),
            "only root can try",
            "run `kedge doctor` as root",
        ),
        Some(false) => wrong(
            format!("the kernel has no {feature}"),
            "pods and Services are carried by it",
            format!(
                "`modprobe {}`; if that fails, use a kernel that has it (a distribution's own has)",
                feature.split(' ').next().unwrap_or(feature)
            ),
        ),
    }
}

fn of_cgroups(cgroups: &Cgroups) -> Finding {
    let Cgroups { version, controllers } = cgroups;
    let missing: Vec<&str> = ["cpu", "memory", "pids"]
        .into_iter()
        .filter(|name| !controllers.iter().any(|has| has == name))
        .collect();
    if missing.is_empty() {
        return fine(format!("cgroups (version {version}) for cpu, memory and pids"));
    }
    wrong(
        format!("no cgroup controller (version {version}) for {}", missing.join(", ")),
        "pods' requests and limits are kept by them",
        match missing[..] {
            ["memory"] => {
                "add cgroup_enable=memory (and cgroup_memory=1 on some boards) to the kernel's command line"
            }
            _ => {
                "if this is a container, have them delegated to it; else have the init system give them to this tree, or use a kernel that has them"
            }
        },
    )
}

fn of_parser(parser: &Parser) -> Option<Finding> {
    match parser {
        Parser::Fine => None,
        Parser::Missing => Some(doubt(
            "the kernel enforces AppArmor, but /sbin/apparmor_parser is missing",
            "containerd runs containers without its profile then, and refuses those that ask for one; before 1.6.18 it runs none",
            "apt-get install apparmor, then start this machine again",
        )),
        Parser::Fails(why) => Some(wrong(
            format!("the kernel enforces AppArmor, but /sbin/apparmor_parser fails ({why})"),
            "containerd loads its profile with it, and runs no container without",
            "apt-get install --reinstall apparmor, or remove it: then containers run without a profile",
        )),
    }
}

fn of_program(program: &Program) -> Finding {
    let name = program.name;
    let Some(said) = &program.version else {
        return wrong(
            format!("{name} is not installed"),
            "pods run on it",
            "apt-get install containerd runc, or name a runtime with --container-runtime-endpoint",
        );
    };
    let found = said.split(' ').find_map(|word| Some((word, version(word.trim_start_matches('v'))?)));
    match found {
        Some((_, found)) if name == "containerd" && found < OLDEST_CONTAINERD => {
            wrong(said.to_string(), "it is older than 1.6", "install containerd 1.6 or newer")
        }
        Some((word, _)) => fine(format!("{name} {word}")),
        None => fine(said.clone()),
    }
}

fn of_port(port: &Port) -> Finding {
    let Port { what, flag, at, trouble } = port;
    match trouble {
        None => fine(format!("{at} is free for {what}")),
        Some(why) if why.starts_with("Permission denied") => doubt(
            format!("whether {at} is free for {what} cannot be seen"),
            "only root may listen there",
            "run `kedge doctor` as root",
        ),
        Some(why) => wrong(
            format!("{at} cannot be had for {what}: {why}"),
            "somebody else listens there, or the address is not this machine's",
            format!("end it (`ss -lnp | grep :{}` says who), or choose another with {flag}", at.port()),
        ),
    }
}

fn of_disk(room: Room) -> Finding {
    let share = |part: u64, whole: u64| part.saturating_mul(100).checked_div(whole).unwrap_or(100);
    let left = share(room.free, room.whole).min(share(room.free_files, room.files));
    let what = format!("{} of {} of the disk are free", bytes(room.free), bytes(room.whole));
    let fix = "make room, or give Kedge another place with --data-dir";
    if room.free < LEAST_ROOM {
        return wrong(
            what,
            "nothing can be written soon, and then nothing can be changed in the cluster",
            fix,
        );
    }
    match left {
        ..LEAST_DISK => wrong(what, "below 10 % the node takes no more pods and ends some", fix),
        LEAST_DISK..LITTLE_DISK => doubt(what, "below 15 % unused images go, below 10 % pods", fix),
        _ => fine(what),
    }
}

fn of_memory(free: u64) -> Finding {
    let what = format!("{} of memory are available", bytes(free));
    match free {
        ..LEAST_MEMORY => {
            wrong(what, "below 100 MiB the node ends pods", "end other programs, or add memory")
        }
        _ => fine(what),
    }
}

fn of_files(files: u64) -> Finding {
    match files {
        ..FEW_FILES => doubt(
            format!("{files} files may be open at once"),
            "each connection of a client is one",
            "raise the hard limit (LimitNOFILE= of the unit, `ulimit -Hn`)",
        ),
        _ => fine("enough files may be open at once"),
    }
}

fn of_clock(host: &Host) -> Finding {
    let now = host.now.strftime("%Y-%m-%d %H:%M:%S UTC");
    // Certificates of a clock that was never set begin in another year than everybody else's.
    if host.now.as_second() < 1_735_689_600 {
        return wrong(
            format!("the clock says {now}"),
            "certificates and leases go by it",
            "set it: `timedatectl set-ntp true`",
        );
    }
    match host.clock_is_kept {
        Some(false) => doubt(
            format!("the clock says {now}, and nobody keeps it right"),
            "certificates and leases go by it, and machines must agree",
            "`timedatectl set-ntp true`, or run chrony",
        ),
        _ => fine(format!("the clock says {now}")),
    }
}

fn of_names(host: &Host) -> Finding {
    let is_name = |name: &str| {
        name.len() <= 253
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
    };
    match &host.name {
        Some(name) if !is_name(name) => wrong(
            format!("the host name {name:?} cannot name a node"),
            "nodes' names are letters, digits, dashes and dots",
            "choose one with --node-name, or `hostnamectl set-hostname`",
        ),
        _ if host.nameservers == 0 => doubt(
            "/etc/resolv.conf names no server",
            "pods can look up the cluster's names alone",
            "name one with --dns-upstream",
        ),
        _ => fine("a host name, and servers to ask for other names"),
    }
}

/// The first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    Some((numbers.next()??, numbers.next()??))
}
