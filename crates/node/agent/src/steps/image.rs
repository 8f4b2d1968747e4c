//! The image of a container: there already, or fetched, as its policy says.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Container;
use kedge_engine::Severity;
use kedge_images::Reference;
use kedge_runtime::wire::Image;

use super::credentials::{Way, ways};
use super::{Failure, Work};
use crate::pulled::Access;
use crate::spec::security::ImageUser;
use crate::tools::part;

/// When a fetch that takes long first says how far it is. Each time it waits twice as long, so that even one that takes all day
/// says it only some dozens of times.
const PROGRESS: Duration = Duration::from_secs(5);
const LONGEST_SILENCE: Duration = Duration::from_secs(600);

/// An image that is on this node.
pub(crate) struct Present {
    pub(crate) id: String,
    pub(crate) user: ImageUser,
    /// All that it goes by.
    pub(crate) names: Vec<String>,
}

impl From<Image> for Present {
    fn from(image: Image) -> Self {
        let user = ImageUser { uid: image.uid.map(|uid| uid.value), name: image.username };
        let names = image.repo_tags.into_iter().chain(image.repo_digests).chain([image.id.clone()]).collect();
        Self { id: image.id, user, names }
    }
}

/// What a container asks for, and how its events name it.
struct Wanted<'a> {
    work: &'a Work,
    container: &'a str,
    /// As the pod writes it.
    image: &'a str,
    /// The same with the tag that is meant where none is written.
    tagged: String,
    reference: Reference,
    policy: &'a str,
}

pub(crate) async fn ensure(work: &Work, container: &Container) -> Result<Present, Failure> {
    let (image, name) = (container.image.as_deref().unwrap_or_default(), container.name.as_str());
    let policy = container.image_pull_policy.as_deref();
    let found = obtain(work, name, image, policy).await;
    if let Err(failure) = &found {
        let message = format!("Error: {}", failure.reason);
        work.tools.tell_of(&work.pod, part(&work.pod, name), Severity::Warning, "Failed", message);
    }
    found
}

/// The same for whoever is no container: events are about the pod if there is no name.
pub(crate) async fn obtain(
    work: &Work,
    name: &str,
    image: &str,
    policy: Option<&str>,
) -> Result<Present, Failure> {
    let reference = match Reference::parse(image) {
        Ok(reference) => reference,
        Err(error) => {
            let message = format!(
                "Failed to apply default image tag {image:?}: couldn't parse image name {image:?}: {error}"
            );
            let about = about(work, name);
            work.tools.tell_of(&work.pod, about, Severity::Warning, "InspectFailed", message.clone());
            return Err(Failure::of("InvalidImageName", message));
        }
    };
    let moves = reference.digest.is_none() && reference.tag.as_deref().is_none_or(|tag| tag == "latest");
    let usual = if moves { "Always" } else { "IfNotPresent" };
    let is_whole = reference.digest.is_some() || reference.tag.is_some();
    let tagged = if is_whole { image.to_owned() } else { format!("{image}:latest") };
    let wanted = Wanted { work, container: name, image, tagged, reference, policy: policy.unwrap_or(usual) };
    wanted.obtain().await.map_err(|failure| Failure { image: Some(image.to_owned()), ..failure })
}

impl Wanted<'_> {
    async fn obtain(&self) -> Result<Present, Failure> {
        if self.policy != "Always"
            && let Some(found) = self.present().await?
        {
            return Ok(found);
        }
        if self.policy == "Never" {
            let message =
                format!("Container image {:?} is not present with pull policy of Never", self.image);
            self.tell(Severity::Warning, "ErrImageNeverPull", message.clone());
            return Err(Failure::of("ErrImageNeverPull", message));
        }
        self.pull().await
    }

    fn tell(&self, severity: Severity, reason: &'static str, message: String) {
        let Work { tools, pod, .. } = self.work;
        tools.tell_of(pod, about(self.work, self.container), severity, reason, message);
    }

    /// The image, if it is here and this pod may have it.
    async fn present(&self) -> Result<Option<Present>, Failure> {
        let image = self.image;
        let found = match self.work.tools.runtime.image_status(&self.tagged).await {
            Ok(found) => found,
            Err(error) => {
                let message = format!("Failed to inspect image {image:?}: {error}");
                self.tell(Severity::Warning, "InspectFailed", message.clone());
                return Err(Failure::of("ImageInspectError", message));
            }
        };
        let Some(found) = found else { return Ok(None) };
        if !self.may_have(&found).await? {
            return Ok(None);
        }
        let message =
            format!("Container image {image:?} already present on machine and can be accessed by the pod");
        self.tell(Severity::Normal, "Pulled", message);
        Ok(Some(found.into()))
    }

    /// What was fetched with a pod's own credentials is only for those who have them too.
    async fn may_have(&self, image: &Image) -> Result<bool, Failure> {
        match self.work.tools.pulled.access(image, &self.reference.repository()) {
            Access::Everybody => Ok(true),
            Access::Owners(owners) => {
                let ways = ways(self.work, &self.reference).await?;
                Ok(ways.iter().filter_map(|way| way.owner.as_ref()).any(|mine| owners.contains(mine)))
            }
        }
    }

    async fn pull(&self) -> Result<Present, Failure> {
        let (tools, image) = (&self.work.tools, self.image);
        let asked = Instant::now();
        let turn = tools.pulls.turn(&self.tagged).await;
        // Another pod may have brought it meanwhile.
        if self.policy == "IfNotPresent"
            && turn.waited
            && let Some(found) = self.present().await?
        {
            return Ok(found);
        }
        self.tell(Severity::Normal, "Pulling", format!("Pulling image {image:?}"));
        let ways = ways(self.work, &self.reference).await?;
        let begun = Instant::now();
        let owner = tokio::select! {
            fetched = self.fetch(ways) => fetched?,
            never = self.progress(begun) => match never {},
        };
        let (took, all) = (begun.elapsed(), asked.elapsed());
        let found = tools.runtime.image_status(&self.tagged).await;
        let found = found.map_err(|error| Failure::of("ImageInspectError", error))?;
        let Some(found) = found else {
            return Err(Failure::of("ErrImagePull", format!("{image} was pulled and is not there")));
        };
        tools.pulled.note(&found.id, &self.reference.repository(), owner);
        drop(turn);
        tools.board.write(|notes| notes.images = notes.images.wrapping_add(1));
        let message = format!(
            "Successfully pulled image {image:?} in {} ({} including waiting). Image size: {} bytes.",
            shown(took),
            shown(all),
            found.size
        );
        self.tell(Severity::Normal, "Pulled", message);
        Ok(found.into())
    }

    /// Tries one way after the other and answers whose it was that led in.
    async fn fetch(&self, ways: Vec<Way>) -> Result<Option<String>, Failure> {
        let runtime = &self.work.tools.runtime;
        let mut errors = Vec::new();
        let open = ways.is_empty().then_some((None, None));
        let tries = ways.into_iter().map(|way| (Some(way.auth), way.owner)).chain(open);
        for (auth, owner) in tries {
            match runtime.pull(&self.tagged, auth).await {
                Ok(_) => return Ok(owner),
                Err(error) => errors.push(error.to_string()),
            }
        }
        let error = if errors.len() == 1 { errors.concat() } else { format!("[{}]", errors.join(", ")) };
        self.tell(Severity::Warning, "Failed", format!("Failed to pull image {:?}: {error}", self.image));
        let because = |reason: &'static str, what: &str| {
            let rest = error.strip_prefix(reason)?;
            let message = format!("image pull failed for {} because {what}{rest}", self.image);
            Some(Failure::of(reason, message))
        };
        let known = because("RegistryUnavailable", "the registry is unavailable")
            .or_else(|| because("SignatureValidationFailed", "the signature validation failed"));
        Err(known.unwrap_or_else(|| Failure::of("ErrImagePull", &error)))
    }

    /// Says now and then how far it is.
    async fn progress(&self, begun: Instant) -> std::convert::Infallible {
        let mut wait = PROGRESS;
        loop {
            self.work.tools.clock.sleep(wait).await;
            wait = wait.saturating_mul(2).min(LONGEST_SILENCE);
            let Some(store) = &self.work.tools.blobs else { continue };
            let Ok((there, all)) = store.under_way().await else { continue };
            let message = format!(
                "Pulling image {:?} for {}: {} of {} of what is on its way to this node",
                self.image,
                shown(begun.elapsed()),
                mebibytes(there),
                mebibytes(all)
            );
            self.tell(Severity::Normal, "Pulling", message);
        }
    }
}

/// The part of the pod that events are about.
fn about(work: &Work, name: &str) -> String {
    if name.is_empty() { String::new() } else { part(&work.pod, name) }
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

/// As Kubernetes writes a time, no finer than milliseconds.
fn shown(time: Duration) -> String {
    let nanos = time.as_millis().saturating_mul(1_000_000);
    kedge_kinds::duration::write(i64::try_from(nanos).unwrap_or(i64::MAX))
}
