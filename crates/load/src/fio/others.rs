//! fio's options that have no effect here, and those that nothing here does.

use super::error::FioError;

/// How fio counts, prints, prepares and hands over: what is measured is the same.
const NO_EFFECT: &str = "
    time_based group_reporting thread norandommap randrepeat refill_buffers scramble_buffers invalidate fallocate
    create_on_open create_serialize create_fsync end_fsync fsync_on_close eta eta_newline eta_interval status_interval
    exitall new_group unlink allow_file_create gtod_reduce clocksource disable_lat disable_clat disable_slat disable_bw
    lat_percentiles clat_percentiles slat_percentiles percentile_list unified_rw_reporting write_bw_log write_lat_log
    write_iops_log write_hist_log log_avg_msec log_hist_msec per_job_logs iodepth_batch iodepth_batch_submit
    iodepth_batch_complete iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low hipri fixedbufs registerfiles
    nonvectored sqthread_poll random_generator minimal bandwidth_log readonly bwavgtime iopsavgtime mem iomem kb_base
    unit_base continue_on_error softrandommap userspace_reap force_async max_jobs warnings_fatal terse_version uncached
    do_verify verify_fatal overwrite openfiles";

/// What nothing here does, and why, or what does it instead.
const NO_EQUAL: [(&str, &str); 46] = [
    ("verify", "a load does not read back what it wrote; iostall copy --verify checks files"),
    ("latency_target", "iostall sweep --max-rate --p99 5ms finds the rate that is answered in time"),
    ("latency_percentile", "iostall sweep --max-rate --p99 5ms finds the rate that is answered in time"),
    ("latency_window", "iostall sweep --max-rate --p99 5ms finds the rate that is answered in time"),
    ("number_ios", "a load ends by time (--duration)"),
    ("io_size", "a load ends by time (--duration)"),
    ("io_limit", "a load ends by time (--duration)"),
    ("loops", "a load ends by time (--duration)"),
    ("nrfiles", "name each of the files"),
    ("thinktime", "pauses are a role's burst, in a profile (--profile)"),
    ("thinktime_blocks", "pauses are a role's burst, in a profile (--profile)"),
    ("rate_min", "a rate that is not kept is told with what waited"),
    ("bsrange", "sizes are drawn by weight: --block-size 8K:80,64K:20"),
    ("bs_unaligned", "--block-size takes any size"),
    ("cpus_allowed", "start it under taskset, or pin workers in a profile"),
    ("numa_cpu_nodes", "start it under numactl"),
    ("numa_mem_policy", "start it under numactl"),
    ("startdelay", "what runs together begins together; spans run one after the other"),
    ("zonemode", "zoned devices have no writer here"),
    ("zonesize", "parts of a target are a region: --region 0%..10%"),
    ("zonerange", "parts of a target are a region: --region 0%..10%"),
    ("read_iolog", "a recorded sequence is not played here"),
    ("replay_no_stall", "a recorded sequence is not played here"),
    ("buffer_pattern", "data cannot be compressed, or by as much as --compressible-pct says"),
    ("dedupe_percentage", "data cannot be compressed, or by as much as --compressible-pct says"),
    ("client", "each host runs iostall for itself"),
    ("server", "each host runs iostall for itself"),
    ("profile", "fio's built-in profiles are not here: iostall profile list lists those of databases"),
    ("steadystate", "iostall sweep measures until its interval is narrow enough"),
    ("ss", "iostall sweep measures until its interval is narrow enough"),
    ("ss_dur", "iostall sweep measures until its interval is narrow enough"),
    ("atomic", "nothing is written with RWF_ATOMIC"),
    ("nice", "start it under nice"),
    ("prio", "start it under ionice"),
    ("prioclass", "start it under ionice"),
    ("exec_prerun", "run it from a script"),
    ("exec_postrun", "run it from a script"),
    ("section", "take that section into a file of its own"),
    ("include", "put the lines of the other file into this one"),
    ("file_service_type", "requests go to the files of a job alike"),
    ("ramp_size", "the warm-up is a time: --warmup 10s"),
    ("trim_percentage", "nothing is trimmed"),
    ("offset_increment", "each worker has a piece of the target of its own"),
    ("idle_prof", "the processors are in every report"),
    ("sync_file_range", "write-back is left to the kernel, or forced by --sync-every"),
    ("experimental_verify", "a load does not read back what it wrote; iostall copy --verify checks files"),
];

pub(super) fn no_equal(option: &str, reason: &'static str) -> FioError {
    FioError::NoEqual { option: option.to_owned(), reason }
}

/// Whether `name` is an option without effect here; refuses one that nothing here does, unless it is switched off.
pub(super) fn without_effect(name: &str, value: Option<&str>) -> Result<bool, FioError> {
    if NO_EFFECT.split_whitespace().any(|option| option == name) {
        return Ok(true);
    }
    match NO_EQUAL.iter().find(|(option, _)| *option == name) {
        Some(_) if matches!(value.map(str::trim), Some("0" | "none")) => Ok(true),
        Some((option, reason)) => Err(no_equal(option, reason)),
        None => Ok(false),
    }
}
