//! What every engine promises, and what happens when disks and processes fail. One binary, so that it links once.

mod contract;
