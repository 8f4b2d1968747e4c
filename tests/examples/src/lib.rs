//! Tries everything in `examples/`; the tests are in `tests/`.
