//! A whole cluster in one process: the real API on a memory store, the real controllers, scripted nodes and a clock turned by hand.
