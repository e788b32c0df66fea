//! Reads a profile from XML. Missing elements get DiskSpd's defaults; unknown ones are refused by name.

use std::str::FromStr;

use super::tree::{Element, ProfileError};
use crate::distribution::{Distribution, DistributionRange, SpanKind};
use crate::profile::{
    Access, CacheMode, CpuAssignment, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, FlushKind, IoPriority,
    PrecreateFiles, ResultFormats, ThreadTarget, Throughput, WriteBuffer,
};

const PROFILE_ELEMENTS: [&str; 7] =
    ["Progress", "ExperimentFlags", "ResultFormat", "Verbose", "VerboseStats", "PrecreateFiles", "TimeSpans"];

const SPAN_ELEMENTS: [&str; 15] = [
    "CompletionRoutines",
    "MeasureLatency",
    "CalculateIopsStdDev",
    "DisableAffinity",
    // Older versions: it selected group affinity, which is the default now.
    "GroupAffinity",
    "Duration",
    "Warmup",
    "Cooldown",
    "ThreadCount",
    "RequestCount",
    "IoBucketDuration",
    "RandSeed",
    "RandomWriteData",
    "Affinity",
    "Targets",
];

const TARGET_ELEMENTS: [&str; 32] = [
    "Path",
    "BlockSize",
    "BaseFileOffset",
    "SequentialScan",
    "RandomAccess",
    "TemporaryFile",
    "UseLargePages",
    // Older versions: no operating system cache, and write-through.
    "DisableAllCache",
    "DisableLocalCache",
    "DisableOSCache",
    "WriteThrough",
    "MemoryMappedIo",
    "FlushType",
    "WriteBufferContent",
    "ParallelAsyncIO",
    "BurstSize",
    "ThinkTime",
    "FileSize",
    "Random",
    "RandomRatio",
    "Distribution",
    "StrideSize",
    "InterlockedSequential",
    "ThreadStride",
    "MaxFileSize",
    "RequestCount",
    "WriteRatio",
    "Throughput",
    "ThreadsPerFile",
    "IOPriority",
    "Weight",
    "ThreadTargets",
];

/// Reads a profile and checks each element; [`crate::validate()`] decides whether it can run.
pub fn read_profile(bytes: &[u8]) -> Result<DiskspdProfile, ProfileError> {
    let root = Element::parse(bytes)?;
    if root.name != "Profile" {
        return Err(ProfileError::Root { found: shorten(&root.name) });
    }
    root.only(&PROFILE_ELEMENTS)?;
    let mut profile = DiskspdProfile::default();
    let fields = Fields(&root);
    fields.number("Progress", &mut profile.progress)?;
    fields.number("ExperimentFlags", &mut profile.experiment_flags)?;
    if let Some(word) = fields.text("ResultFormat")? {
        profile.result_formats = ResultFormats::from_word(word.trim())
            .ok_or_else(|| value("ResultFormat", word, "write text or xml"))?;
    }
    fields.flag("Verbose", &mut profile.verbose)?;
    fields.flag("VerboseStats", &mut profile.verbose_stats)?;
    profile.precreate_files = fields.word("PrecreateFiles", &PrecreateFiles::ALL)?;
    let spans = root.child("TimeSpans")?;
    let spans =
        spans.ok_or_else(|| ProfileError::Missing { parent: root.name.clone(), name: "TimeSpans" })?;
    spans.only(&["TimeSpan"])?;
    profile.time_spans = spans.children.iter().map(read_span).collect::<Result<_, _>>()?;
    Ok(profile)
}

fn read_span(element: &Element) -> Result<DiskspdTimeSpan, ProfileError> {
    element.only(&SPAN_ELEMENTS)?;
    let mut span = DiskspdTimeSpan::default();
    let fields = Fields(element);
    fields.flag("CompletionRoutines", &mut span.completion_routines)?;
    fields.flag("MeasureLatency", &mut span.measure_latency)?;
    fields.flag("CalculateIopsStdDev", &mut span.iops_stdev)?;
    fields.flag("DisableAffinity", &mut span.disable_affinity)?;
    fields.flag("GroupAffinity", &mut false)?;
    fields.number("Duration", &mut span.duration_s)?;
    fields.number("Warmup", &mut span.warmup_s)?;
    fields.number("Cooldown", &mut span.cooldown_s)?;
    fields.number("ThreadCount", &mut span.thread_count)?;
    fields.number("RequestCount", &mut span.request_count)?;
    fields.number("IoBucketDuration", &mut span.bucket_ms)?;
    fields.number("RandSeed", &mut span.seed)?;
    fields.flag("RandomWriteData", &mut span.random_write_data)?;
    if let Some(affinity) = element.child("Affinity")? {
        affinity.only(&["AffinityGroupAssignment", "AffinityAssignment"])?;
        span.affinity = affinity.children.iter().map(read_cpu).collect::<Result<_, _>>()?;
    }
    if let Some(targets) = element.child("Targets")? {
        targets.only(&["Target"])?;
        span.targets = targets.children.iter().map(read_target).collect::<Result<_, _>>()?;
    }
    Ok(span)
}

fn read_cpu(element: &Element) -> Result<CpuAssignment, ProfileError> {
    if element.name == "AffinityAssignment" {
        let processor = parsed(&element.name, &element.text)?;
        return Ok(CpuAssignment { group: 0, processor });
    }
    let attribute = |name: &'static str| {
        let missing = || ProfileError::Missing { parent: element.name.clone(), name };
        element.attribute(name).ok_or_else(missing)
    };
    let group = parsed("Group", attribute("Group")?)?;
    Ok(CpuAssignment { group, processor: parsed("Processor", attribute("Processor")?)? })
}

fn read_target(element: &Element) -> Result<DiskspdTarget, ProfileError> {
    element.only(&TARGET_ELEMENTS)?;
    let fields = Fields(element);
    let path = fields.text("Path")?.filter(|path| !path.is_empty());
    let mut target = DiskspdTarget::new(
        path.ok_or_else(|| ProfileError::Missing { parent: element.name.clone(), name: "Path" })?,
    );
    fields.number("BlockSize", &mut target.block_bytes)?;
    fields.number("BaseFileOffset", &mut target.base_bytes)?;
    fields.flag("SequentialScan", &mut target.sequential_scan)?;
    fields.flag("RandomAccess", &mut target.random_access)?;
    fields.flag("TemporaryFile", &mut target.temporary_file)?;
    fields.flag("UseLargePages", &mut target.large_pages)?;
    read_caching(&fields, &mut target)?;
    fields.flag("MemoryMappedIo", &mut target.memory_mapped)?;
    target.flush = fields.word("FlushType", &FlushKind::ALL)?;
    target.write_buffer = read_write_buffer(element)?;
    fields.flag("ParallelAsyncIO", &mut target.parallel_async)?;
    target.burst_size = fields.optional("BurstSize")?;
    target.think_time_ms = fields.optional("ThinkTime")?;
    target.create_bytes = fields.optional("FileSize")?;
    target.access = read_access(element, target.block_bytes)?;
    fields.number("ThreadStride", &mut target.thread_stride_bytes)?;
    fields.number("MaxFileSize", &mut target.max_bytes)?;
    fields.number("RequestCount", &mut target.request_count)?;
    fields.number("WriteRatio", &mut target.write_pct)?;
    target.throughput = read_throughput(element)?;
    fields.number("ThreadsPerFile", &mut target.threads_per_file)?;
    if let Some(number) = fields.optional("IOPriority")? {
        target.io_priority = IoPriority::from_number(number)
            .ok_or_else(|| value("IOPriority", &number.to_string(), "write 1, 2 or 3"))?;
    }
    fields.number("Weight", &mut target.weight)?;
    if let Some(places) = element.child("ThreadTargets")? {
        places.only(&["ThreadTarget"])?;
        target.thread_targets = places.children.iter().map(read_thread_target).collect::<Result<_, _>>()?;
    }
    Ok(target)
}

fn read_caching(fields: &Fields<'_>, target: &mut DiskspdTarget) -> Result<(), ProfileError> {
    let (mut all, mut local, mut system) = (false, false, false);
    fields.flag("DisableAllCache", &mut all)?;
    fields.flag("DisableLocalCache", &mut local)?;
    fields.flag("DisableOSCache", &mut system)?;
    fields.flag("WriteThrough", &mut target.write_through)?;
    target.write_through |= all;
    target.cache_mode = match (all || system, local) {
        (true, true) => return Err(value("DisableLocalCache", "true", "only one cache mode may be set")),
        (true, false) => CacheMode::NoOsCache,
        (false, true) => CacheMode::NoLocalCache,
        (false, false) => CacheMode::Cached,
    };
    Ok(())
}

fn read_write_buffer(element: &Element) -> Result<WriteBuffer, ProfileError> {
    let Some(content) = element.child("WriteBufferContent")? else { return Ok(WriteBuffer::Ramp) };
    content.only(&["Pattern", "RandomDataSource"])?;
    match Fields(content).text("Pattern")?.map(str::trim) {
        None | Some("sequential") => Ok(WriteBuffer::Ramp),
        Some("zero") => Ok(WriteBuffer::Zero),
        Some("random") => {
            let missing = |name| ProfileError::Missing { parent: content.name.clone(), name };
            let source = content.child("RandomDataSource")?.ok_or_else(|| missing("RandomDataSource"))?;
            source.only(&["SizeInBytes", "FilePath"])?;
            let fields = Fields(source);
            let bytes = fields.optional("SizeInBytes")?.ok_or_else(|| missing("SizeInBytes"))?;
            let file = fields.text("FilePath")?.filter(|path| !path.is_empty()).map(str::to_owned);
            Ok(WriteBuffer::Random { bytes, file })
        }
        Some(other) => Err(value("Pattern", other, "write zero, sequential or random")),
    }
}

fn read_access(element: &Element, block_bytes: u32) -> Result<Access, ProfileError> {
    let fields = Fields(element);
    let align: Option<u64> = fields.optional("Random")?;
    let share: Option<u32> = fields.optional("RandomRatio")?;
    let distribution = element.child("Distribution")?.map(read_distribution).transpose()?;
    let stride: Option<u64> = fields.optional("StrideSize")?;
    let mut interlocked = false;
    fields.flag("InterlockedSequential", &mut interlocked)?;
    let Some(align_bytes) = align else {
        let lonely = [("RandomRatio", share.is_some()), ("Distribution", distribution.is_some())];
        if let Some((name, _)) = lonely.iter().find(|(_, given)| *given) {
            return Err(value(name, "", "it needs random access: <Random> is missing"));
        }
        let stride_bytes = stride.unwrap_or(u64::from(block_bytes));
        return Ok(Access::Sequential { stride_bytes, interlocked });
    };
    if stride.is_some() || interlocked {
        return Err(value(
            "Random",
            &align_bytes.to_string(),
            "<StrideSize> and <InterlockedSequential> are sequential",
        ));
    }
    let random_pct = match share {
        None => 100,
        Some(share @ 1..=99) => share,
        Some(share) => return Err(value("RandomRatio", &share.to_string(), "write 1 to 99")),
    };
    Ok(Access::Random { align_bytes, random_pct, distribution })
}

fn read_distribution(element: &Element) -> Result<Distribution, ProfileError> {
    element.only(&["Percent", "Absolute"])?;
    let (kind, list) = match (element.child("Percent")?, element.child("Absolute")?) {
        (Some(list), None) => (SpanKind::Percent, list),
        (None, Some(list)) => (SpanKind::Absolute, list),
        _ => return Err(value("Distribution", "", "write either <Percent> or <Absolute>")),
    };
    list.only(&["Range"])?;
    let read_range = |range: &Element| {
        let missing = || ProfileError::Missing { parent: range.name.clone(), name: "IO" };
        let io_pct = parsed("IO", range.attribute("IO").ok_or_else(missing)?)?;
        Ok(DistributionRange { io_pct, span: parsed("Range", &range.text)? })
    };
    let ranges: Vec<_> = list.children.iter().map(read_range).collect::<Result<_, ProfileError>>()?;
    if ranges.is_empty() {
        return Err(ProfileError::Missing { parent: list.name.clone(), name: "Range" });
    }
    Ok(Distribution::complete(kind, ranges))
}

fn read_throughput(element: &Element) -> Result<Option<Throughput>, ProfileError> {
    let Some(throughput) = element.child("Throughput")? else { return Ok(None) };
    let rate: f64 = parsed(&throughput.name, &throughput.text)?;
    if !(rate.is_finite() && rate >= 0.0) {
        return Err(value(&throughput.name, &throughput.text, "write a number from 0"));
    }
    if rate <= 0.0 {
        return Ok(None);
    }
    match throughput.attribute("unit") {
        None | Some("BPMS") => Ok(Some(Throughput::BytesPerMs(rate))),
        Some("IOPS") => Ok(Some(Throughput::Iops(rate))),
        Some(other) => Err(value("unit", other, "write BPMS or IOPS")),
    }
}

fn read_thread_target(element: &Element) -> Result<ThreadTarget, ProfileError> {
    element.only(&["Thread", "Weight"])?;
    let fields = Fields(element);
    let missing = || ProfileError::Missing { parent: element.name.clone(), name: "Thread" };
    Ok(ThreadTarget {
        thread: fields.optional("Thread")?.ok_or_else(missing)?,
        weight: fields.optional("Weight")?,
    })
}

struct Fields<'a>(&'a Element);

impl<'a> Fields<'a> {
    /// Unchanged text: a path may begin or end with a blank.
    fn text(&self, name: &str) -> Result<Option<&'a str>, ProfileError> {
        Ok(self.0.child(name)?.map(|child| child.text.as_str()))
    }

    fn optional<T: FromStr>(&self, name: &str) -> Result<Option<T>, ProfileError> {
        self.text(name)?.map(|text| parsed(name, text)).transpose()
    }

    fn number<T: FromStr>(&self, name: &str, into: &mut T) -> Result<(), ProfileError> {
        if let Some(number) = self.optional(name)? {
            *into = number;
        }
        Ok(())
    }

    fn flag(&self, name: &str, into: &mut bool) -> Result<(), ProfileError> {
        match self.text(name)?.map(str::trim) {
            None => {}
            Some("true") => *into = true,
            Some("false") => *into = false,
            Some(other) => return Err(value(name, other, "write true or false")),
        }
        Ok(())
    }

    fn word<T: Copy>(&self, name: &str, words: &[(T, &str)]) -> Result<Option<T>, ProfileError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        if let Some((meaning, _)) = words.iter().find(|(_, word)| *word == text.trim()) {
            return Ok(Some(*meaning));
        }
        let wanted: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
        Err(value(name, text, &format!("write one of {}", wanted.join(", "))))
    }
}

fn parsed<T: FromStr>(name: &str, text: &str) -> Result<T, ProfileError> {
    text.trim().parse().map_err(|_| value(name, text, "write a number that fits"))
}

fn value(name: &str, text: &str, wanted: &str) -> ProfileError {
    ProfileError::Value { name: name.to_owned(), value: shorten(text), wanted: wanted.to_owned() }
}

/// Enough of a text to recognise it in a message.
fn shorten(text: &str) -> String {
    text.chars().take(60).collect()
}
