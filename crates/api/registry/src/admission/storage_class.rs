//! A claim that names no class gets the cluster's default one.

use kedge_kinds::Status;
use serde_json::Value;

use super::{Plugin, View, annotated_default};
use crate::object;

const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
const OLD_NAME: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) struct DefaultStorageClass;

impl Plugin for DefaultStorageClass {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("", "PersistentVolumeClaim")
    }

    fn mutate(
        &self,
        view: &View<'_>,
        claim: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        // An empty name is a name: it asks for a volume without a class.
        let named = object::at(claim, &["spec", "storageClassName"]).is_some()
            || object::meta(claim, "annotations").is_some_and(|all| all.get(OLD_NAME).is_some());
        if named {
            return Ok(());
        }
        if let Some(class) = annotated_default(&view.all("storageclasses")?, DEFAULT) {
            let name = object::meta_text(class, "name");
            object::map_mut(claim, "spec").insert("storageClassName".to_owned(), name.into());
        }
        Ok(())
    }
}
