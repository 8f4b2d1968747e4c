//! Tests of subresource.
