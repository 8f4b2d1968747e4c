//! Tests of watch.
