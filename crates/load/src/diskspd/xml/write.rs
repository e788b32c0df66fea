//! The profile as XML, element by element in DiskSpd's order.

use super::writer::XmlWriter;
use crate::diskspd::distribution::{Distribution, SpanKind};
use crate::diskspd::profile::{
    Access, CacheMode, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, FlushKind, PrecreateFiles, Throughput,
    WriteBuffer,
};

/// The profile as a document of its own (`-Rp`), without a line end.
pub fn write_profile(profile: &DiskspdProfile) -> String {
    let mut xml = XmlWriter::new();
    write_profile_into(&mut xml, profile);
    xml.finish()
}

/// The profile as an element of a document that is being written.
pub fn write_profile_into(xml: &mut XmlWriter, profile: &DiskspdProfile) {
    xml.open("Profile", &[]);
    xml.leaf("Progress", profile.progress);
    if profile.experiment_flags != 0 {
        xml.leaf("ExperimentFlags", profile.experiment_flags);
    }
    xml.leaf("ResultFormat", profile.result_formats.word());
    xml.leaf("Verbose", profile.verbose);
    if profile.verbose_stats {
        xml.leaf("VerboseStats", true);
    }
    if let Some((_, word)) =
        PrecreateFiles::ALL.iter().find(|(precreate, _)| Some(*precreate) == profile.precreate_files)
    {
        xml.leaf("PrecreateFiles", word);
    }
    xml.open("TimeSpans", &[]);
    for span in &profile.time_spans {
        write_span(xml, span);
    }
    xml.close();
    xml.close();
}

fn write_span(xml: &mut XmlWriter, span: &DiskspdTimeSpan) {
    xml.open("TimeSpan", &[]);
    xml.leaf("CompletionRoutines", span.completion_routines);
    xml.leaf("MeasureLatency", span.measure_latency);
    xml.leaf("CalculateIopsStdDev", span.iops_stdev);
    xml.leaf("DisableAffinity", span.disable_affinity);
    xml.leaf("Duration", span.duration_s);
    xml.leaf("Warmup", span.warmup_s);
    xml.leaf("Cooldown", span.cooldown_s);
    xml.leaf("ThreadCount", span.thread_count);
    xml.leaf("RequestCount", span.request_count);
    xml.leaf("IoBucketDuration", span.bucket_ms);
    xml.leaf("RandSeed", span.seed);
    // DiskSpd reads this element and never writes it, so that -Zr is lost on the way; here it is kept.
    if span.random_write_data {
        xml.leaf("RandomWriteData", true);
    }
    if !span.affinity.is_empty() {
        xml.open("Affinity", &[]);
        for cpu in &span.affinity {
            xml.empty("AffinityGroupAssignment", &[("Group", &cpu.group), ("Processor", &cpu.processor)]);
        }
        xml.close();
    }
    xml.open("Targets", &[]);
    for target in &span.targets {
        write_target(xml, target);
    }
    xml.close();
    xml.close();
}

fn write_target(xml: &mut XmlWriter, target: &DiskspdTarget) {
    xml.open("Target", &[]);
    xml.leaf("Path", &target.path);
    xml.leaf("BlockSize", target.block_bytes);
    xml.leaf("BaseFileOffset", target.base_bytes);
    xml.leaf("SequentialScan", target.sequential_scan);
    xml.leaf("RandomAccess", target.random_access);
    xml.leaf("TemporaryFile", target.temporary_file);
    xml.leaf("UseLargePages", target.large_pages);
    match target.cache_mode {
        CacheMode::Cached => {}
        CacheMode::NoOsCache => xml.leaf("DisableOSCache", true),
        CacheMode::NoLocalCache => xml.leaf("DisableLocalCache", true),
    }
    if target.write_through {
        xml.leaf("WriteThrough", true);
    }
    if target.memory_mapped {
        xml.leaf("MemoryMappedIo", true);
    }
    if let Some((_, word)) = FlushKind::ALL.iter().find(|(flush, _)| Some(*flush) == target.flush) {
        xml.leaf("FlushType", word);
    }
    write_buffer(xml, &target.write_buffer);
    xml.leaf("ParallelAsyncIO", target.parallel_async);
    let optional = [
        ("BurstSize", target.burst_size.map(u64::from)),
        ("ThinkTime", target.think_time_ms.map(u64::from)),
        ("FileSize", target.create_bytes),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            xml.leaf(name, value);
        }
    }
    write_access(xml, &target.access);
    xml.leaf("ThreadStride", target.thread_stride_bytes);
    xml.leaf("MaxFileSize", target.max_bytes);
    xml.leaf("RequestCount", target.request_count);
    xml.leaf("WriteRatio", target.write_pct);
    match target.throughput {
        None => xml.leaf("Throughput", 0),
        Some(Throughput::BytesPerMs(rate)) => xml.leaf("Throughput", rate),
        Some(Throughput::Iops(rate)) => xml.leaf_with("Throughput", &[("unit", &"IOPS")], rate),
    }
    xml.leaf("ThreadsPerFile", target.threads_per_file);
    xml.leaf("IOPriority", target.io_priority.number());
    xml.leaf("Weight", target.weight);
    write_thread_targets(xml, target);
    xml.close();
}

fn write_buffer(xml: &mut XmlWriter, buffer: &WriteBuffer) {
    xml.open("WriteBufferContent", &[]);
    match buffer {
        WriteBuffer::Ramp => xml.leaf("Pattern", "sequential"),
        WriteBuffer::Zero => xml.leaf("Pattern", "zero"),
        WriteBuffer::Random { bytes, file } => {
            xml.leaf("Pattern", "random");
            xml.open("RandomDataSource", &[]);
            xml.leaf("SizeInBytes", bytes);
            if let Some(file) = file {
                xml.leaf("FilePath", file);
            }
            xml.close();
        }
    }
    xml.close();
}

fn write_access(xml: &mut XmlWriter, access: &Access) {
    match access {
        Access::Random { align_bytes, random_pct, distribution } => {
            xml.leaf("Random", align_bytes);
            if *random_pct < 100 {
                xml.leaf("RandomRatio", random_pct);
            }
            if let Some(distribution) = distribution {
                write_distribution(xml, distribution);
            }
        }
        Access::Sequential { stride_bytes, interlocked } => {
            xml.leaf("StrideSize", stride_bytes);
            xml.leaf("InterlockedSequential", interlocked);
        }
    }
}

fn write_distribution(xml: &mut XmlWriter, distribution: &Distribution) {
    xml.open("Distribution", &[]);
    xml.open(
        match distribution.kind {
            SpanKind::Percent => "Percent",
            SpanKind::Absolute => "Absolute",
        },
        &[],
    );
    for range in &distribution.ranges {
        xml.leaf_with("Range", &[("IO", &range.io_pct)], range.span);
    }
    xml.close();
    xml.close();
}

fn write_thread_targets(xml: &mut XmlWriter, target: &DiskspdTarget) {
    if target.thread_targets.is_empty() {
        return;
    }
    xml.open("ThreadTargets", &[]);
    for place in &target.thread_targets {
        xml.open("ThreadTarget", &[]);
        xml.leaf("Thread", place.thread);
        if let Some(weight) = place.weight {
            xml.leaf("Weight", weight);
        }
        xml.close();
    }
    xml.close();
}
