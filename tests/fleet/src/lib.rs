//! Holds the test of several nodes; everything is in `tests/`.
