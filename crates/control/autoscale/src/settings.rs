//! How the autoscaler works where an object doesn't say it itself.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How often everything is looked at.
    pub every: Duration,
    /// How often it is looked in between whether what the target's pods use asks for more of them; `None` for never.
    pub reaction: Option<Duration>,
    /// By which part a measurement may differ from its target before anything is done.
    pub tolerance: f64,
    /// For how long nothing shrinks below the highest recommendation.
    pub downscale_window: Duration,
    /// For how long after its start the CPU use of a pod counts only while the pod is ready.
    pub cpu_initialization: Duration,
    /// A pod that turned unready so soon after its start was never ready.
    pub initial_readiness: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(15),
            reaction: Some(Duration::from_secs(1)),
            tolerance: 0.1,
            downscale_window: Duration::from_mins(5),
            cpu_initialization: Duration::from_mins(5),
            initial_readiness: Duration::from_secs(30),
        }
    }
}
