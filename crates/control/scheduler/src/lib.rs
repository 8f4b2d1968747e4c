//! Chooses a node for every pod that has none.
