//! Lowers the CPU and I/O priority of this process.

use std::io;

use crate::cpu::{IoPriority, set_io_priority};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Niceness {
    /// CPU nice 10; lowest level of best-effort I/O.
    Low,
    /// CPU nice 19; I/O only when the disk is idle.
    Idle,
}

/// Sets the priority of the calling thread and of all threads that it starts afterwards.
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
        // On its own thread, so that other tests keep their priority.
        std::thread::spawn(|| {
            set_niceness(Niceness::Low).unwrap();
            set_niceness(Niceness::Idle).unwrap();
        })
        .join()
        .unwrap();
    }
}
