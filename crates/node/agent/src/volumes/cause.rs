//! Why a volume cannot be made now, in the words that people and programs know from Kubernetes.

use std::sync::Arc;

use kedge_mounts::MountError;

use crate::spec::env::EnvError;

/// A volume that cannot be made, as its event says it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VolumeError {
    #[error("MountVolume.SetUp failed for volume {volume:?} : {cause}")]
    SetUp { volume: String, cause: Cause },
    #[error("MountVolume.NodeAffinity check failed for volume {volume:?} : no matching NodeSelectorTerms")]
    Elsewhere { volume: String },
    #[error(
        "Unable to attach or mount volumes: unmounted volumes=[{volume}], unattached volumes=[], failed to process \
         volumes=[{volume}]: {cause}"
    )]
    Unprocessed { volume: String, cause: Cause },
}

/// All that cannot be made of one pod's.
#[derive(Debug, thiserror::Error)]
#[error("{}", listed(.0, "; "))]
pub(crate) struct VolumesError(pub(crate) Vec<VolumeError>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("{0} {1:?} not found")]
    Absent(&'static str, String),
    #[error("configmap references non-existent config key: {0}")]
    NoMapKey(String),
    #[error("references non-existent secret key: {0}")]
    NoSecretKey(String),
    #[error(transparent)]
    Field(#[from] EnvError),
    #[error("failed to fetch token: {0}")]
    Token(Arc<kube::Error>),
    #[error("cannot ask for {0} {1:?}: {2}")]
    Api(&'static str, String, Arc<kube::Error>),
    #[error("[{}]", listed(.0, ", "))]
    Several(Vec<Cause>),
    #[error("medium {0}: hugePages storage is not supported on this node")]
    HugePages(String),
    #[error("unknown storage medium {0:?}")]
    Medium(String),
    #[error("error processing PVC {claim}: {cause}")]
    Claim { claim: String, cause: ClaimCause },
    #[error("PVC {claim} was not created for pod {pod} (pod is not owner)")]
    NotOurs { claim: String, pod: String },
    #[error("volume {volume} has volumeMode {mode}, but is specified in {way}")]
    Mode { volume: String, mode: String, way: &'static str },
    #[error("volume {volume} has volumeMode Block, which is not supported on this node")]
    Block { volume: String },
    #[error("cannot lay out the image: {0}")]
    Layers(#[from] kedge_images::ViewError),
    #[error("image volumes need containerd 2.1 or newer, and this node's runtime is {0}")]
    OldRuntime(String),
    #[error("cannot ask the runtime for its version: {0}")]
    Runtime(#[from] kedge_runtime::RuntimeError),
    #[error("{0} volumes are not supported on this node")]
    Unsupported(&'static str),
    /// Nobody has looked yet.
    #[error("not known yet")]
    Unknown,
    #[error("its maker ended")]
    Broken,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClaimCause {
    #[error("failed to fetch PVC from API server: persistentvolumeclaims {0:?} not found")]
    Absent(String),
    #[error("failed to fetch PVC from API server: {0}")]
    Api(Box<kube::Error>),
    #[error("PVC is being deleted")]
    Leaving,
    #[error("PVC is not bound")]
    Unbound,
    #[error("PVC has empty pvc.Spec.VolumeName")]
    Nameless,
    #[error("failed to fetch PV {0} from API server: persistentvolumes {0:?} not found")]
    NoVolume(String),
    #[error("failed to fetch PV {0} from API server: {1}")]
    VolumeApi(String, Box<kube::Error>),
    #[error(
        "found PV object {0} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
    )]
    Free(String),
    #[error("found PV object {0} but its pv.Spec.ClaimRef.UID {1} does not point to claim.UID {2}")]
    AnotherClaim(String, String, String),
}

impl VolumeError {
    /// Whether the API could not be asked, so that nothing is known.
    pub(super) fn is_silence(&self) -> bool {
        match self {
            Self::SetUp { cause, .. } | Self::Unprocessed { cause, .. } => cause.is_silence(),
            Self::Elsewhere { .. } => false,
        }
    }
}

impl Cause {
    pub(super) fn is_silence(&self) -> bool {
        match self {
            Self::Token(_) | Self::Api(..) | Self::Unknown => true,
            Self::Claim { cause, .. } => matches!(cause, ClaimCause::Api(_) | ClaimCause::VolumeApi(..)),
            Self::Several(causes) => causes.iter().any(Self::is_silence),
            _ => false,
        }
    }

    /// One as it is, several as a list.
    pub(super) fn of(mut causes: Vec<Self>) -> Option<Self> {
        match causes.len() {
            0 | 1 => causes.pop(),
            _ => Some(Self::Several(causes)),
        }
    }
}

fn listed(all: &[impl ToString], between: &str) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}
