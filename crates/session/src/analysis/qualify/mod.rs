//! What the rounds of a qualification say: whether they became steady, and the result of each test.

mod demand;
mod fast_cache;
mod recovery;
mod stage_rounds;
mod window;

pub use demand::{Demand, DepthCurve, demand, depth_curves};
pub use fast_cache::{AfterRest, Cliff, FastCache, cliff, course, fast_cache};
pub use iostall_model::qualify::TRACKED;
pub use recovery::{CrossRecovery, WaitState, cross_recovery, idle_recovery};
pub(crate) use stage_rounds::STEPS_PER_FILL;
pub use stage_rounds::{Rates, StageRounds, stages};
pub(crate) use window::is_steady_but_disturbed;
pub use window::{
    Check, Determination, SteadyWindow, Tail, TrackedWindow, points_of, shown_stage, shown_window,
    shown_window_of, steady_window, steady_window_of,
};
