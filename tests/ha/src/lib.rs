//! Holds the test that kills servers and members of the etcd that they share; everything is in `tests/`.
