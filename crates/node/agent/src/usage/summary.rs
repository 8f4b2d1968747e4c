//! `/stats/summary`, a `Summary` of `stats/v1alpha1`. What was not measured is left out.

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use kedge_usage::{Disk, Interface, Pressure, Stall, Stored};
use serde_json::{Map, Value, json};

use super::{ContainerUse, Measured, PodUse, Use, VolumeUse};

pub(super) fn write(measured: &Measured, only_cpu_and_memory: bool) -> Value {
    let (at, node) = (measured.at, &measured.node);
    let full = !only_cpu_and_memory;
    let mut told = object([
        ("nodeName", json!(node.name)),
        ("startTime", moment(node.since)),
        ("cpu", cpu(&node.used, at)),
        ("memory", memory(&node.used, at, Some(node.memory))),
        ("io", io(&node.used, at)),
        ("swap", swap(node.swap, at)),
        ("rlimit", json!({"time": second(at), "maxpid": node.counts.most, "curproc": node.counts.now})),
    ]);
    if full {
        let of = |disk: &Disk, used: Option<Stored>| filesystem(disk, used, at);
        let images = of(&node.images, Some(node.images_used));
        told.extend([
            ("network".to_owned(), network(&node.network, at)),
            ("fs".to_owned(), of(&node.disk, None)),
            ("runtime".to_owned(), json!({"imageFs": images.clone(), "containerFs": images})),
        ]);
    }
    let parts = node.parts.iter().map(|(name, used)| {
        Value::Object(object([
            ("name", json!(name)),
            ("startTime", moment(node.since)),
            ("cpu", cpu(used, at)),
            ("memory", memory(used, at, None)),
        ]))
    });
    told.insert("systemContainers".to_owned(), parts.collect());
    told.retain(|_, value| !value.is_null());
    let pods = measured.pods.iter().filter(|pod| pod.used.is_some());
    let pods: Vec<Value> = pods.map(|pod| of_pod(pod, measured, full)).collect();
    json!({"node": told, "pods": pods})
}

fn of_pod(pod: &PodUse, measured: &Measured, full: bool) -> Value {
    let at = measured.at;
    let usual = Use::default();
    let used = pod.used.as_ref().unwrap_or(&usual);
    let containers = pod.containers.iter().map(|container| of_container(container, measured, full));
    let mut told = object([
        ("podRef", json!({"name": pod.name, "namespace": pod.namespace, "uid": pod.uid})),
        ("startTime", moment(pod.since)),
        ("containers", containers.collect()),
        ("cpu", cpu(used, at)),
        ("memory", memory(used, at, None)),
        ("io", io(used, at)),
        ("process_stats", pod.processes.map_or(Value::Null, |count| json!({"process_count": count}))),
    ]);
    if full {
        let volumes: Vec<Value> = pod.volumes.iter().map(|volume| of_volume(volume, at)).collect();
        told.extend([
            ("network".to_owned(), network(&pod.network, at)),
            ("volume".to_owned(), json!(volumes)),
            (
                "ephemeral-storage".to_owned(),
                filesystem(&measured.node.disk, Some(pod.stored(true, true)), at),
            ),
        ]);
    }
    told.retain(|_, value| !value.is_null());
    Value::Object(told)
}

fn of_container(container: &ContainerUse, measured: &Measured, full: bool) -> Value {
    let at = measured.at;
    let usual = Use::default();
    let used = container.used.as_ref().unwrap_or(&usual);
    let mut told = object([
        ("name", json!(container.name)),
        ("startTime", moment(container.since)),
        ("cpu", cpu(used, at)),
        ("memory", memory(used, at, None)),
        ("io", io(used, at)),
    ]);
    if full {
        let stored = |disk: &Disk, stored: Option<Stored>| match stored {
            Some(stored) => filesystem(disk, Some(stored), at),
            None => Value::Null,
        };
        told.extend([
            ("rootfs".to_owned(), stored(&measured.node.images, container.root)),
            ("logs".to_owned(), stored(&measured.node.disk, container.logs)),
        ]);
    }
    told.retain(|_, value| !value.is_null());
    Value::Object(told)
}

fn of_volume(volume: &VolumeUse, at: Timestamp) -> Value {
    let mut told = filesystem(&volume.disk, Some(volume.stored), at);
    told["name"] = json!(volume.name);
    told
}

fn cpu(used: &Use, at: Timestamp) -> Value {
    let Some(cpu) = used.sample.cpu else { return Value::Null };
    Value::Object(object([
        ("time", json!(second(at))),
        ("usageNanoCores", json!(used.nano_cores)),
        // Nobody else has it; the API tells over which time was measured.
        ("windowNanoSeconds", json!(used.window.map(|window| window.as_nanos().unsigned_abs()))),
        ("usageCoreNanoSeconds", json!(cpu.total)),
        ("psi", psi(used.sample.pressures.cpu)),
    ]))
}

/// How long was waited for the disk. Nothing else is told of it.
fn io(used: &Use, at: Timestamp) -> Value {
    let waited = used.sample.pressures.io;
    if waited.is_some() { json!({"time": second(at), "psi": psi(waited)}) } else { Value::Null }
}

fn psi(pressure: Option<Pressure>) -> Value {
    let stall = |stall: Stall| {
        let percent = |share: u32| f64::from(share) / 100.0;
        json!({
            "total": stall.total,
            "avg10": percent(stall.last_10),
            "avg60": percent(stall.last_60),
            "avg300": percent(stall.last_300),
        })
    };
    pressure.map_or(Value::Null, |found| json!({"full": stall(found.full), "some": stall(found.some)}))
}

fn memory(used: &Use, at: Timestamp, capacity: Option<u64>) -> Value {
    let Some(memory) = used.sample.memory else { return Value::Null };
    let available = capacity.or(memory.limit).map(|most| most.saturating_sub(memory.working_set));
    Value::Object(object([
        ("time", json!(second(at))),
        ("availableBytes", json!(available)),
        ("usageBytes", json!(memory.usage)),
        ("workingSetBytes", json!(memory.working_set)),
        ("rssBytes", json!(memory.rss)),
        ("pageFaults", json!(memory.faults)),
        ("majorPageFaults", json!(memory.major_faults)),
        ("psi", psi(used.sample.pressures.memory)),
    ]))
}

fn swap((total, free): (u64, u64), at: Timestamp) -> Value {
    json!({"time": second(at), "swapAvailableBytes": free, "swapUsageBytes": total.saturating_sub(free)})
}

fn filesystem(disk: &Disk, used: Option<Stored>, at: Timestamp) -> Value {
    let usual = Stored { bytes: disk.used, inodes: disk.inodes.saturating_sub(disk.inodes_free) };
    let used = used.unwrap_or(usual);
    json!({
        "time": second(at),
        "availableBytes": disk.available,
        "capacityBytes": disk.capacity,
        "usedBytes": used.bytes,
        "inodesFree": disk.inodes_free,
        "inodes": disk.inodes,
        "inodesUsed": used.inodes,
    })
}

fn network(interfaces: &[Interface], at: Timestamp) -> Value {
    let of = |interface: &Interface| {
        json!({
            "name": interface.name,
            "rxBytes": interface.received.bytes,
            "rxErrors": interface.received.errors,
            "txBytes": interface.sent.bytes,
            "txErrors": interface.sent.errors,
        })
    };
    let usual = interfaces.iter().find(|interface| interface.name == "eth0").or(interfaces.first());
    let Some(usual) = usual else { return Value::Null };
    let mut told = of(usual);
    told["time"] = json!(second(at));
    told["interfaces"] = interfaces.iter().map(of).collect();
    told
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn moment(moment: Option<Timestamp>) -> Value {
    moment.map_or(Value::Null, |moment| json!(second(moment)))
}

/// As Kubernetes writes times.
fn second(moment: Timestamp) -> String {
    let whole = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc);
    moment.round(whole).unwrap_or(moment).to_string()
}
