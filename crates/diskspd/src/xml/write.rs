//! The profile as XML, element by element in DiskSpd's order.

use std::fmt::Display;

use crate::distribution::SpanKind;
use crate::profile::{
    Access, CacheMode, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, FlushKind, PrecreateFiles, Throughput,
    WriteBuffer,
};

/// The profile as a separate document (`-Rp`), without a line end.
pub fn write_profile(profile: &DiskspdProfile) -> String {
    let mut xml = XmlWriter::new();
    write_profile_into(&mut xml, profile);
    xml.finish()
}

pub(crate) fn write_profile_into(xml: &mut XmlWriter, profile: &DiskspdProfile) {
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
    xml.leaves(&[
        ("CompletionRoutines", &span.completion_routines),
        ("MeasureLatency", &span.measure_latency),
        ("CalculateIopsStdDev", &span.iops_stdev),
        ("DisableAffinity", &span.disable_affinity),
        ("Duration", &span.duration_s),
        ("Warmup", &span.warmup_s),
        ("Cooldown", &span.cooldown_s),
        ("ThreadCount", &span.thread_count),
        ("RequestCount", &span.request_count),
        ("IoBucketDuration", &span.bucket_ms),
        ("RandSeed", &span.seed),
    ]);
    // DiskSpd reads this element but never writes it, so it loses -Zr on the way; here it is kept.
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
    xml.leaves(&[
        ("Path", &target.path),
        ("BlockSize", &target.block_bytes),
        ("BaseFileOffset", &target.base_bytes),
        ("SequentialScan", &target.sequential_scan),
        ("RandomAccess", &target.random_access),
        ("TemporaryFile", &target.temporary_file),
        ("UseLargePages", &target.large_pages),
    ]);
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
    xml.leaves(&[
        ("ThreadStride", &target.thread_stride_bytes),
        ("MaxFileSize", &target.max_bytes),
        ("RequestCount", &target.request_count),
        ("WriteRatio", &target.write_pct),
    ]);
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
                let ranges = distribution.ranges.iter().map(|range| (range.io_pct, range.span));
                write_distribution(xml, distribution.kind, ranges);
            }
        }
        Access::Sequential { stride_bytes, interlocked } => {
            xml.leaf("StrideSize", stride_bytes);
            xml.leaf("InterlockedSequential", interlocked);
        }
    }
}

pub(crate) fn write_distribution<Share: Display>(
    xml: &mut XmlWriter,
    kind: SpanKind,
    ranges: impl IntoIterator<Item = (Share, u64)>,
) {
    xml.open("Distribution", &[]);
    xml.open(
        match kind {
            SpanKind::Percent => "Percent",
            SpanKind::Absolute => "Absolute",
        },
        &[],
    );
    for (share, length) in ranges {
        xml.leaf_with("Range", &[("IO", &share)], length);
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

/// Builds indented XML. The caller closes the elements it opens, in order.
#[derive(Debug, Default)]
pub struct XmlWriter {
    out: String,
    open: Vec<&'static str>,
}

impl XmlWriter {
    pub fn new() -> Self {
        Self::default()
    }

    fn push<const N: usize>(&mut self, parts: [&str; N]) {
        for part in parts {
            self.out.push_str(part);
        }
    }

    fn begin_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&"  ".repeat(self.open.len()));
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (key, value) in attributes {
            self.push([" ", key, "=\"", &escape(&value.to_string()), "\""]);
        }
    }

    pub fn open(&mut self, name: &'static str, attributes: &[(&str, &dyn Display)]) {
        self.begin_line();
        self.tag(name, attributes);
        self.out.push('>');
        self.open.push(name);
    }

    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.begin_line();
            self.push(["</", name, ">"]);
        }
    }

    pub fn leaf(&mut self, name: &str, value: impl Display) {
        self.leaf_with(name, &[], value);
    }

    pub fn leaves(&mut self, values: &[(&str, &dyn Display)]) {
        for (name, value) in values {
            self.leaf(name, value);
        }
    }

    pub fn leaf_with(&mut self, name: &str, attributes: &[(&str, &dyn Display)], value: impl Display) {
        self.begin_line();
        self.tag(name, attributes);
        self.push([">", &escape(&value.to_string()), "</", name, ">"]);
    }

    pub fn empty(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.begin_line();
        self.tag(name, attributes);
        self.out.push_str("/>");
    }

    /// The document, without a line end.
    pub fn finish(self) -> String {
        self.out
    }
}

/// Escapes XML's special characters. Line ends and tabs become character references, because a reader would
/// change them; characters that XML 1.0 cannot represent become the replacement character.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in quick_xml::escape::escape(text).chars() {
        match character {
            '\t' | '\n' | '\r' => {
                out.push_str("&#");
                out.push_str(&u32::from(character).to_string());
                out.push(';');
            }
            other if is_not_xml(other) => out.push('\u{FFFD}'),
            other => out.push(other),
        }
    }
    out
}

/// Whether XML 1.0 cannot represent `character`, even escaped.
pub(crate) fn is_not_xml(character: char) -> bool {
    matches!(character, '\u{0}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
        && !matches!(character, '\t' | '\n' | '\r')
}
