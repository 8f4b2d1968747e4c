//! Tests of delete.
