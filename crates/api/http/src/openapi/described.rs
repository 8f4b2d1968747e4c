//! What `kubectl explain` says of the metadata that every object has. Other types speak for themselves by their names.

/// A field's description, if it has one.
pub(super) fn described(object: &str, field: &str) -> Option<&'static str> {
    if object != "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" {
        return None;
    }
    Some(match field {
        "annotations" => "Annotations are notes of tools and people that nothing is selected by.",
        "creationTimestamp" => {
            "CreationTimestamp is a timestamp that the server sets when it stores the object first."
        }
        "deletionGracePeriodSeconds" => {
            "DeletionGracePeriodSeconds is the time that a deleted object has to wind down. Set by the server."
        }
        "deletionTimestamp" => {
            "DeletionTimestamp is when the object goes, its finalizers permitting. Set by the server once deletion was asked for."
        }
        "finalizers" => {
            "Finalizers name what has to be done before the object can go; each is removed by whoever did it."
        }
        "generateName" => "GenerateName is what the server begins a new name with, where no name is given.",
        "generation" => "Generation counts the changes of what was asked for. Set by the server.",
        "labels" => "Labels are names and values that objects are selected by.",
        "managedFields" => {
            "ManagedFields say who set which field, for server-side apply. Kept by the server."
        }
        "name" => "Name of the object, one of its kind in its namespace. It never changes.",
        "namespace" => "Namespace that the object lies in; empty for kinds that lie in none.",
        "ownerReferences" => "OwnerReferences name the objects without which this one is to go.",
        "resourceVersion" => {
            "ResourceVersion stands for the state that the object was read in. Clients compare it for equality only."
        }
        "selfLink" => "SelfLink is no longer set.",
        "uid" => "UID tells this object from all others that ever had its name. Set by the server.",
        _ => return None,
    })
}
