//! Reads what should be an address, a port or a number and may be anything: what is none is left out, so that one odd object does
//! not end the watch of all.

use std::net::IpAddr;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};

use crate::few::{Few, exactly};

/// Those of a list that can be read.
pub(crate) fn list<'de, T: FromStr, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let texts = Option::<Vec<String>>::deserialize(from)?.unwrap_or_default();
    Ok(texts.iter().filter_map(|text| text.parse().ok()).collect())
}

/// The same, where there is hardly ever more than one.
pub(crate) fn few<'de, T: FromStr, D: Deserializer<'de>>(from: D) -> Result<Few<T>, D::Error> {
    list(from).map(Few::from)
}

/// The same, where there are hardly ever any.
pub(crate) fn rare<'de, T: FromStr, D: Deserializer<'de>>(from: D) -> Result<Box<[T]>, D::Error> {
    list(from).map(exactly)
}

/// A list without room for more.
pub(crate) fn exact<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Box<[T]>, D::Error> {
    Ok(exactly(Option::<Vec<T>>::deserialize(from)?.unwrap_or_default()))
}

/// `{"ip": …}` in a list.
pub(crate) fn addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Few<IpAddr>, D::Error> {
    #[derive(Deserialize)]
    struct One {
        #[serde(default)]
        ip: String,
        #[serde(default, rename = "ipMode")]
        mode: Option<String>,
    }
    let all = Option::<Vec<One>>::deserialize(from)?.unwrap_or_default();
    // What a balancer ends itself and calls anew is no address of the Service.
    let direct = all.iter().filter(|one| one.mode.as_deref() != Some("Proxy"));
    Ok(direct.filter_map(|one| one.ip.parse().ok()).collect::<Vec<_>>().into())
}

/// What somebody asks of an object itself: who it is, its labels, when it came and whether it goes. The rest would weigh more than all
/// that is read beside it.
pub(crate) fn labelled<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    let told = ObjectMeta::deserialize(from)?;
    Ok(ObjectMeta {
        name: told.name,
        namespace: told.namespace,
        uid: told.uid,
        resource_version: told.resource_version,
        labels: told.labels,
        creation_timestamp: told.creation_timestamp,
        deletion_timestamp: told.deletion_timestamp,
        ..ObjectMeta::default()
    })
}

/// The default in the place of `null`.
pub(crate) fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
