//! Tests of services.
