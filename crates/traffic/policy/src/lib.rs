//! NetworkPolicy: which pods may talk to which. Compiles policies, pods and namespaces to chains and sets (pure), compares them with
//! what the kernel knows (pure), and tells the kernel the difference in one piece. Knows Services no more than packets do: it judges
//! where a packet really goes.
//!
//! Each node enforces for its own pods, in both directions. Without a policy that isolates one of them there is no table at all.

mod arrivals;
mod change;
mod compile;
mod kernel;
mod meaning;
mod people;
mod permits;
mod places;
mod run;
mod sources;
mod spans;
mod understood;
mod wanted;
mod words;

pub use self::arrivals::Arrivals;
pub use self::compile::compile;
pub use self::kernel::{Rules, remove};
pub use self::places::Places;
pub use self::run::{Settings, run};
pub use self::wanted::{Direction, Wanted};
