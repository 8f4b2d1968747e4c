//! Tests of bootstrap.
