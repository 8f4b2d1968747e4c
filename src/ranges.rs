//! Whether the cluster's ranges can be its own: apart from each other, and not those of networks that this machine is part of. Told
//! at the start, with the flag to change; later it would be packets that get lost.

use kedge_network::{NetworkError, Range, others};

use crate::cluster::Cluster;

const PODS: &str = "--cluster-cidr";
const SERVICES: &str = "--service-cidr";

#[derive(Debug, thiserror::Error)]
pub(crate) enum RangesError {
    #[error("{first_flag} {first} and {second_flag} {second} overlap: choose another range for one of them")]
    Overlap { first_flag: &'static str, first: Range, second_flag: &'static str, second: Range },
    #[error(
        "{flag} {range} overlaps {other}, to which this machine's link {link} leads: choose another {flag}"
    )]
    Taken { flag: &'static str, range: Range, other: Range, link: String },
    #[error("cannot see which networks this machine is part of")]
    Look(#[from] NetworkError),
}

/// Ranges that overlap each other are nobody's.
pub(crate) fn apart(cluster: &Cluster) -> Result<(), RangesError> {
    let all = named(cluster);
    for (at, (first_flag, first)) in all.iter().enumerate() {
        if let Some((second_flag, second)) = all.iter().skip(at + 1).find(|(_, other)| other.overlaps(first))
        {
            return Err(RangesError::Overlap { first_flag, first: *first, second_flag, second: *second });
        }
    }
    Ok(())
}

/// Ranges that others on this machine use are theirs.
pub(crate) fn free(cluster: &Cluster) -> Result<(), RangesError> {
    taken(cluster, &others()?)
}

fn taken(cluster: &Cluster, others: &[kedge_network::Other]) -> Result<(), RangesError> {
    for (flag, range) in named(cluster) {
        if let Some(other) = others.iter().find(|other| other.claims(&range)) {
            return Err(RangesError::Taken { flag, range, other: other.range, link: other.link.clone() });
        }
    }
    Ok(())
}

fn named(cluster: &Cluster) -> Vec<(&'static str, Range)> {
    let pods = cluster.pods.iter().map(|range| (PODS, *range));
    pods.chain(cluster.services.iter().map(|range| (SERVICES, *range))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kedge_network::Other;

    fn cluster(pods: &[&str], services: &[&str]) -> Cluster {
        let read = |ranges: &[&str]| ranges.iter().map(|range| range.parse().unwrap()).collect();
        Cluster {
            pods: read(pods),
            services: read(services),
            ..Cluster::of(&crate::settings::Settings::default())
        }
    }

    #[test]
    fn ranges_lie_apart() {
        for (case, pods, services, refused) in [
            ("the usual ones", &["10.244.0.0/16"][..], &["10.96.0.0/16"][..], None),
            (
                "of two families",
                &["10.244.0.0/16", "fd00:1::/56"][..],
                &["10.96.0.0/16", "fd00:2::/108"][..],
                None,
            ),
            ("the same", &["10.96.0.0/16"][..], &["10.96.0.0/16"][..], Some("--service-cidr 10.96.0.0/16")),
            (
                "one in the other",
                &["10.0.0.0/8"][..],
                &["10.96.0.0/16"][..],
                Some("--cluster-cidr 10.0.0.0/8"),
            ),
            (
                "written with another address",
                &["10.96.0.0/24"][..],
                &["10.96.3.7/16"][..],
                Some("10.96.0.0/16"),
            ),
            ("the newer family", &["fd00::/56"][..], &["fd00::1:0/112"][..], Some("fd00::1:0/112")),
            ("two of pods", &["10.0.0.0/8", "10.1.0.0/16"][..], &["192.168.0.0/24"][..], Some("10.1.0.0/16")),
        ] {
            let told = apart(&cluster(pods, services)).err().map(|error| error.to_string());
            assert_eq!(told.is_some(), refused.is_some(), "{case}: {told:?}");
            assert!(told.unwrap_or_default().contains(refused.unwrap_or_default()), "{case}");
        }
    }

    #[test]
    fn ranges_of_others_are_theirs() {
        let held =
            |range: &str| Other { range: range.parse().unwrap(), link: "eth0".to_owned(), is_held: true };
        let way = |range: &str| Other { is_held: false, ..held(range) };
        let usual = cluster(&["10.244.0.0/16"], &["10.96.0.0/16"]);
        for (case, other, refused) in [
            ("elsewhere", held("192.0.2.0/24"), None),
            (
                "among the pods",
                held("10.244.3.0/24"),
                Some("--cluster-cidr 10.244.0.0/16 overlaps 10.244.3.0/24"),
            ),
            (
                "around the pods",
                held("10.0.0.0/8"),
                Some("10.0.0.0/8, to which this machine's link eth0 leads"),
            ),
            ("among the services", way("10.96.7.0/24"), Some("choose another --service-cidr")),
            ("a way to much more", way("10.0.0.0/8"), None),
            ("the way to everybody", way("0.0.0.0/0"), None),
        ] {
            let told = taken(&usual, &[other]).err().map(|error| error.to_string());
            assert_eq!(told.is_some(), refused.is_some(), "{case}: {told:?}");
            let told = told.unwrap_or_default();
            assert!(told.contains(refused.unwrap_or_default()), "{case}: {told}");
        }
    }
}
