//! A pod that looks up `example.org` asks for `example.org.default.svc.cluster.local` first, and three times more before it asks for what
//! it means. The rest of its way is known, so it is gone here: the first question already gets the last one's answer, as another name's.
//!
//! Only for names that cannot be the cluster's own: in the namespace of whoever asks, with a dot in what was meant, and not below a
//! Service of that namespace, whose hosts may come and go.

use std::net::IpAddr;

use crate::index::{Index, labels};
use crate::wire::{Name, kind};

/// What was meant by a name of our zone that is not there: its labels before the client's namespace.
pub(crate) fn base<'a>(index: &Index, part: &'a [u8], asked: u16, from: IpAddr) -> Option<&'a [u8]> {
    if !matches!(asked, kind::A | kind::AAAA) {
        return None;
    }
    let found = labels(part)?;
    let [b"\x03svc", namespace, meant @ ..] = found.as_slice() else { return None };
    let (last, first) = (meant.first()?, meant.last()?);
    if meant.len() < 2 || first.get(1) == Some(&b'_') {
        return None;
    }
    let is_theirs = match index.namespace_of(from) {
        Some(own) => own.octets() == *namespace,
        // A pod whose address is not known yet, or one of the node's own network: the name says where it asks from.
        None => index.has_namespace(namespace),
    };
    let service = [*last, *namespace].concat();
    if !is_theirs || index.has_service(&service) {
        return None;
    }
    part.get(..part.len() - b"\x03svc".len() - namespace.len())
}

/// The rest of the search path, in its order, and what was meant itself at the end. Others are not asked for what can only be a name
/// of the cluster: they know nothing of it, and it is none of their business.
pub(crate) fn candidates(index: &Index, base: &[u8], searches: &[Name]) -> Vec<Name> {
    let root = Name::root();
    let services = index.zone().below(b"\x03svc");
    let whole = root.below(base);
    let ours = services.as_ref().into_iter().chain([index.zone()]);
    let others: Vec<&Name> = match labels(base).as_deref() {
        _ if whole.as_ref().is_some_and(|whole| whole.before(index.zone()).is_some()) => vec![&root],
        Some([b"\x03svc" | b"\x03pod", ..]) => Vec::new(),
        Some([last, ..]) if index.has_namespace(last) => Vec::new(),
        _ => searches.iter().chain([&root]).collect(),
    };
    ours.chain(others).filter_map(|end| end.below(base)).collect()
}
