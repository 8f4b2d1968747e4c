//! Where volumes come from, of pods and of persistent volumes alike. A source is a row of a table; the few that say more are told by hand.

use serde_json::Value;

use super::page::Page;
use super::shown::{
    bracketed, entries, is_there, items, number, pairs, plain, plain_or, quantity, text, truth,
};

/// A kind of volume: its field, what it is, and the fields of its own that are told.
struct Source {
    field: &'static str,
    kind: &'static str,
    told: &'static [(&'static str, &'static str, Form)],
}

/// How a field of a source is written.
#[derive(Clone, Copy)]
enum Form {
    Text,
    /// `<none>` where nothing is said.
    OrNone,
    /// `<unset>` where nothing is said.
    OrUnset,
    Number,
    Truth,
    /// `[a b]`
    List,
    /// `a, b`
    Commas,
    /// `map[a:b]`
    Map,
    /// The name of a Secret of the same namespace.
    Reference,
}

use Form::{Commas, List, Map, Number, OrNone, OrUnset, Reference, Text, Truth};

const FS: (&str, &str, Form) = ("FSType", "fsType", Text);
const READ_ONLY: (&str, &str, Form) = ("ReadOnly", "readOnly", Truth);
const SECRET: (&str, &str, Form) = ("SecretRef", "secretRef", Reference);

/// In the order in which they are looked for.
const SOURCES: &[Source] = &[
    Source {
        field: "hostPath",
        kind: "HostPath (bare host directory volume)",
        told: &[("Path", "path", Text), ("HostPathType", "type", Text)],
    },
    Source {
        field: "gcePersistentDisk",
        kind: "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        told: &[("PDName", "pdName", Text), FS, ("Partition", "partition", Number), READ_ONLY],
    },
    Source {
        field: "awsElasticBlockStore",
        kind: "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        told: &[("VolumeID", "volumeID", Text), FS, ("Partition", "partition", Number), READ_ONLY],
    },
    Source {
        field: "gitRepo",
        kind: "GitRepo (a volume that is pulled from git when the pod is created)",
        told: &[("Repository", "repository", Text), ("Revision", "revision", Text)],
    },
    Source {
        field: "secret",
        kind: "Secret (a volume populated by a Secret)",
        told: &[("SecretName", "secretName", Text), ("Optional", "optional", Truth)],
    },
    Source {
        field: "configMap",
        kind: "ConfigMap (a volume populated by a ConfigMap)",
        told: &[("Name", "name", Text), ("Optional", "optional", Truth)],
    },
    Source {
        field: "nfs",
        kind: "NFS (an NFS mount that lasts the lifetime of a pod)",
        told: &[("Server", "server", Text), ("Path", "path", Text), READ_ONLY],
    },
    Source {
        field: "iscsi",
        kind: "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
        told: &[
            ("TargetPortal", "targetPortal", Text),
            ("IQN", "iqn", Text),
            ("Lun", "lun", Number),
            ("ISCSIInterface", "iscsiInterface", Text),
            FS,
            READ_ONLY,
            ("Portals", "portals", List),
            ("DiscoveryCHAPAuth", "chapAuthDiscovery", Truth),
            ("SessionCHAPAuth", "chapAuthSession", Truth),
            SECRET,
            ("InitiatorName", "initiatorName", OrNone),
        ],
    },
    Source {
        field: "glusterfs",
        kind: "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
        told: &[("EndpointsName", "endpoints", Text), ("Path", "path", Text), READ_ONLY],
    },
    Source {
        field: "persistentVolumeClaim",
        kind: "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        told: &[("ClaimName", "claimName", Text), READ_ONLY],
    },
    Source {
        field: "rbd",
        kind: "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
        told: &[
            ("CephMonitors", "monitors", List),
            ("RBDImage", "image", Text),
            FS,
            ("RBDPool", "pool", Text),
            ("RadosUser", "user", Text),
            ("Keyring", "keyring", Text),
            SECRET,
            READ_ONLY,
        ],
    },
    Source {
        field: "quobyte",
        kind: "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)",
        told: &[("Registry", "registry", Text), ("Volume", "volume", Text), READ_ONLY],
    },
    Source {
        field: "azureDisk",
        kind: "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
        told: &[
            ("DiskName", "diskName", Text),
            ("DiskURI", "diskURI", Text),
            ("Kind", "kind", Text),
            FS,
            ("CachingMode", "cachingMode", Text),
            READ_ONLY,
        ],
    },
    Source {
        field: "vsphereVolume",
        kind: "vSphereVolume (a Persistent Disk resource in vSphere)",
        told: &[("VolumePath", "volumePath", Text), FS, ("StoragePolicyName", "storagePolicyName", Text)],
    },
    Source {
        field: "cinder",
        kind: "Cinder (a Persistent Disk resource in OpenStack)",
        told: &[("VolumeID", "volumeID", Text), FS, READ_ONLY, SECRET],
    },
    Source {
        field: "photonPersistentDisk",
        kind: "PhotonPersistentDisk (a Persistent Disk resource in photon platform)",
        told: &[("PdID", "pdID", Text), FS],
    },
    Source {
        field: "portworxVolume",
        kind: "PortworxVolume (a Portworx Volume resource)",
        told: &[("VolumeID", "volumeID", Text)],
    },
    Source {
        field: "scaleIO",
        kind: "ScaleIO (a persistent volume backed by a block device in ScaleIO)",
        told: &[
            ("Gateway", "gateway", Text),
            ("System", "system", Text),
            ("Protection Domain", "protectionDomain", Text),
            ("Storage Pool", "storagePool", Text),
            ("Storage Mode", "storageMode", Text),
            ("VolumeName", "volumeName", Text),
            FS,
            READ_ONLY,
        ],
    },
    Source {
        field: "local",
        kind: "LocalVolume (a persistent volume backed by local storage on a node)",
        told: &[("Path", "path", Text)],
    },
    Source {
        field: "cephfs",
        kind: "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
        told: &[
            ("Monitors", "monitors", List),
            ("Path", "path", Text),
            ("User", "user", Text),
            ("SecretFile", "secretFile", Text),
            SECRET,
            READ_ONLY,
        ],
    },
    Source {
        field: "storageos",
        kind: "StorageOS (a StorageOS Persistent Disk resource)",
        told: &[
            ("VolumeName", "volumeName", Text),
            ("VolumeNamespace", "volumeNamespace", Text),
            FS,
            READ_ONLY,
        ],
    },
    Source {
        field: "fc",
        kind: "FC (a Fibre Channel disk)",
        told: &[("TargetWWNs", "targetWWNs", Commas), ("LUN", "lun", OrNone), FS, READ_ONLY],
    },
    Source {
        field: "azureFile",
        kind: "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        told: &[("SecretName", "secretName", Text), ("ShareName", "shareName", Text), READ_ONLY],
    },
    Source {
        field: "flexVolume",
        kind: "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
        told: &[("Driver", "driver", Text), FS, SECRET, READ_ONLY, ("Options", "options", Map)],
    },
    Source {
        field: "flocker",
        kind: "Flocker (a Flocker volume mounted by the Flocker agent)",
        told: &[("DatasetName", "datasetName", Text), ("DatasetUUID", "datasetUUID", Text)],
    },
    Source {
        field: "image",
        kind: "Image (a container image or OCI artifact)",
        told: &[("Reference", "reference", Text), ("PullPolicy", "pullPolicy", Text)],
    },
    Source {
        field: "emptyDir",
        kind: "EmptyDir (a temporary directory that shares a pod's lifetime)",
        told: &[("Medium", "medium", Text), ("SizeLimit", "sizeLimit", OrUnset)],
    },
];

/// All volumes of a pod, or of a template.
pub(super) fn of_pod(page: &mut Page, volumes: &Value, in_template: bool) {
    let (level, indent) = if in_template { (1, " ") } else { (0, "") };
    if !is_there(volumes) {
        page.field(level, "Volumes", "<none>");
        return;
    }
    page.head(level, "Volumes");
    for volume in items(volumes) {
        page.line(1, format_args!("{indent}{}:", text(&volume["name"])));
        source(page, volume);
    }
}

/// `holder` is a pod's volume or a persistent volume's spec.
pub(super) fn source(page: &mut Page, holder: &Value) {
    if !holder["projected"].is_null() {
        projected(page, &holder["projected"]);
    } else if !holder["downwardAPI"].is_null() {
        downward(page, &holder["downwardAPI"]);
    } else if !holder["ephemeral"].is_null() {
        let kind = "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)";
        page.field(2, "Type", kind);
        let template = &holder["ephemeral"]["volumeClaimTemplate"];
        if !template.is_null() {
            page.nested(2, |page| super::storage::claim_template(page, template));
        }
    } else if !holder["csi"].is_null() {
        csi(page, &holder["csi"]);
    } else if let Some(source) = SOURCES.iter().find(|source| !holder[source.field].is_null()) {
        page.field(2, "Type", source.kind);
        for (label, field, form) in source.told {
            let value = written(&holder[source.field][field], source.field, *form);
            // One label was never given its colon.
            match *label {
                "ISCSIInterface" => page.line(2, format_args!("ISCSIInterface\t{value}")),
                "Kind" => page.line(2, format_args!("Kind: \t{value}")),
                label => page.field(2, label, value),
            }
        }
    } else {
        page.line(1, "<unknown>");
    }
}

fn written(value: &Value, source: &str, form: Form) -> String {
    match form {
        Text if source == "hostPath" && value.is_null() => "<none>".to_owned(),
        Text => plain(value),
        OrNone => plain_or(value, "<none>"),
        OrUnset if quantity(value).is_zero() => "<unset>".to_owned(),
        OrUnset => plain(value),
        Number => number(value).to_string(),
        Truth => truth(value).to_string(),
        List => bracketed(value),
        Commas => items(value).iter().map(plain).collect::<Vec<_>>().join(", "),
        Map => {
            let pairs: Vec<String> =
                entries(value).map(|(key, value)| format!("{key}:{}", plain(value))).collect();
            format!("map[{}]", pairs.join(" "))
        }
        Reference => match value {
            Value::Null => "nil".to_owned(),
            value if is_there(&value["namespace"]) => {
                format!(
                    "&SecretReference{{Name:{},Namespace:{},}}",
                    text(&value["name"]),
                    text(&value["namespace"])
                )
            }
            value => format!("&LocalObjectReference{{Name:{},}}", text(&value["name"])),
        },
    }
}

fn projected(page: &mut Page, projected: &Value) {
    page.field(2, "Type", "Projected (a volume that contains injected data from multiple sources)");
    for source in items(&projected["sources"]) {
        for (label, field) in [("SecretName", "secret"), ("ConfigMapName", "configMap")] {
            if !source[field].is_null() {
                page.field(2, label, text(&source[field]["name"]));
                page.field(2, "Optional", truth(&source[field]["optional"]));
            }
        }
        if !source["downwardAPI"].is_null() {
            page.field(2, "DownwardAPI", true);
        }
        let token = &source["serviceAccountToken"];
        if !token.is_null() {
            page.field(2, "TokenExpirationSeconds", number(&token["expirationSeconds"]));
        }
    }
}

fn downward(page: &mut Page, downward: &Value) {
    page.field(2, "Type", "DownwardAPI (a volume populated by information about the pod)");
    page.head(2, "Items");
    for item in items(&downward["items"]) {
        for from in [&item["fieldRef"]["fieldPath"], &item["resourceFieldRef"]["resource"]] {
            if !from.is_null() {
                page.line(3, format_args!("{} -> {}", text(from), text(&item["path"])));
            }
        }
    }
}

fn csi(page: &mut Page, csi: &Value) {
    page.field(2, "Type", "CSI (a Container Storage Interface (CSI) volume source)");
    page.field(2, "Driver", text(&csi["driver"]));
    page.field(2, "FSType", text(&csi["fsType"]));
    if is_there(&csi["volumeHandle"]) {
        page.field(2, "VolumeHandle", text(&csi["volumeHandle"]));
    }
    page.field(2, "ReadOnly", truth(&csi["readOnly"]));
    let cut = |line: String| match line.len() {
        0..=140 => line,
        _ => format!("{}...", &line[..line.floor_char_boundary(140)]),
    };
    page.list(2, "VolumeAttributes", pairs(&csi["volumeAttributes"]).map(cut));
}
