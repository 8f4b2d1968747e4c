//! Drives the built binary with stock kubectl, as a user would. Knows nothing of how the server is made.
//!
//! The binary is `KEDGE_BIN`, or else the `kedge` of the build that these tests belong to; kubectl is `KUBECTL`,
//! or else the one on the path. Every test starts a server of its own on a free loopback port.

#[cfg(test)]
mod alone;
#[cfg(test)]
mod apply;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod create;
#[cfg(test)]
mod custom;
#[cfg(test)]
mod describe;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod explain;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod look;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod node;
#[cfg(test)]
mod own;
#[cfg(test)]
mod played;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod shells;
#[cfg(test)]
mod verbs;
