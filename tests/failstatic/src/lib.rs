//! Holds the test that kills a whole node again and again; everything is in `tests/`.
