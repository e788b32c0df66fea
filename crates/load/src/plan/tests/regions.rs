//! Regions of a target, and what does not fit in them.

use iostall_measure::Percent;

use super::*;

#[test]
fn a_percentage_never_cuts_a_page_and_neighbours_never_overlap() {
    for size in [1 << 30, (1 << 30) + 12_345, 987_654_321] {
        let data = region_in(&role("block-size = '8K'\nregion = '0%..90%'"), size, 512);
        let log = region_in(&role("block-size = '512'\nregion = '90%..100%'"), size, 512);
        assert_eq!((data.1 % 8192, log.0 % 4096), (0, 0));
        assert!(data.1 <= log.0 && log.0 - data.1 <= 8192);
        assert!(log.1 <= size && size - log.1 < 512);
    }
    let bytes = region_in(&role("block-size = '8K'\nregion = '1000..20000'"), 1 << 20, 512);
    assert_eq!(bytes, (1024, 19_968), "bounds in bytes are kept but for the sector");
}

#[test]
fn what_does_not_fit_is_refused_with_what_to_do() {
    let refusal =
        |fields: &str, at: StreamPlace| StreamPlan::new(&role(fields), at, None).unwrap_err().to_string();
    let message = refusal("block-size = '1M'\nregion = '50%..'", place(1 << 20));
    assert!(message.contains("role \"data\": a block of 1 MiB does not fit"), "{message}");
    assert!(message.contains("larger target"), "{message}");
    let message = refusal("block-size = '4K'", place(0));
    assert!(message.contains("does not fit"), "{message}");

    let coarse = StreamPlace { sector_align: 4096, ..place(1 << 20) };
    let message = refusal("block-size = '4K:1,512:1'", coarse);
    assert!(message.contains("block-size 512 B is not a multiple of 4 KiB"), "{message}");
    let message = refusal("block-size = '4K'\nalign = 512", coarse);
    assert!(message.contains("align 512 B"), "{message}");

    let many = StreamPlace { workers: 8, worker_index: 7, ..place(4 * 65536) };
    let message = refusal("block-size = '64K'\naccess = 'sequential'", many);
    assert!(message.contains("cut among 8 workers"), "{message}");
    let message = refusal("block-size = '64K'\naccess = 'sequential'\nworker-offset = '64K'", many);
    assert!(message.contains("worker 7 would start 448 KiB into a region of 256 KiB"), "{message}");
}

#[test]
fn a_region_in_percent_holds_no_more_than_its_share() {
    let role = role("block-size = '8K'\nregion = '25%..50%'");
    assert_eq!(role.write_pct, Percent::ZERO);
    let found = StreamPlan::new(&role, place(1 << 24), None).map(|mut plan| requests(&mut plan, 10_000));
    let inside = 1 << 22..(1 << 23) - 8191;
    assert!(found.unwrap().iter().all(|request| inside.contains(&request.offset)));
}
