//! The objects and tokens that a pod's volumes are made of, as they are now. A failure to ask is never taken for an absence.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Volume};
use kedge_client::{Objects, Watched};
use kube::Resource;

use super::token::{self, Token, TokenWanted};
use crate::tools::Tools;

/// What was found under a name: nothing is an answer as well.
pub(super) type Looked<K> = Result<Option<Arc<K>>, Arc<kube::Error>>;

#[derive(Default)]
pub(super) struct Gathered {
    pub(super) maps: HashMap<String, Looked<ConfigMap>>,
    pub(super) secrets: HashMap<String, Looked<Secret>>,
    pub(super) tokens: HashMap<TokenWanted, Result<Token, Arc<kube::Error>>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) maps: BTreeSet<String>,
    pub(super) secrets: BTreeSet<String>,
    pub(super) tokens: BTreeSet<TokenWanted>,
}

impl Wants {
    pub(super) fn of(volumes: &[&Volume]) -> Self {
        let mut wants = Self::default();
        for volume in volumes {
            wants.maps.extend(volume.config_map.iter().map(|source| source.name.clone()));
            wants.secrets.extend(volume.secret.iter().filter_map(|source| source.secret_name.clone()));
            let sources = volume.projected.iter().flat_map(|source| source.sources.iter().flatten());
            for source in sources {
                wants.maps.extend(source.config_map.iter().map(|wanted| wanted.name.clone()));
                wants.secrets.extend(source.secret.iter().map(|wanted| wanted.name.clone()));
                wants.tokens.extend(source.service_account_token.iter().map(TokenWanted::of));
            }
        }
        wants
    }

    /// Nothing that could ever change.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) async fn gather(tools: &Tools, pod: &Pod, wants: &Wants) -> Gathered {
    let tokens = wants
        .tokens
        .iter()
        .map(async |wanted| (wanted.clone(), token::ask(tools, pod, wanted).await.map_err(Arc::new)));
    let (maps, secrets, tokens) = futures::join!(
        look::<ConfigMap>(tools, pod, &wants.maps),
        look::<Secret>(tools, pod, &wants.secrets),
        join_all(tokens)
    );
    Gathered { maps, secrets, tokens: tokens.into_iter().collect() }
}

async fn look<K>(tools: &Tools, pod: &Pod, names: &BTreeSet<String>) -> HashMap<String, Looked<K>>
where
    K: Watched + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let objects = Objects::<K>::within(&tools.client, namespace);
    let asked = names.iter().map(async |name| {
        let found = objects.find(name).await.map(|found| found.map(Arc::new)).map_err(Arc::new);
        (name.clone(), found)
    });
    join_all(asked).await.into_iter().collect()
}
