//! Tests of namespaces.
