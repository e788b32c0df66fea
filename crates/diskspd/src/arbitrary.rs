//! Random profiles and command lines for property tests.

use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::distribution::Distribution;
use super::profile::{
    Access, CacheMode, CpuAssignment, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, FlushKind, IoPriority,
    PrecreateFiles, ResultFormats, ThreadTarget, Throughput, WriteBuffer,
};

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..5000, (0_u32..41).prop_map(|shift| 1 << shift), 1_u64..u64::MAX]
}

fn access(block_bytes: u32) -> impl Strategy<Value = Access> {
    let distribution =
        select(vec!["pct90/10:10/90", "pct10/10:10/10:0/10", "abs10/1G:10/1G:0/100G", "abs100/5G"])
            .prop_map(move |text| Distribution::parse(text, block_bytes).ok());
    prop_oneof![
        (size(), 1_u32..=100, of(distribution)).prop_map(|(align_bytes, random_pct, distribution)| {
            Access::Random { align_bytes, random_pct, distribution: distribution.flatten() }
        }),
        (prop_oneof![Just(0), size()], any::<bool>())
            .prop_map(|(stride_bytes, interlocked)| Access::Sequential { stride_bytes, interlocked }),
    ]
}

fn throughput() -> impl Strategy<Value = Throughput> {
    prop_oneof![
        (1_u64..u64::MAX).prop_map(|rate| Throughput::BytesPerMs(rate as f64)),
        (0.001_f64..1e9).prop_map(Throughput::Iops),
    ]
}

fn write_buffer() -> impl Strategy<Value = WriteBuffer> {
    prop_oneof![
        Just(WriteBuffer::Ramp),
        Just(WriteBuffer::Zero),
        (size(), of("[a-z ,<&]{1,8}")).prop_map(|(bytes, file)| WriteBuffer::Random { bytes, file }),
    ]
}

/// Any target, including ones that DiskSpd would reject.
pub(super) fn target() -> impl Strategy<Value = DiskspdTarget> {
    let block = select(vec![512_u32, 4096, 8192, 65536, 61440, 1 << 20]);
    let shape = block.prop_flat_map(|block| (Just(block), access(block)));
    let flags = any::<[bool; 7]>();
    let cache = select(vec![CacheMode::Cached, CacheMode::NoOsCache, CacheMode::NoLocalCache]);
    let flush = of(select(FlushKind::ALL.map(|(flush, _)| flush).to_vec()));
    let ranges = (prop_oneof![Just(0), size()], prop_oneof![Just(0), size()], prop_oneof![Just(0), size()]);
    let counts = (1_u32..1000, 0_u32..=100, 1_u32..200, 1_u64..=3, 1_u32..10);
    let optional = (of(1_u32..1000), of(1_u32..1000), of(size()), of(throughput()));
    let places = prop::collection::vec((0_u32..9, of(1_u32..9)), 0..3);
    (
        "[A-Za-z0-9./ <>&\"'äß-]{1,20}",
        shape,
        flags,
        (cache, flush),
        ranges,
        counts,
        optional,
        write_buffer(),
        places,
    )
        .prop_map(
            |(
                path,
                (block_bytes, access),
                flags,
                (cache_mode, flush),
                ranges,
                counts,
                optional,
                buffer,
                places,
            )| {
                DiskspdTarget {
                    block_bytes,
                    access,
                    cache_mode,
                    flush,
                    sequential_scan: flags[0],
                    random_access: flags[1],
                    temporary_file: flags[2],
                    large_pages: flags[3],
                    write_through: flags[4],
                    memory_mapped: flags[5],
                    parallel_async: flags[6],
                    base_bytes: ranges.0,
                    max_bytes: ranges.1,
                    thread_stride_bytes: ranges.2,
                    request_count: counts.0,
                    write_pct: counts.1,
                    threads_per_file: counts.2,
                    io_priority: IoPriority::from_number(counts.3).unwrap_or_default(),
                    weight: counts.4,
                    burst_size: optional.0,
                    think_time_ms: optional.1,
                    create_bytes: optional.2,
                    throughput: optional.3,
                    write_buffer: buffer,
                    thread_targets: places
                        .into_iter()
                        .map(|(thread, weight)| ThreadTarget { thread, weight })
                        .collect(),
                    ..DiskspdTarget::new(path)
                }
            },
        )
}

fn time_span() -> impl Strategy<Value = DiskspdTimeSpan> {
    let cpus = prop::collection::vec((0_u16..3, any::<u8>()), 0..5);
    let numbers = (0_u32..9999, 0_u32..999, 0_u32..999, 0_u32..99, 0_u32..99, 1_u32..9999);
    (any::<[bool; 5]>(), numbers, any::<u32>(), cpus, prop::collection::vec(target(), 0..4)).prop_map(
        |(flags, numbers, seed, cpus, targets)| DiskspdTimeSpan {
            completion_routines: flags[0],
            measure_latency: flags[1],
            iops_stdev: flags[2],
            disable_affinity: flags[3],
            random_write_data: flags[4],
            duration_s: numbers.0,
            warmup_s: numbers.1,
            cooldown_s: numbers.2,
            thread_count: numbers.3,
            request_count: numbers.4,
            bucket_ms: numbers.5,
            seed,
            affinity: cpus.into_iter().map(|(group, processor)| CpuAssignment { group, processor }).collect(),
            targets,
        },
    )
}

/// Any profile, including ones that DiskSpd would reject.
pub(super) fn profile() -> impl Strategy<Value = DiskspdProfile> {
    let formats = select(vec![ResultFormats::TEXT, ResultFormats::XML, ResultFormats::BOTH]);
    let precreate = of(select(PrecreateFiles::ALL.map(|(precreate, _)| precreate).to_vec()));
    let spans = prop::collection::vec(time_span(), 0..3);
    (any::<u32>(), any::<u32>(), formats, any::<bool>(), any::<bool>(), precreate, spans).prop_map(|parts| {
        DiskspdProfile {
            progress: parts.0,
            experiment_flags: parts.1,
            result_formats: parts.2,
            verbose: parts.3,
            verbose_stats: parts.4,
            precreate_files: parts.5,
            time_spans: parts.6,
        }
    })
}

/// Options that are valid on their own, for every letter.
const OPTIONS: &str = "
    -b8K -b64K -b512 -B1G -B4b:100b -f10G -frs -c1G -C3 -d15 -W0 -D -D250 -F4 -t2 -t8 -o1 -o32 -O16
    -g100 -g2.5 -g1000i -i10 -j20 -I2 -l -L -n -a0,2 -p -P -P100 -r -r4K -rs30 -rdpct90/10:10/90
    -rdabs10/1G:0/2b -s -s0 -si -si128K -S -Sw -Suw -Sh -h -T1M -w -w30 -w100 -x -z -z42 -Z -Zr -Z4M
    -Z4M,source.bin -v -vs -Rxml -Rtext,xml -Rptext -:1 /L
";

/// Words that often, but not always, form a valid command line.
pub(super) fn words() -> impl Strategy<Value = Vec<String>> {
    let options = select(OPTIONS.split_whitespace().collect::<Vec<_>>());
    let targets = prop::collection::vec("[a-z]{1,8}(/[a-z .]{1,8})?", 1..3);
    (prop::collection::vec(options, 0..9), targets)
        .prop_map(|(options, targets)| options.into_iter().map(str::to_owned).chain(targets).collect())
}
