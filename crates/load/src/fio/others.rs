//! fio's options that have no effect here, those that are not done as fio does them, and those that nothing here does.

use super::error::FioError;

/// How fio counts, prints, prepares and hands over: what is measured is the same.
const NO_EFFECT: &str = "
    group_reporting thread threads randrepeat allrandrepeat refill_buffers scramble_buffers fallocate create_on_open create_serialize
    create_fsync eta eta_newline eta_interval status_interval new_group gtod_reduce gtod_cpu clocksource disable_lat disable_clat
    disable_slat disable_bw disable_bw_measurement lat_percentiles clat_percentiles slat_percentiles percentile_list
    significant_figures unified_rw_reporting write_bw_log write_lat_log write_iops_log write_hist_log log_avg_msec log_hist_msec
    log_hist_coarseness log_entries log_max_value log_offset log_prio log_compression log_compression_cpus log_store_compressed
    log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id per_job_logs iodepth_low fixedbufs registerfiles nonvectored
    minimal bandwidth_log bwavgtime iopsavgtime mem iomem hugepage_size unit_base continue_on_error ignore_error error_dump
    max_jobs warnings_fatal terse_version do_verify verify_fatal verify_dump verify_async overwrite openfiles disk_util stats
    unique_filename lockmem exitall_on_error block_error_percentiles softrandommap idle_prof write_barrier dedupe_mode
    dedupe_global allow_mounted_write";

/// What does something else than in fio, with the values that do nothing there, and what is otherwise.
const OTHERWISE: [(&str, &[&str], &str); 16] = [
    ("end_fsync", &["0"], "fio's bandwidth includes a last fsync, and these figures do not (end_fsync)"),
    (
        "fsync_on_close",
        &["0"],
        "fio's bandwidth includes a last fsync, and these figures do not (fsync_on_close)",
    ),
    ("unlink", &["0"], "its files stay (unlink)"),
    ("unlink_each_loop", &["0"], "its files stay (unlink_each_loop)"),
    ("fadvise_hint", &["1", "none", "0"], "the kernel is not told how it reads (fadvise_hint)"),
    ("iodepth_batch", &["1"], "requests are handed over as they come (iodepth_batch)"),
    ("iodepth_batch_submit", &["1"], "requests are handed over as they come (iodepth_batch_submit)"),
    ("iodepth_batch_complete", &["1", "0"], "completions are taken as they come (iodepth_batch_complete)"),
    (
        "iodepth_batch_complete_min",
        &["1", "0"],
        "completions are taken as they come (iodepth_batch_complete_min)",
    ),
    ("iodepth_batch_complete_max", &["1"], "completions are taken as they come (iodepth_batch_complete_max)"),
    ("hipri", &["0"], "completions are not polled for (hipri)"),
    ("sqthread_poll", &["0"], "the kernel does not poll for requests (sqthread_poll)"),
    ("userspace_reap", &["0"], "completions are taken by io_uring (userspace_reap)"),
    ("force_async", &["0"], "the kernel decides what it does at once (force_async)"),
    ("uncached", &["0"], "the page cache keeps what was read (uncached)"),
    ("pre_read", &["0"], "its files are not read beforehand (pre_read)"),
];

const VERIFY: &str = "a load does not read back what it wrote; iostall copy --verify checks files";
const BY_TIME: &str = "a load ends by time, or with its size (size, loops)";
const RATE_SEARCH: &str = "iostall sweep --max-rate --p99 5ms finds the rate that is answered in time";
const PAUSES: &str = "pauses are a role's burst, in a profile (--profile)";
const MIN_RATE: &str = "a rate that is not kept is told with what waited";
const REPLAY: &str = "a recorded sequence is not played here";
const DATA: &str = "data cannot be compressed, or by as much as --compressible-pct says";
const ZONES: &str = "parts of a target are a region: --region 0%..10%";
const STEADY: &str = "iostall sweep measures until its interval is narrow enough";
const NOTHING: &str = "nothing here does it";

/// Of [`NO_EQUAL`], those that `0` leaves as they are without a word: elsewhere it is a processor, a user or a pattern.
const OFF_AT_0: &str = "
    verify experimental_verify verify_only verify_backlog verify_backlog_batch verify_state_load
    latency_target latency_window latency_run max_latency number_ios io_size io_limit fill_device thinktime thinktime_spin
    thinktime_iotime rate_min ratemin rate_iops_min rate_ignore_thinktime bs_unaligned bs_is_seq_rand startdelay zonesize zonerange
    zoneskip zonecapacity read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits zone_reset_threshold
    zone_reset_frequency read_iolog_chunked replay_no_stall replay_align dedupe_percentage ss_dur steadystate_duration
    steadystate_ramp_time atomic nice ramp_size trim_percentage trim_backlog trim_backlog_batch offset_align file_append create_only
    serialize_overlap cgroup_nodelete flow_id flow flow_sleep cmdprio_percentage";

/// What nothing here does, with fio's own values of it beside those of [`OFF_AT_0`], and why, or what does it instead.
#[rustfmt::skip]
const NO_EQUAL: &[(&str, &[&str], &str)] = &[
    ("verify", &[], VERIFY), ("experimental_verify", &[], VERIFY), ("verify_only", &[], VERIFY), ("verify_interval", &[], VERIFY),
    ("verify_offset", &[], VERIFY), ("verify_pattern", &[], VERIFY), ("verify_backlog", &[], VERIFY),
    ("verify_backlog_batch", &[], VERIFY), ("verify_state_load", &[], VERIFY), ("verify_state_save", &["1"], VERIFY),
    ("latency_target", &[], RATE_SEARCH), ("latency_percentile", &["100", "100.0"], RATE_SEARCH), ("latency_window", &[], RATE_SEARCH),
    ("latency_run", &[], RATE_SEARCH), ("max_latency", &[], "a limit is --require 'p99<5ms'"),
    ("number_ios", &[], BY_TIME), ("io_size", &[], BY_TIME), ("io_limit", &[], BY_TIME), ("fill_device", &[], BY_TIME),
    ("thinktime", &[], PAUSES), ("thinktime_blocks", &["1"], PAUSES), ("thinktime_spin", &[], PAUSES),
    ("thinktime_blocks_type", &["complete"], PAUSES), ("thinktime_iotime", &[], PAUSES),
    ("rate_min", &[], MIN_RATE), ("ratemin", &[], MIN_RATE), ("rate_iops_min", &[], MIN_RATE), ("rate_cycle", &["1000"], MIN_RATE),
    ("rate_ignore_thinktime", &[], PAUSES),
    ("bsrange", &[], "sizes are drawn by weight: --block-size 8K:80,64K:20"), ("bs_unaligned", &[], "--block-size takes any size"),
    ("bs_is_seq_rand", &[], "random and sequential requests of a role share their sizes"),
    ("cpus_allowed", &[], "start it under taskset, or pin workers in a profile"), ("cpumask", &[], "start it under taskset, or pin workers in a profile"),
    ("cpus_allowed_policy", &["shared"], "start it under taskset, or pin workers in a profile"),
    ("numa_cpu_nodes", &[], "start it under numactl"), ("numa_mem_policy", &[], "start it under numactl"),
    ("startdelay", &[], "what runs together begins together; spans run one after the other"),
    ("zonemode", &["none"], "zoned devices have no writer here"), ("zonesize", &[], ZONES), ("zonerange", &[], ZONES), ("zoneskip", &[], ZONES),
    ("zonecapacity", &[], ZONES), ("read_beyond_wp", &[], ZONES), ("max_open_zones", &[], ZONES), ("job_max_open_zones", &[], ZONES),
    ("ignore_zone_limits", &[], ZONES), ("zone_reset_threshold", &[], ZONES), ("zone_reset_frequency", &[], ZONES),
    ("read_iolog", &[], REPLAY), ("write_iolog", &[], REPLAY), ("read_iolog_chunked", &[], REPLAY), ("replay_no_stall", &[], REPLAY),
    ("replay_redirect", &[], REPLAY), ("replay_scale", &["1"], REPLAY), ("replay_align", &[], REPLAY), ("replay_time_scale", &["100"], REPLAY),
    ("replay_skip", &[], REPLAY), ("merge_blktrace_file", &[], REPLAY), ("merge_blktrace_scalars", &[], REPLAY), ("merge_blktrace_iters", &[], REPLAY),
    ("buffer_pattern", &[], DATA), ("dedupe_percentage", &[], DATA), ("dedupe_working_set_percentage", &["5"], DATA),
    ("buffer_compress_chunk", &["512"], DATA),
    ("client", &[], "each host runs iostall for itself"), ("server", &[], "each host runs iostall for itself"),
    ("profile", &[], "fio's built-in profiles are not here: iostall profile list lists those of databases"),
    ("steadystate", &[], STEADY), ("ss", &[], STEADY), ("ss_dur", &[], STEADY), ("steadystate_duration", &[], STEADY), ("steadystate_ramp_time", &[], STEADY),
    ("atomic", &[], "nothing is written with RWF_ATOMIC"),
    ("nice", &[], "start it under nice"), ("prio", &[], "start it under ionice"), ("prioclass", &[], "start it under ionice"),
    ("exec_prerun", &[], "run it from a script"), ("exec_postrun", &[], "run it from a script"),
    ("section", &[], "take that section into a file of its own"), ("include", &[], "put the lines of the other file into this one"),
    ("ramp_size", &[], "the warm-up is a time: --warmup 10s"),
    ("trim_percentage", &[], "nothing is trimmed"), ("trim_verify_zero", &["1"], "nothing is trimmed"), ("trim_backlog", &[], "nothing is trimmed"),
    ("trim_backlog_batch", &[], "nothing is trimmed"),
    ("sync_file_range", &[], "write-back is left to the kernel, or forced by --sync-every"),
    ("kb_base", &["1024"], "sizes of job files are powers of 1024"),
    ("rw_sequencer", &["sequential"], "a stride is --stride; a share of jumps is --random-pct"),
    ("file_append", &[], "a load works within its file"), ("create_only", &[], "iostall load makes the file that is not there"),
    ("offset_align", &[], "write an offset that is a multiple of it"), ("filename_format", &["$jobname.$jobnum.$filenum"], "name each of the files (filename)"),
    ("opendir", &[], "name each of the files (filename)"), ("io_submit_mode", &["inline"], "each worker hands over its requests itself"),
    ("lockfile", &["none"], NOTHING), ("serialize_overlap", &[], NOTHING), ("write_hint", &["none"], NOTHING), ("ioscheduler", &[], NOTHING),
    ("exit_what", &["group"], NOTHING), ("cgroup", &[], NOTHING), ("cgroup_nodelete", &[], NOTHING), ("cgroup_weight", &[], NOTHING),
    ("uid", &[], NOTHING), ("gid", &[], NOTHING), ("flow_id", &[], NOTHING), ("flow", &[], NOTHING), ("flow_sleep", &[], NOTHING),
    ("cmdprio_percentage", &[], NOTHING),
];

/// What is not for every job is read with the job: see [`super::job`].
pub(super) enum Other {
    NoEffect,
    /// A sentence on what is otherwise.
    Otherwise(&'static str),
}

pub(super) fn no_equal(option: &str, reason: &'static str) -> FioError {
    FioError::NoEqual { option: option.to_owned(), reason }
}

fn is_off_at_0(name: &str) -> bool {
    OFF_AT_0.split_whitespace().any(|option| option == name)
}

/// What becomes of an option of these tables; refuses one that nothing here does, unless its value is fio's own.
pub(super) fn other(name: &str, value: Option<&str>) -> Result<Option<Other>, FioError> {
    if NO_EFFECT.split_whitespace().any(|option| option == name) {
        return Ok(Some(Other::NoEffect));
    }
    let value = value.map(str::trim).filter(|value| !value.is_empty()).unwrap_or("1");
    if let Some((_, without, said)) = OTHERWISE.iter().find(|(option, ..)| *option == name) {
        return Ok(Some(if without.contains(&value) { Other::NoEffect } else { Other::Otherwise(said) }));
    }
    match NO_EQUAL.iter().find(|(option, ..)| *option == name) {
        Some((_, own, _)) if own.contains(&value) || (value == "0" && is_off_at_0(name)) => {
            Ok(Some(Other::NoEffect))
        }
        Some((option, _, reason)) => Err(no_equal(option, reason)),
        None => Ok(None),
    }
}
