//! Combinations that DiskSpd refuses, and those it warns about.

use thiserror::Error;

use super::distribution::DistributionError;
use super::profile::{Access, CacheMode, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, WriteBuffer};

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    #[error("no targets specified")]
    NoTargets,
    #[error("no time spans specified")]
    NoTimeSpans,
    #[error("-n and -a cannot be used together: either threads are pinned or they are not")]
    PinnedAndNot,
    #[error(
        "-F and -t cannot be used together: use -F for a total number of threads or -t for threads per target"
    )]
    PoolAndThreads,
    #[error("-g throughput control cannot be used with -x completion routines")]
    RateWithRoutines,
    #[error("-i (requests in a burst) and -j (milliseconds between bursts) must be used together")]
    HalfBurst,
    #[error("-O (outstanding requests per thread) needs -F (total number of threads)")]
    DepthWithoutPool,
    #[error("{option} cannot be used with -F and -O, where a thread's requests go to any of its targets")]
    WithPoolDepth { option: &'static str },
    #[error("'{path}': a weight of 0 in a thread pool would never be chosen")]
    NoWeight { path: String },
    #[error("'{path}': thread {thread} is not in the pool of {pool} threads (-F)")]
    ThreadOutsidePool { path: String, thread: u32, pool: u32 },
    #[error("'{path}': thread targets need ThreadCount (-F) and RequestCount (-O)")]
    ThreadTargetsWithoutPool { path: String },
    #[error("-r random access cannot be used with {option}, which is sequential")]
    RandomWith { option: &'static str },
    #[error("-si interlocked access cannot be used with {option}")]
    InterlockedWith { option: &'static str },
    #[error("-T thread stride needs more than one thread per target (-t)")]
    StrideOfOneThread,
    #[error("random alignment (-r) must be greater than 0")]
    NoAlignment,
    #[error("-Z: the write buffer ({buffer_bytes} bytes) must hold at least one block ({block_bytes} bytes)")]
    ShortWriteBuffer { buffer_bytes: u64, block_bytes: u32 },
    #[error("-Sm memory mapped I/O cannot be used with {option}")]
    MappedWith { option: &'static str },
    #[error("-N needs memory mapped I/O (-Sm)")]
    FlushWithoutMap,
    #[error("-f: the maximum offset ({max_bytes}) must be beyond the base offset ({base_bytes}, -B)")]
    EmptyRange {
        /// `-B`.
        base_bytes: u64,
        /// `-f`.
        max_bytes: u64,
    },
    #[error(
        "no block of {block_bytes} bytes fits between the base offset ({base_bytes}) and the maximum offset ({max_bytes})"
    )]
    RangeBelowBlock {
        /// `-b`.
        block_bytes: u32,
        /// `-B`.
        base_bytes: u64,
        /// `-f`.
        max_bytes: u64,
    },
    #[error("{what} must be {wanted}")]
    OutOfRange { what: &'static str, wanted: &'static str },
    #[error("-rd: {0}")]
    Distribution(DistributionError),
    /// A character that neither a Windows path nor XML can contain.
    #[error("'{}': a path cannot have control characters: no XML profile or report could name it", path.escape_debug())]
    PathCharacter { path: String },
    #[error("template target '{path}' has no target on the command line")]
    OpenTemplate {
        /// `*1`, ….
        path: String,
    },
}

impl Violation {
    /// The likely intention, for letters that are easily confused.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::StrideOfOneThread => {
                Some("-t<n> is the number of threads (-t4); -T<size> is how far apart they start")
            }
            Self::RangeBelowBlock { .. } => Some(
                "-f takes a size (-f4G uses the first 4 GiB); -F<n> is a number of threads, -o<n> of outstanding requests",
            ),
            _ => None,
        }
    }
}

/// All errors in `profile`; if empty, it can run.
pub fn validate(profile: &DiskspdProfile) -> Vec<Violation> {
    let mut found = Vec::new();
    if profile.time_spans.is_empty() {
        found.push(Violation::NoTimeSpans);
    }
    for span in &profile.time_spans {
        validate_span(span, &mut found);
        for target in &span.targets {
            validate_access(target, &mut found);
            validate_target(span, target, &mut found);
            if span.request_count > 0 {
                validate_pool_target(span, target, &mut found);
            } else if !target.thread_targets.is_empty() {
                found.push(Violation::ThreadTargetsWithoutPool { path: target.path.clone() });
            }
        }
    }
    each_once(found)
}

/// Without duplicates: targets share most settings, and one message is enough.
pub(super) fn each_once<T: PartialEq>(found: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    for item in found {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}

fn validate_span(span: &DiskspdTimeSpan, found: &mut Vec<Violation>) {
    let mut check = |wrong: bool, violation: Violation| {
        if wrong {
            found.push(violation);
        }
    };
    check(span.targets.is_empty(), Violation::NoTargets);
    check(span.disable_affinity && !span.affinity.is_empty(), Violation::PinnedAndNot);
    check(span.request_count > 0 && span.thread_count == 0, Violation::DepthWithoutPool);
    check(span.bucket_ms == 0, out_of_range("the interval of -D", "at least 1 ms"));
    let threads = span.targets.iter().any(|target| target.threads_per_file > 1);
    check(span.thread_count > 0 && threads, Violation::PoolAndThreads);
    let rated = span.targets.iter().any(|target| target.throughput.is_some());
    check(span.completion_routines && rated, Violation::RateWithRoutines);
    let mapped = span.targets.iter().any(|target| target.memory_mapped);
    check(span.completion_routines && mapped, Violation::MappedWith { option: "-x" });
}

fn out_of_range(what: &'static str, wanted: &'static str) -> Violation {
    Violation::OutOfRange { what, wanted }
}

fn validate_access(target: &DiskspdTarget, found: &mut Vec<Violation>) {
    let mut check = |wrong: bool, violation: Violation| {
        if wrong {
            found.push(violation);
        }
    };
    let (strided, parallel) = (target.thread_stride_bytes > 0, target.parallel_async);
    match &target.access {
        Access::Random { align_bytes, random_pct, distribution } => {
            check(strided, Violation::RandomWith { option: "-T" });
            check(parallel, Violation::RandomWith { option: "-p" });
            check(*align_bytes == 0, Violation::NoAlignment);
            let share_fits = (1..=100).contains(random_pct);
            check(!share_fits, out_of_range("the random share (-rs)", "1 to 100 percent"));
            if let Some(error) = distribution.as_ref().and_then(|it| it.check(target.block_bytes).err()) {
                found.push(Violation::Distribution(error));
            }
        }
        Access::Sequential { interlocked: true, .. } => {
            check(strided, Violation::InterlockedWith { option: "-T" });
            check(parallel, Violation::InterlockedWith { option: "-p" });
        }
        Access::Sequential { .. } => {}
    }
}

fn validate_target(span: &DiskspdTimeSpan, target: &DiskspdTarget, found: &mut Vec<Violation>) {
    let mut check = |wrong: bool, violation: Violation| {
        if wrong {
            found.push(violation);
        }
    };
    let path = || target.path.clone();
    check(target.path.contains(crate::xml::is_not_xml), Violation::PathCharacter { path: path() });
    check(target.block_bytes == 0, out_of_range("the block size (-b)", "at least 1 byte"));
    check(target.request_count == 0, out_of_range("outstanding requests (-o)", "at least 1"));
    check(target.threads_per_file == 0, out_of_range("threads per target (-t)", "at least 1"));
    check(target.write_pct > 100, out_of_range("the write share (-w)", "0 to 100 percent"));
    check(
        target.create_bytes == Some(0),
        out_of_range("the size of the file to make (-c)", "at least 1 byte"),
    );
    let strided_alone = target.thread_stride_bytes > 0 && span.threads_on(target) < 2;
    check(strided_alone, Violation::StrideOfOneThread);
    check(target.burst_size.is_some() != target.think_time_ms.is_some(), Violation::HalfBurst);
    let range = (target.base_bytes, target.max_bytes);
    match range {
        (base_bytes, max_bytes) if max_bytes > 0 && max_bytes <= base_bytes => {
            found.push(Violation::EmptyRange { base_bytes, max_bytes });
        }
        (base_bytes, max_bytes)
            if max_bytes > 0 && max_bytes - base_bytes < u64::from(target.block_bytes) =>
        {
            found.push(Violation::RangeBelowBlock { block_bytes: target.block_bytes, base_bytes, max_bytes });
        }
        _ => {}
    }
    if let WriteBuffer::Random { bytes, .. } = target.write_buffer
        && bytes < u64::from(target.block_bytes)
    {
        found.push(Violation::ShortWriteBuffer { buffer_bytes: bytes, block_bytes: target.block_bytes });
    }
    if target.memory_mapped && target.cache_mode != CacheMode::Cached {
        found.push(Violation::MappedWith { option: "-Su, -Sh or -Sr" });
    }
    if target.flush.is_some() && !target.memory_mapped {
        found.push(Violation::FlushWithoutMap);
    }
}

fn validate_pool_target(span: &DiskspdTimeSpan, target: &DiskspdTarget, found: &mut Vec<Violation>) {
    let path = || target.path.clone();
    if target.throughput.is_some() {
        found.push(Violation::WithPoolDepth { option: "-g" });
    }
    if target.think_time_ms.is_some() || target.burst_size.is_some() {
        found.push(Violation::WithPoolDepth { option: "-i/-j" });
    }
    if target.parallel_async {
        found.push(Violation::WithPoolDepth { option: "-p" });
    }
    if target.weight == 0 {
        found.push(Violation::NoWeight { path: path() });
    }
    for place in &target.thread_targets {
        if place.thread >= span.thread_count {
            let (thread, pool) = (place.thread, span.thread_count);
            found.push(Violation::ThreadOutsidePool { path: path(), thread, pool });
        }
        if place.weight == Some(0) {
            found.push(Violation::NoWeight { path: path() });
        }
    }
}

/// DiskSpd's warnings: the profile runs, but perhaps not as intended. One sentence each.
pub fn advice(profile: &DiskspdProfile) -> Vec<String> {
    let mut found = Vec::new();
    for span in &profile.time_spans {
        if span.duration_s == 0 {
            found.push("-d0: nothing is measured; give a duration of at least one second".to_owned());
        }
        for target in &span.targets {
            let threads = span.threads_on(target);
            let own_sequence = matches!(target.access, Access::Sequential { interlocked: false, .. });
            if own_sequence && threads > 1 && target.thread_stride_bytes == 0 {
                found.push(format!(
                    "'{}': {threads} threads each read or write the same sequence from the same start, so the access as a whole \
                     will not be sequential; consider -si (threads share one sequence) or -T",
                    target.path
                ));
            }
            if target.access.is_interlocked() && threads == 1 {
                found.push(format!("'{}': -si has no effect with a single thread", target.path));
            }
            if target.parallel_async && target.request_count == 1 {
                found.push(format!("'{}': -p has no effect with one outstanding request (-o1)", target.path));
            }
            if target.throughput.is_some() && target.burst_size.is_some() {
                found.push(format!(
                    "'{}': -i and -j are ignored because -g limits the throughput",
                    target.path
                ));
            }
            if span.random_write_data && target.write_buffer == WriteBuffer::Zero {
                found.push(format!("'{}': -Zr is ignored because -Z writes zeros", target.path));
            }
            if target.write_pct == 0 && (span.random_write_data || target.write_buffer != WriteBuffer::Ramp) {
                found.push(format!("'{}': -Z has no effect without writes (-w)", target.path));
            }
        }
    }
    each_once(found)
}
