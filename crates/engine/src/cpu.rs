//! CPU time, memory, CPU affinity and I/O priority of this thread and process.

#![expect(unsafe_code, reason = "getrusage and ioprio_set have no safe wrapper among our libraries")]

use std::io;
use std::mem::MaybeUninit;

use rustix::thread::CpuSet;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    pub user_ns: u64,
    pub system_ns: u64,
}

impl CpuTime {
    pub fn total_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }

    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}

/// CPU time of the calling thread, without the kernel's helper threads of a ring (see [`process_cpu`]).
pub fn thread_cpu() -> CpuTime {
    cpu_of(&usage(libc::RUSAGE_THREAD))
}

/// CPU time of the whole process, including the kernel's helper threads of its rings.
pub fn process_cpu() -> CpuTime {
    cpu_of(&usage(libc::RUSAGE_SELF))
}

/// Peak resident memory of the process, bytes.
pub fn peak_resident_bytes() -> u64 {
    // Linux reports KiB.
    u64::try_from(usage(libc::RUSAGE_SELF).ru_maxrss).unwrap_or(0) * 1024
}

/// Pins the calling thread to CPU `number`.
///
/// Fails with `EINVAL` if there is no such CPU or the process may not use it.
pub fn pin_to_cpu(number: u32) -> io::Result<()> {
    let number = number as usize;
    if number >= CpuSet::MAX_CPU {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut set = CpuSet::new();
    set.set(number);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// CPUs that the calling thread may run on, in ascending order.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0_u32..)
        .zip(0..CpuSet::MAX_CPU)
        .filter(|(_, cpu)| set.is_set(*cpu))
        .map(|(number, _)| number)
        .collect())
}

/// I/O priority, for schedulers that support it (bfq, mq-deadline).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoPriority {
    /// Served before all others; needs `CAP_SYS_ADMIN` or `CAP_SYS_NICE`. Level 0 (highest) to 7.
    RealTime(u8),
    /// The default class. Level 0 (highest) to 7.
    BestEffort(u8),
    /// Served only when no other process asks.
    Idle,
}

impl IoPriority {
    /// `IOPRIO_PRIO_VALUE` of `linux/ioprio.h`: the class from bit 13, the level below.
    fn value(self) -> libc::c_long {
        let (class, level) = match self {
            Self::RealTime(level) => (1, level),
            Self::BestEffort(level) => (2, level),
            Self::Idle => (3, 0),
        };
        class << 13 | libc::c_long::from(level.min(7))
    }
}

/// Sets the I/O priority of the calling thread. Levels above 7 count as 7.
///
/// Fails with `EPERM` if the class is not allowed.
pub fn set_io_priority(priority: IoPriority) -> io::Result<()> {
    /// `IOPRIO_WHO_PROCESS`, which with an id of 0 is the calling thread.
    const WHO_PROCESS: libc::c_long = 1;
    // SAFETY: the call takes three numbers and no memory.
    let set = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, priority.value()) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn usage(who: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is as large as the call writes. The call fails only for an invalid `who`.
    unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    // SAFETY: the call wrote it, and all zeroes would be valid too for this struct of integers.
    unsafe { usage.assume_init() }
}

fn cpu_of(usage: &libc::rusage) -> CpuTime {
    let nanoseconds = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let microseconds = u64::try_from(time.tv_usec).unwrap_or(0);
        seconds * 1_000_000_000 + microseconds * 1_000
    };
    CpuTime { user_ns: nanoseconds(usage.ru_utime), system_ns: nanoseconds(usage.ru_stime) }
}

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
    fn work_adds_to_the_time_of_its_thread_and_of_the_process() {
        // The process is read before and after the thread.
        let (process, thread) = (process_cpu(), thread_cpu());
        let mut value = 1u64;
        let mut worked_ns = 0;
        while worked_ns < 2_000_000 {
            value = std::hint::black_box(value.wrapping_mul(3));
            worked_ns = thread_cpu().since(thread).total_ns();
        }
        // Two times at each of two readings, all in whole microseconds.
        assert!(process_cpu().since(process).total_ns() + 4_000 >= worked_ns);
    }

    #[test]
    fn an_idle_thread_has_used_next_to_nothing() {
        let idle = std::thread::spawn(thread_cpu).join().unwrap();
        assert!(idle.total_ns() <= process_cpu().total_ns());
    }

    #[test]
    fn a_thread_runs_where_it_is_bound_to() {
        std::thread::spawn(|| {
            let allowed = rustix::thread::sched_getaffinity(None).unwrap();
            let last = (0..CpuSet::MAX_CPU).rev().find(|number| allowed.is_set(*number)).unwrap();
            pin_to_cpu(u32::try_from(last).unwrap()).unwrap();
            assert_eq!(rustix::thread::sched_getcpu(), last);
            let error = pin_to_cpu(1_000_000).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_priority_that_was_set_is_the_one_the_kernel_tells() {
        std::thread::spawn(|| {
            for priority in [IoPriority::BestEffort(6), IoPriority::Idle] {
                set_io_priority(priority).unwrap();
                // SAFETY: the call takes two numbers and no memory.
                let found = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, 0) };
                assert_eq!(found, priority.value());
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_peak_of_memory_counts_what_was_touched() {
        let before = peak_resident_bytes();
        let touched = vec![1u8; 64 << 20];
        assert!(std::hint::black_box(&touched).iter().all(|byte| *byte == 1));
        assert!(peak_resident_bytes() >= 64 << 20 && peak_resident_bytes() >= before);
    }

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
