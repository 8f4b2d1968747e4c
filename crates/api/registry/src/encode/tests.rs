//! Tests of encode.
