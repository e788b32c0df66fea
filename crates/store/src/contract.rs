//! The contract of every store. Each implementation calls [`run_all`] in a test.

use iostall_measure::platform::Target;
use iostall_model::device::DeviceIdentity;
use iostall_model::{Run, RunBody};
use jiff::ToSpan;

use crate::entry::{Filter, RunNumber};
use crate::error::StoreError;
use crate::sample::{sample_epoch, sample_id, sample_run, thirty_second_run};
use crate::selector::Selector;
use crate::store::Store;

pub(crate) fn run_all<S: Store>(mut make_store: impl FnMut() -> S) {
    what_goes_in_comes_out_equal(make_store());
    a_path_that_is_not_utf8_comes_out_as_it_is_shown(make_store());
    a_run_is_kept_once(make_store());
    a_run_that_goes_on_is_kept_again_under_its_number_until_it_is_complete(make_store());
    an_entry_shows_what_the_run_says(make_store());
    listings_are_newest_first_by_start_and_not_by_arrival(make_store());
    each_filter_holds_and_they_hold_together(make_store());
    a_run_is_found_by_each_kind_of_name(make_store());
    a_piece_of_an_id_that_several_runs_share_lists_them(make_store());
    what_is_not_there_is_said_to_be_not_there(make_store());
    a_deleted_run_is_gone_and_its_number_is_not_given_again(make_store());
    what_a_device_gave_goes_with_its_run(make_store());
    an_export_is_the_document_and_a_newer_one_can_still_be_exported(make_store());
}

fn select(text: &str) -> Selector {
    text.parse().unwrap()
}

fn numbers(store: &impl Store, filter: &Filter) -> Vec<u32> {
    store.list(filter).unwrap().iter().map(|entry| entry.number.0).collect()
}

fn what_goes_in_comes_out_equal(mut store: impl Store) {
    let runs: Vec<Run> = (1..=5).map(sample_run).chain([thirty_second_run_of_its_own()]).collect();
    for run in &runs {
        let number = store.add(run).unwrap();
        let stored = store.get(&Selector::Number(number.0)).unwrap();
        assert_eq!(stored.number, number);
        assert_eq!(&stored.run, run);
    }
    // Still true with the others in the store.
    for run in &runs {
        assert_eq!(&store.get(&Selector::Id(run.id)).unwrap().run, run);
    }
}

/// [`thirty_second_run`] with an id that no other sample has.
fn thirty_second_run_of_its_own() -> Run {
    Run { id: sample_id(1000), ..thirty_second_run() }
}

fn a_path_that_is_not_utf8_comes_out_as_it_is_shown(mut store: impl Store) {
    use std::os::unix::ffi::OsStrExt;
    let mut run = sample_run(1);
    run.targets[0].path = std::ffi::OsStr::from_bytes(b"/data/caf\xe9").into();
    store.add(&run).unwrap();
    let shown = "/data/caf\u{fffd}";
    assert_eq!(store.get(&select("last")).unwrap().run.targets[0].path.to_str(), Some(shown));
    assert_eq!(store.last().unwrap().unwrap().targets, [shown]);
}

fn a_run_that_goes_on_is_kept_again_under_its_number_until_it_is_complete(mut store: impl Store) {
    let whole = Run { interrupted: false, ..sample_run(1) };
    let part = Run { interrupted: true, warnings: Vec::new(), ..whole.clone() };
    let other = store.add(&sample_run(2)).unwrap();
    let number = store.keep(&part).unwrap();
    assert_eq!(store.keep(&part).unwrap(), number);
    assert_eq!(store.get(&Selector::Id(part.id)).unwrap().run, part);
    assert_eq!(store.keep(&whole).unwrap(), number);
    let stored = store.get(&Selector::Number(number.0)).unwrap();
    assert_eq!(stored.run, whole);
    let entry = store.find(&Selector::Number(number.0)).unwrap();
    assert_eq!((entry.interrupted, entry.warning_count as usize), (false, whole.warnings.len()));
    // A measurement that is complete is never overwritten, and nothing else was touched.
    assert!(matches!(store.keep(&part), Err(StoreError::Exists { number: there, .. }) if there == number));
    assert_eq!(store.get(&Selector::Id(whole.id)).unwrap().run, whole);
    assert_eq!(store.get(&Selector::Number(other.0)).unwrap().run, sample_run(2));
}

fn what_a_device_gave_goes_with_its_run(mut store: impl Store) {
    let identity = |serial: &str| DeviceIdentity { serial: Some(serial.into()), ..DeviceIdentity::default() };
    for (number, serial) in [(1, "S1"), (2, "S2"), (3, "S1")] {
        let mut run = sample_run(number);
        run.targets = sample_run(1).targets;
        run.devices = vec![Some(identity(serial))];
        let RunBody::Load(load) = &mut run.body else { unreachable!("a sample is a load") };
        load.profile.spans[0].roles.truncate(1);
        load.spans[0].roles.truncate(1);
        store.add(&run).unwrap();
    }
    // Three roles at once: their shares of the device are unknown.
    store.add(&sample_run(4)).unwrap();
    let numbers = |device: Option<&str>, limit| -> Vec<u32> {
        store.capacities(device, limit).unwrap().iter().map(|capacity| capacity.number.0).collect()
    };
    assert_eq!(numbers(None, None), [3, 2, 1]);
    assert_eq!(numbers(Some("serial..S1"), None), [3, 1]);
    assert_eq!((numbers(Some("absent"), None), numbers(None, Some(1))), (vec![], vec![3]));
    let device = sample_run(1).targets[0].device.clone().unwrap().name;
    assert_eq!(numbers(Some(&device), None), [3, 2, 1]);
    let first = store.capacities(Some("serial..S2"), None).unwrap().remove(0);
    let summary = store.find(&select("2")).unwrap().summary;
    assert_eq!(first.record.best().map(|best| best.iops), summary.iops);
    assert_eq!(first.record.run, sample_id(2));
    store.delete(&select("2")).unwrap();
    assert_eq!(store.capacities(None, None).unwrap().len(), 2);
}

fn a_run_is_kept_once(mut store: impl Store) {
    let number = store.add(&sample_run(1)).unwrap();
    let mut other = sample_run(1);
    other.name = "forged".into();
    match store.add(&other) {
        Err(StoreError::Exists { id, number: there }) => assert_eq!((id, there), (other.id, number)),
        other => panic!("a second run of the same id gave {other:?}"),
    }
    assert_eq!(store.get(&select("last")).unwrap().run, sample_run(1));
}

fn an_entry_shows_what_the_run_says(mut store: impl Store) {
    let mut run = sample_run(3);
    run.targets.push(Target { path: "/backup/of \"it\"".into(), device: None, ..run.targets[0].clone() });
    let number = store.add(&run).unwrap();
    let entry = store.last().unwrap().unwrap();
    assert_eq!(store.find(&select("last")).unwrap(), entry);
    assert_eq!((entry.number, entry.id), (number, run.id));
    assert_eq!((entry.kind.as_str(), &entry.name), ("load", &run.name));
    assert_eq!((entry.started_utc, entry.ended_utc), (run.started_utc, run.ended_utc));
    assert_eq!((&entry.host, &entry.tool_version), (&run.host.hostname, &run.tool_version));
    assert_eq!((entry.interrupted, entry.warning_count), (run.interrupted, 2));
    assert_eq!(entry.targets, ["/data/t3.ibd", "/backup/of \"it\""]);
    assert_eq!(entry.summary, run.body.outcome().summary());
}

fn listings_are_newest_first_by_start_and_not_by_arrival(mut store: impl Store) {
    assert_eq!(store.last().unwrap(), None);
    // A whole second, and half a second later: as plain text `00.5Z` would sort before `00Z`.
    let mut whole = sample_run(4);
    whole.started_utc = sample_epoch();
    let mut half = sample_run(5);
    half.started_utc = sample_epoch() + 500.milliseconds();
    for run in [&sample_run(2), &sample_run(3), &half, &whole, &sample_run(1)] {
        store.add(run).unwrap();
    }
    assert_eq!(numbers(&store, &Filter::default()), [2, 1, 5, 3, 4]);
    assert_eq!(numbers(&store, &Filter { limit: Some(2), ..Filter::default() }), [2, 1]);
    assert!(numbers(&store, &Filter { limit: Some(0), ..Filter::default() }).is_empty());
    assert_eq!(store.last().unwrap().unwrap().number, RunNumber(2));
}

fn each_filter_holds_and_they_hold_together(mut store: impl Store) {
    for number in 1..=6 {
        let mut run = sample_run(number);
        if number > 3 {
            run.name = "scan".into();
        }
        store.add(&run).unwrap();
    }
    let named = |name: &str| Filter { name: Some(name.into()), ..Filter::default() };
    assert_eq!(numbers(&store, &named("scan")), [6, 5, 4]);
    assert!(numbers(&store, &named("sca")).is_empty());
    let kind = |kind: &str| Filter { kind: Some(kind.into()), ..Filter::default() };
    assert_eq!(numbers(&store, &kind("load")).len(), 6);
    assert!(numbers(&store, &kind("copy")).is_empty());
    let start = sample_run(3).started_utc;
    let since = Filter { since: Some(start), ..Filter::default() };
    assert_eq!(numbers(&store, &since), [6, 5, 4, 3], "since is inclusive");
    let until = Filter { until: Some(start), ..Filter::default() };
    assert_eq!(numbers(&store, &until), [2, 1], "until is exclusive");
    let target = |text: &str| Filter { target_contains: Some(text.into()), ..Filter::default() };
    assert_eq!(numbers(&store, &target("/t2.")), [2]);
    assert_eq!(numbers(&store, &target("nvme1n1")), [4, 1]);
    assert_eq!(numbers(&store, &target("Fast Drive")).len(), 6);
    assert!(numbers(&store, &target("%")).is_empty(), "no character is a wildcard");
    let together = Filter { limit: Some(1), ..Filter { target_contains: Some("nvme".into()), ..since } };
    assert_eq!(numbers(&store, &Filter { name: Some("oltp".into()), ..together }), [3]);
}

fn a_run_is_found_by_each_kind_of_name(mut store: impl Store) {
    for number in 1..=3 {
        store.add(&sample_run(number)).unwrap();
    }
    let id = sample_run(2).id.to_string();
    let digits = id.replace('-', "");
    let names = ["2", "#2", &id, &digits.to_uppercase(), &digits[..9], &id[..12], &digits[20..], "last~1"];
    for name in names {
        assert_eq!(store.find(&select(name)).unwrap().number, RunNumber(2), "{name}");
        assert_eq!(store.get(&select(name)).unwrap().run, sample_run(2), "{name}");
    }
}

fn a_piece_of_an_id_that_several_runs_share_lists_them(mut store: impl Store) {
    let mut runs = [sample_run(1), sample_run(2), sample_run(3)];
    let ids = [
        "0190abcd-0000-7000-8000-000000000001",
        "0190abcd-0000-7000-8000-000000000002",
        "0190ffff-0000-7000-8000-00000190abcd",
    ];
    for (run, id) in runs.iter_mut().zip(ids) {
        run.id = id.parse().unwrap();
        store.add(run).unwrap();
    }
    match store.find(&select("0190abcd")) {
        Err(error @ StoreError::Ambiguous { .. }) => {
            let text = error.to_string();
            assert!(ids.iter().all(|id| text.contains(id)) && text.contains("#3"), "{text}");
        }
        other => panic!("a shared piece gave {other:?}"),
    }
    assert!(matches!(store.delete(&select("0190abcd")), Err(StoreError::Ambiguous { .. })));
    assert_eq!(numbers(&store, &Filter::default()), [3, 2, 1]);
    assert_eq!(store.find(&select("0190ff")).unwrap().number, RunNumber(3));
}

fn what_is_not_there_is_said_to_be_not_there(mut store: impl Store) {
    let absent = |result: Result<(), StoreError>| matches!(result, Err(StoreError::NotFound { .. }));
    assert!(absent(store.find(&select("last")).map(drop)));
    store.add(&sample_run(1)).unwrap();
    for name in ["2", "last~1", "ffffff00", "01890a5d-ac96-774b-bcce-b302099a8057"] {
        assert!(absent(store.find(&select(name)).map(drop)), "{name}");
        assert!(absent(store.get(&select(name)).map(drop)), "{name}");
        assert!(absent(store.export(&select(name)).map(drop)), "{name}");
        assert!(absent(store.delete(&select(name)).map(drop)), "{name}");
    }
}

fn a_deleted_run_is_gone_and_its_number_is_not_given_again(mut store: impl Store) {
    for number in 1..=3 {
        store.add(&sample_run(number)).unwrap();
    }
    assert_eq!(store.delete(&select("last")).unwrap().number, RunNumber(3));
    assert_eq!(numbers(&store, &Filter::default()), [2, 1]);
    assert!(matches!(store.get(&select("3")), Err(StoreError::NotFound { .. })));
    let by_target = Filter { target_contains: Some("/t3.".into()), ..Filter::default() };
    assert!(numbers(&store, &by_target).is_empty());
    // The same run may be added again after it was deleted, as a new entry.
    assert_eq!(store.add(&sample_run(3)).unwrap(), RunNumber(4));
}

fn an_export_is_the_document_and_a_newer_one_can_still_be_exported(mut store: impl Store) {
    let mut run = sample_run(1);
    store.add(&run).unwrap();
    assert_eq!(store.export(&select("1")).unwrap(), serde_json::to_string(&run).unwrap());
    run = sample_run(2);
    run.schema_version += 1;
    store.add(&run).unwrap();
    assert_eq!(store.export(&select("2")).unwrap(), serde_json::to_string(&run).unwrap());
    let error = store.get(&select("2")).unwrap_err();
    assert!(error.hint().unwrap().contains("export"), "{error}");
}
