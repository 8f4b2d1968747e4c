//! Holds the rounds of faults; everything is in `tests/`.
