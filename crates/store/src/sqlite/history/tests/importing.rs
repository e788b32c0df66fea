//! The history of another database, taken over piece by piece.

use super::*;

const SAMPLES: u64 = 10;

/// The samples and the gap of piece `piece`, and how far it goes.
fn piece(piece: u64) -> (Vec<Sample>, Gap, ImportMark) {
    let ticks = piece * SAMPLES..(piece + 1) * SAMPLES;
    let samples: Vec<Sample> = ticks.clone().map(|tick| sample(tick, 4)).collect();
    let at = samples[0].taken.utc;
    let mark = ImportMark { sample: ticks.end.cast_signed(), taken: samples.last().unwrap().taken.utc };
    (samples, Gap { at, missed: 1, reason: "too slow".into() }, mark)
}

fn import(store: &mut SqliteHistory, number: u64) -> Result<Appended, StoreError> {
    let (samples, gap, mark) = piece(number);
    let mut batch = Batch::of(store.source("s")?, number + 1, &samples);
    (batch.gaps, batch.import) = (vec![gap], Some(mark));
    store.append(&batch)
}

/// Samples, gaps and the mark of `source`.
fn taken_over(store: &SqliteHistory, source: SourceId) -> (usize, usize, Option<ImportMark>) {
    let samples = match steps(store, source).len() {
        0 => usize::from(store.last_sample(source).unwrap().is_some()),
        steps => steps + 1,
    };
    (
        samples,
        store.gaps(source, Timestamp::MIN, Timestamp::MAX).unwrap().len(),
        store.import_mark(source).unwrap(),
    )
}

/// Samples were stored one by one and gaps after them: what failed in between lost the gaps for good, because the
/// next import began behind the samples.
#[test]
fn a_piece_whose_gaps_cannot_be_written_leaves_no_sample_either() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    import(&mut store, 0).unwrap();
    store.connection.execute_batch(include_str!("../../../../testdata/refuse_gaps.sql")).unwrap();
    let error = import(&mut store, 1).unwrap_err();
    assert!(error.to_string().contains("no room for gaps"), "{error}");
    assert_eq!(taken_over(&store, source), (10, 1, Some(piece(0).2)));
    store.connection.execute_batch(include_str!("../../../../testdata/take_gaps_again.sql")).unwrap();
    import(&mut store, 1).unwrap();
    assert_eq!(taken_over(&store, source), (20, 2, Some(piece(1).2)));
    store.finish().unwrap();
    let truth: u64 = [1, 2].iter().map(|file| 19 * (file % 17 + 1) * 3).sum();
    assert_eq!(reads(&rollups(&store, source, Tier::Hour)), truth, "and nothing of it twice");
}

/// Not a test of its own: what the process does that the next test kills.
#[test]
fn victim_that_imports_until_it_is_killed() {
    let Some(path) = std::env::var_os(VICTIM_STORE) else { return };
    let mut store = SqliteHistory::open(path).unwrap();
    let source = store.source("s").unwrap().id;
    // Begins with two that are there already, as one that has not heard of it would.
    for number in store.last_appended(source).unwrap().saturating_sub(2).. {
        import(&mut store, number).unwrap();
    }
}

#[test]
fn a_killed_import_has_whole_pieces_and_none_of_them_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("watch.db");
    let clock = MonotonicClock::new();
    // Only the mark is looked at while the victim writes: reading all that is there takes ever longer, and the victim writes
    // the more meanwhile.
    let mark_of =
        |store: &SqliteHistory, source| store.import_mark(source).unwrap().map_or(0, |mark| mark.sample);
    let mut marked = 0;
    for round in 0..6_u64 {
        let mut victim =
            victim("sqlite::history::tests::importing::victim_that_imports_until_it_is_killed", &path);
        let mut store = SqliteHistory::open(&path).unwrap();
        let source = store.source("s").unwrap().id;
        while mark_of(&store, source) <= marked {
            assert!(victim.try_wait().unwrap().is_none(), "the victim ended by itself");
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        clock.sleep_until(clock.now_ns() + round * 1_700_000);
        victim.kill().unwrap();
        victim.wait().unwrap();
        let (samples, gaps, mark) = taken_over(&store, source);
        let pieces = u64::try_from(gaps).unwrap();
        assert_eq!((samples, mark), (gaps * 10, Some(piece(pieces - 1).2)));
        for (tick, step) in (1..).zip(steps(&store, source)) {
            assert_eq!(step.sample.taken, sample(tick, 0).taken, "none is missing and none is there twice");
        }
        marked = mark_of(&store, source);
    }
    let mut store = SqliteHistory::open(&path).unwrap();
    let source = store.source("s").unwrap().id;
    store.finish().unwrap();
    let intervals = u64::try_from(marked - 1).unwrap();
    let truth: u64 = [1, 2].iter().map(|file| intervals * (file % 17 + 1) * 3).sum();
    assert_eq!(
        reads(&rollups(&store, source, Tier::Hour)),
        truth,
        "and each interval is in the roll-ups once"
    );
}
