//! What the schema says about ownership where a value alone doesn't. Knows no object.

use std::ptr;

use kedge_kinds::builtin;
use kedge_kinds::schema::Node;

/// Whether what stands here is owned as a whole. Where the schema of a built-in kind allows anything it is one value;
/// a custom kind's is walked, as nothing is known about it.
pub(super) fn is_one_value(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.is_atomic() || (node.is_any() && !is_custom(node)))
}

/// A custom kind says itself what its objects look like: null can be a value there, and anything has parts.
pub(super) fn is_custom(node: Node<'_>) -> bool {
    !ptr::eq(node.schemas(), &*builtin().schemas)
}
