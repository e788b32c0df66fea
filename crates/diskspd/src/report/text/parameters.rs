//! "Input parameters": the settings.

use super::distribution;
use super::tables::line;
use crate::report::input::DiskspdReport;
use crate::size::show_size;
use crate::{
    Access, CacheMode, DiskspdTarget, DiskspdTimeSpan, FlushKind, IoPriority, Throughput, WriteBuffer,
};

pub(super) fn write(out: &mut String, report: &DiskspdReport) {
    let profile = &report.profile;
    line(out, format!("\nCommand Line: {}\n", report.command_line));
    if profile.experiment_flags != 0 {
        line(out, format!("Experiment Flags: 0x{0:x} ({0})\n", profile.experiment_flags));
    }
    line(out, "Input parameters:\n");
    if profile.verbose {
        line(out, "\tusing verbose mode");
    }
    for (number, span) in (1..).zip(&profile.time_spans) {
        write_span(out, number, span);
        line(out, "");
    }
}

fn write_span(out: &mut String, number: u32, span: &DiskspdTimeSpan) {
    line(out, format!("\ttimespan: {number:3}"));
    line(out, "\t-------------");
    line(out, format!("\tduration: {}s", span.duration_s));
    line(out, format!("\twarm up time: {}s", span.warmup_s));
    line(out, format!("\tcool down time: {}s", span.cooldown_s));
    let mut optional = |asked: bool, text: String| {
        if asked {
            line(out, text);
        }
    };
    optional(span.disable_affinity, "\taffinity disabled".into());
    optional(span.measure_latency, "\tmeasuring latency".into());
    optional(span.iops_stdev, format!("\tgathering IOPS at intervals of {}ms", span.bucket_ms));
    optional(true, format!("\trandom seed: {}", span.seed));
    if span.thread_count > 0 {
        optional(true, format!("\tthread pool with {} threads", span.thread_count));
        let depth = format!("\tnumber of outstanding I/O operations per thread: {}", span.request_count);
        optional(span.request_count > 0, depth);
    }
    let cpus: Vec<String> =
        span.affinity.iter().map(|cpu| format!("{}/{}", cpu.group, cpu.processor)).collect();
    let affinity = format!("\tadvanced affinity round robin (group/core): {}", cpus.join(", "));
    optional(!cpus.is_empty(), affinity);
    if span.random_write_data {
        optional(true, "\tgenerating random data for each write IO".into());
        optional(true, "\t  WARNING: this increases the CPU cost of issuing writes and should only".into());
        optional(true, "\t           be compared to other results using the -Zr flag".into());
    }
    for target in &span.targets {
        let mut lines = Vec::new();
        cache_lines(target, &mut lines);
        write_buffer_lines(target, &mut lines);
        access_lines(target, &mut lines);
        load_lines(span, target, &mut lines);
        let path = target.template_number().map_or_else(
            || format!("\tpath: '{}'", target.path),
            |number| format!("\tpath: template target '{number}'"),
        );
        line(out, path);
        for text in lines {
            line(out, format!("\t\t{text}"));
        }
        distribution::write_asked(out, target);
    }
}

fn cache_lines(target: &DiskspdTarget, lines: &mut Vec<String>) {
    lines.push(format!("think time: {}ms", target.think_time_ms.unwrap_or(0)));
    lines.push(format!("burst size: {}", target.burst_size.unwrap_or(0)));
    lines.push(
        match target.cache_mode {
            CacheMode::Cached => "using software cache",
            CacheMode::NoLocalCache => "local software cache disabled, remote cache enabled",
            CacheMode::NoOsCache => "software cache disabled",
        }
        .to_owned(),
    );
    lines.push(
        match (target.write_through, target.cache_mode) {
            (false, _) => "using hardware write cache, writethrough off",
            (true, CacheMode::NoOsCache) => "hardware write cache disabled, writethrough on",
            (true, _) => "hardware and software write caches disabled, writethrough on",
        }
        .to_owned(),
    );
    if target.memory_mapped {
        let flush = match target.flush {
            None => "",
            Some(FlushKind::ViewOfFile) => ", flush mode: FlushViewOfFile",
            Some(FlushKind::NonVolatileMemory) => ", flush mode: FlushNonVolatileMemory",
            Some(FlushKind::NonVolatileMemoryNoDrain) => ", flush mode: FlushNonVolatileMemory with no drain",
        };
        lines.push(format!("memory mapped I/O enabled{flush}"));
    }
}

fn write_buffer_lines(target: &DiskspdTarget, lines: &mut Vec<String>) {
    match &target.write_buffer {
        WriteBuffer::Ramp => {}
        WriteBuffer::Zero => lines.push("zeroing write buffers".to_owned()),
        WriteBuffer::Random { bytes, file } => {
            lines.push(format!("write buffer size: {}", show_size(*bytes)));
            let source = file.as_ref().map_or_else(|| "random fill".to_owned(), |file| format!("'{file}'"));
            lines.push(format!("write buffer source: {source}"));
        }
    }
    if target.parallel_async {
        lines.push("using parallel async I/O".to_owned());
    }
}

fn access_lines(target: &DiskspdTarget, lines: &mut Vec<String>) {
    lines.push(match target.write_pct {
        0 => "performing read test".to_owned(),
        100.. => "performing write test".to_owned(),
        share => format!("performing mix test (read/write ratio: {}/{share})", 100 - share),
    });
    lines.push(format!("block size: {}", show_size(u64::from(target.block_bytes))));
    let step = show_size(target.access.step_bytes());
    lines.push(match target.access {
        Access::Random { random_pct: 100.., .. } => format!("using random I/O (alignment: {step})"),
        Access::Random { random_pct, .. } => {
            format!("using mixed random/sequential I/O ({random_pct}% random) (alignment/stride: {step})")
        }
        Access::Sequential { interlocked, .. } => {
            let interlocked = if interlocked { " interlocked" } else { "" };
            format!("using{interlocked} sequential I/O (stride: {step})")
        }
    });
}

fn load_lines(span: &DiskspdTimeSpan, target: &DiskspdTarget, lines: &mut Vec<String>) {
    let pool = span.thread_count > 0;
    lines.push(if pool && span.request_count > 0 {
        format!("relative IO weight in thread pool: {}", target.weight)
    } else {
        format!("number of outstanding I/O operations per thread: {}", target.request_count)
    });
    for (bytes, what) in [
        (target.base_bytes, "base file offset"),
        (target.max_bytes, "max file size"),
        (target.thread_stride_bytes, "thread stride size"),
    ] {
        if bytes > 0 {
            lines.push(format!("{what}: {}", show_size(bytes)));
        }
    }
    let completion = if span.completion_routines {
        "using completion routines (ReadFileEx/WriteFileEx)"
    } else {
        "using I/O Completion Ports"
    };
    for (asked, text) in [
        (target.sequential_scan, "using FILE_FLAG_SEQUENTIAL_SCAN hint"),
        (target.random_access, "using FILE_FLAG_RANDOM_ACCESS hint"),
        (target.temporary_file, "using FILE_ATTRIBUTE_TEMPORARY hint"),
        (!pool, &format!("threads per file: {}", target.threads_per_file)),
        (!pool && target.request_count > 1, completion),
    ] {
        if asked {
            lines.push(text.to_owned());
        }
    }
    let priority = match target.io_priority {
        IoPriority::VeryLow => "very low",
        IoPriority::Low => "low",
        IoPriority::Normal => "normal",
    };
    lines.push(format!("IO priority: {priority}"));
    match target.throughput {
        None => {}
        Some(Throughput::Iops(rate)) => lines.push(format!("throughput rate-limited to {rate} IOPS")),
        Some(Throughput::BytesPerMs(rate)) => lines.push(format!("throughput rate-limited to {rate} B/ms")),
    }
}
