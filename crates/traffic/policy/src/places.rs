//! Addresses that this node has given to its pods, until the API shows them. A pod must not be free for as long as that takes.

use std::collections::HashMap;
use std::net::IpAddr;

use kedge_client::Key;

#[derive(Clone, Debug, Default)]
pub struct Places {
    pods: HashMap<Key, Place>,
}

#[derive(Clone, Debug)]
struct Place {
    /// `None` for a pod that the API knows under another identity, as it does one from a file.
    uid: Option<String>,
    addresses: Vec<IpAddr>,
    is_enforced: bool,
}

impl Places {
    /// Whoever had one of these addresses has it no more.
    pub fn put(&mut self, pod: Key, uid: Option<String>, addresses: Vec<IpAddr>) {
        self.pods.retain(|_, place| !place.addresses.iter().any(|address| addresses.contains(address)));
        self.pods.insert(pod, Place { uid, addresses, is_enforced: false });
    }

    pub(crate) fn of(&self, pod: &Key, uid: Option<&str>) -> impl Iterator<Item = IpAddr> {
        let place = self.pods.get(pod).filter(|place| place.is_of(uid));
        place.into_iter().flat_map(|place| &place.addresses).copied()
    }

    /// Who got an address last, of those that the API may not show yet.
    pub(crate) fn holders(&self) -> HashMap<IpAddr, &Key> {
        self.pods
            .iter()
            .flat_map(|(pod, place)| place.addresses.iter().map(move |address| (*address, pod)))
            .collect()
    }

    /// Whether the rules know it by now. One that nobody told of is known as far as it can be.
    pub(crate) fn is_enforced(&self, pod: &Key) -> bool {
        self.pods.get(pod).is_none_or(|place| place.is_enforced)
    }

    /// The rules know all of `seen` that the API shows; `shown` answers with the uid and the addresses of one that it shows.
    pub(crate) fn settle(
        &mut self,
        seen: &Self,
        shown: impl Fn(&Key) -> Option<(Option<String>, Vec<IpAddr>)>,
    ) {
        self.pods.retain(|pod, place| {
            let Some((uid, addresses)) = shown(pod) else { return !place.is_enforced };
            let was_seen = seen.pods.get(pod).is_some_and(|seen| seen.addresses == place.addresses);
            if !place.is_of(uid.as_deref()) || !was_seen {
                return true;
            }
            place.is_enforced = true;
            // What the API shows need not be known from here any more.
            !place.addresses.iter().all(|address| addresses.contains(address))
        });
    }

    /// Nothing is asked of anybody, so nobody need wait.
    pub(crate) fn settle_all(&mut self, seen: &Self) {
        for (pod, place) in &mut self.pods {
            place.is_enforced |= seen.pods.get(pod).is_some_and(|seen| seen.addresses == place.addresses);
        }
    }
}

impl Place {
    fn is_of(&self, uid: Option<&str>) -> bool {
        self.uid.is_none() || self.uid.as_deref() == uid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("x", name)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn until_the_api_shows_it() {
        let mut places = Places::default();
        assert!(places.is_enforced(&key("nobody")));
        places.put(key("a"), Some("1".to_owned()), vec![ip("10.0.0.2")]);
        let of = |places: &Places, uid: &str| places.of(&key("a"), Some(uid)).count();
        assert_eq!((of(&places, "1"), of(&places, "another of that name")), (1, 0));

        let seen = places.clone();
        places.settle(&seen, |_| None);
        assert!(
            !places.is_enforced(&key("a")),
            "the API does not know the pod yet, so no rule can be about it"
        );
        places.settle(&seen, |_| Some((Some("0".to_owned()), vec![])));
        assert!(!places.is_enforced(&key("a")), "it knows the one before");
        places.settle(&Places::default(), |_| Some((Some("1".to_owned()), vec![])));
        assert!(!places.is_enforced(&key("a")), "it came while the rules were made");
        places.settle(&seen, |_| Some((Some("1".to_owned()), vec![])));
        assert_eq!((places.is_enforced(&key("a")), of(&places, "1")), (true, 1));
        places.settle(&seen, |_| Some((Some("1".to_owned()), vec![ip("10.0.0.2")])));
        assert_eq!((places.is_enforced(&key("a")), of(&places, "1")), (true, 0));
    }

    #[test]
    fn an_address_is_one_pods() {
        let mut places = Places::default();
        places.put(key("a"), None, vec![ip("10.0.0.2"), ip("fd00::2")]);
        places.put(key("b"), None, vec![ip("10.0.0.2")]);
        assert_eq!((places.of(&key("a"), None).count(), places.of(&key("b"), Some("any")).count()), (0, 1));

        let seen = places.clone();
        places.settle_all(&seen);
        assert!(places.is_enforced(&key("b")));
        places.settle(&seen, |_| None);
        assert_eq!(places.of(&key("b"), None).count(), 0, "a pod that came and went");
    }
}
