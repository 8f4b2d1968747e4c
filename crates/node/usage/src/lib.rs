//! What processes may use and what they do use: cgroups of either version and what the kernel tells in `/proc`. Knows no pods.

mod disk;
mod error;
mod group;
mod kernel;
mod layout;
mod limits;
mod pressure;
mod rates;
mod sample;

pub use disk::{Disk, Stored, disk, stored};
pub use error::UsageError;
pub use group::Groups;
pub use kernel::{Counts, Interface, Memory, Traffic, boot, counts, interfaces, memory, shares_network_with};
pub use layout::{Layout, Version};
pub use limits::{Cpu, Limits};
pub use pressure::{Pressure, Pressures, Stall, pressures};
pub use rates::{Rate, Rates};
pub use sample::{CpuUse, MemoryUse, Sample};
