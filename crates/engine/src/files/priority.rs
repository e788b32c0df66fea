//! How much this process stands back for others.

use std::io;

use crate::cpu::{IoPriority, set_io_priority};

/// Levels of standing back, for processor and disk together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Niceness {
    /// Processor nice 10; disk best-effort at its lowest level.
    Low,
    /// Processor nice 19; disk only when nobody else wants it.
    Idle,
}

/// Sets it for the calling thread and all threads that it starts from now on.
pub fn set_niceness(niceness: Niceness) -> io::Result<()> {
    let (nice, priority) = match niceness {
        Niceness::Low => (10, IoPriority::BestEffort(7)),
        Niceness::Idle => (19, IoPriority::Idle),
    };
    rustix::process::setpriority_process(None, nice)?;
    set_io_priority(priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anybody_may_lower_its_priority() {
        // On a thread of its own: the other tests keep their priority.
        std::thread::spawn(|| {
            set_niceness(Niceness::Low).unwrap();
            set_niceness(Niceness::Idle).unwrap();
        })
        .join()
        .unwrap();
    }
}
