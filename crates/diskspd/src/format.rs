//! Converts a profile back to a command line.

use crate::command_line::{Parsed, Surroundings, parse};
use crate::profile::{
    Access, CacheMode, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, FlushKind, IoPriority, ResultFormats,
    Throughput, WriteBuffer,
};
use crate::size::format_size;

/// The command line for `profile`; `None` if there is none (several time spans, differing targets, XML-only
/// settings, or unsupported ones). Instead of a list of cases, the words are parsed again, as if the
/// profile's targets existed, and must give the same profile.
pub fn to_command_line(profile: &DiskspdProfile) -> Option<Vec<String>> {
    let [span] = profile.time_spans.as_slice() else { return None };
    let first = span.targets.first()?;
    let mut words = Vec::new();
    put_profile(profile, &mut words);
    put_span(span, &mut words);
    put_target(first, &mut words);
    put_access(first, &mut words);
    words.extend(span.targets.iter().map(|target| target.path.clone()));
    // Its targets exist: that makes a path like `/Sh` a target.
    let exists = |path: &str| span.targets.iter().any(|target| target.path == path);
    match parse(&words, &Surroundings { exists: &exists, clock_seed: 0 }) {
        Ok(Parsed::Run(request)) if request.profile == *profile => Some(words),
        _ => None,
    }
}

fn put_profile(profile: &DiskspdProfile, words: &mut Vec<String>) {
    let mut word = |asked: bool, word: String| words.extend(asked.then_some(word));
    word(profile.experiment_flags != 0, format!("-:{}", profile.experiment_flags));
    word(profile.progress != 0, format!("-P{}", profile.progress));
    word(profile.result_formats != ResultFormats::TEXT, format!("-R{}", profile.result_formats.word()));
    word(profile.verbose, "-v".into());
    word(profile.verbose_stats, "-vs".into());
}

fn put_span(span: &DiskspdTimeSpan, words: &mut Vec<String>) {
    let mut word = |asked: bool, word: String| words.extend(asked.then_some(word));
    word(true, format!("-d{}", span.duration_s));
    word(span.warmup_s != 5, format!("-W{}", span.warmup_s));
    word(span.cooldown_s != 0, format!("-C{}", span.cooldown_s));
    word(span.completion_routines, "-x".into());
    word(span.measure_latency, "-L".into());
    word(span.iops_stdev, format!("-D{}", span.bucket_ms));
    word(span.disable_affinity, "-n".into());
    word(span.thread_count != 0, format!("-F{}", span.thread_count));
    word(span.request_count != 0, format!("-O{}", span.request_count));
    word(span.seed != 0, format!("-z{}", span.seed));
    word(span.random_write_data, "-Zr".into());
    let cpus: Vec<String> =
        span.affinity.iter().map(|cpu| format!("g{},{}", cpu.group, cpu.processor)).collect();
    word(!cpus.is_empty(), format!("-a{}", cpus.join(",")));
}

fn put_target(target: &DiskspdTarget, words: &mut Vec<String>) {
    let mut word = |asked: bool, word: String| words.extend(asked.then_some(word));
    word(true, format!("-b{}", format_size(u64::from(target.block_bytes))));
    word(true, format!("-o{}", target.request_count));
    word(true, format!("-t{}", target.threads_per_file));
    word(true, format!("-w{}", target.write_pct));
    word(target.base_bytes > 0, format!("-B{}", format_size(target.base_bytes)));
    word(target.max_bytes > 0, format!("-f{}", format_size(target.max_bytes)));
    word(target.sequential_scan, "-fs".into());
    word(target.random_access, "-fr".into());
    word(target.temporary_file, "-ft".into());
    word(target.large_pages, "-l".into());
    word(target.parallel_async, "-p".into());
    word(target.thread_stride_bytes > 0, format!("-T{}", format_size(target.thread_stride_bytes)));
    word(target.io_priority != IoPriority::Normal, format!("-I{}", target.io_priority.number()));
    let caching = match (target.cache_mode, target.write_through) {
        (CacheMode::NoOsCache, true) => "-Sh",
        (CacheMode::NoOsCache, false) => "-Su",
        (CacheMode::NoLocalCache, true) => "-Srw",
        (CacheMode::NoLocalCache, false) => "-Sr",
        (CacheMode::Cached, true) => "-Sw",
        (CacheMode::Cached, false) => "",
    };
    word(!caching.is_empty(), caching.into());
    word(target.memory_mapped, "-Sm".into());
    for (value, letter) in [(target.burst_size, 'i'), (target.think_time_ms, 'j')] {
        word(value.is_some(), format!("-{letter}{}", value.unwrap_or(0)));
    }
    word(target.create_bytes.is_some(), format!("-c{}", format_size(target.create_bytes.unwrap_or(0))));
    words.extend(target.flush.map(|flush| {
        match flush {
            FlushKind::ViewOfFile => "-Nv",
            FlushKind::NonVolatileMemory => "-Nn",
            FlushKind::NonVolatileMemoryNoDrain => "-Ni",
        }
        .to_owned()
    }));
    words.extend(target.throughput.map(|throughput| match throughput {
        Throughput::BytesPerMs(rate) => format!("-g{rate}"),
        Throughput::Iops(rate) => format!("-g{rate}i"),
    }));
    match &target.write_buffer {
        WriteBuffer::Ramp => {}
        WriteBuffer::Zero => words.push("-Z".into()),
        WriteBuffer::Random { bytes, file: None } => words.push(format!("-Z{}", format_size(*bytes))),
        WriteBuffer::Random { bytes, file: Some(file) } => {
            words.push(format!("-Z{},{file}", format_size(*bytes)));
        }
    }
}

fn put_access(target: &DiskspdTarget, words: &mut Vec<String>) {
    match &target.access {
        Access::Random { align_bytes, random_pct, distribution } => {
            words.push(format!("-r{}", format_size(*align_bytes)));
            if *random_pct < 100 {
                words.push(format!("-rs{random_pct}"));
            }
            words.extend(distribution.as_ref().map(|it| format!("-rd{}", it.to_argument())));
        }
        Access::Sequential { stride_bytes, interlocked } => {
            let letter = if *interlocked { "i" } else { "" };
            words.push(format!("-s{letter}{}", format_size(*stride_bytes)));
        }
    }
}
