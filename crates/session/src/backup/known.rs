//! What the store knows of backups.

use std::collections::BTreeMap;

use iostall_model::backup::source_key;
use iostall_model::backup_entry::{BackupEntry, BackupState};
use iostall_model::retention::Proof;
use iostall_model::stripe::BackupDamage;
use iostall_model::{
    BackupOutcome, BackupVerifyOutcome, DrillOutcome, Newest, RestoreOutcome, Run, RunNumber,
};
use iostall_store::{Filter, Selector, Store, StoreError};
use jiff::Timestamp;

use super::create::STANDARD_INPUT;

#[derive(Debug, Default)]
pub struct KnownSets {
    sets: BTreeMap<String, Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    made: Option<(RunNumber, Made)>,
    proof: Proof,
}

#[derive(Clone, Debug)]
struct Made {
    /// [`iostall_model::backup::source_key`]
    key: Option<String>,
    entry: BackupEntry,
}

impl KnownSets {
    /// Reads the runs of backups, restores and checks. One that cannot be read, such as that of a newer iostall, is passed over.
    pub fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut known = Self::default();
        let mut entries = Vec::new();
        for kind in ["backup", "restore", "backup-verify", "backup-drill"] {
            let filter = Filter { kind: Some(kind.to_owned()), ..Filter::default() };
            entries.extend(store.list(&filter)?);
        }
        // Oldest first: what was found last counts, whichever way it was found.
        entries.sort_by_key(|entry| (entry.started_utc, entry.number));
        for entry in entries {
            if let Ok(stored) = store.get(&Selector::Number(entry.number.0)) {
                known.add(stored.number, &stored.run);
            }
        }
        Ok(known)
    }

    fn add(&mut self, number: RunNumber, run: &Run) {
        if let Some(outcome) = run.body.as_kind::<BackupOutcome>() {
            self.add_made(number, run, outcome);
        } else if let Some(outcome) = run.body.as_kind::<RestoreOutcome>() {
            // Where a part was asked for, the rest of the stripes was not read.
            let all = outcome.is_whole && outcome.only.is_none();
            self.prove(&outcome.set, all, &outcome.damage);
        } else if let Some(outcome) = run.body.as_kind::<BackupVerifyOutcome>() {
            let all = !outcome.headers_only && !outcome.without_key && !run.interrupted;
            self.prove(&outcome.set, all, &outcome.damage);
        } else if let Some(outcome) = run.body.as_kind::<DrillOutcome>() {
            self.drilled(run, outcome);
        }
    }

    /// A drill that failed for another reason than damage, such as a server that does not start here, leaves the set as it was.
    fn drilled(&mut self, run: &Run, outcome: &DrillOutcome) {
        let is_good = outcome.is_good() && !run.interrupted;
        self.prove(&outcome.set, is_good, &outcome.damage);
        // Files without an engine were only read back.
        if is_good
            && !outcome.engines.is_empty()
            && let Some(known) = self.sets.get_mut(&outcome.set)
        {
            known.proof = Proof::Drilled;
        }
    }

    fn add_made(&mut self, number: RunNumber, run: &Run, outcome: &BackupOutcome) {
        let Some(set) = outcome.set.clone().filter(|_| outcome.is_whole()) else { return };
        let source = source_of(run, outcome);
        let key = key_of(run, outcome);
        let entry = BackupEntry {
            set: set.clone(),
            created_utc: Some(run.started_utc),
            source: Some(source),
            key: key.clone(),
            base: outcome.bases.first().cloned(),
            state: BackupState::OnRecord,
            wrong: String::new(),
            proof: Proof::Unproven,
            content_warnings: if outcome.content_warnings.is_empty() {
                outcome.bad_pages.clone()
            } else {
                outcome.content_warnings.clone()
            },
            is_encrypted: outcome.shape.encryption.is_some(),
            object_lock: outcome.object_lock,
            legal_hold: false,
            left: None,
            size_bytes: Some(outcome.bytes),
            stored_bytes: outcome.stored_bytes,
            stripes: u16::try_from(outcome.stripes.len()).unwrap_or(u16::MAX),
            path: outcome.manifest.clone(),
            files: outcome.stripes.iter().map(|stripe| stripe.path.clone()).collect(),
            run: Some(number.into()),
        };
        self.sets.entry(set).or_default().made = Some((number, Made { key, entry }));
    }

    /// What is missing or wrong in a set that it is based on proves nothing, and is no damage of its own. Nor is a stripe that was
    /// not there: it may be on a disk that was not mounted.
    fn prove(&mut self, set: &str, all: bool, damage: &[BackupDamage]) {
        let is_damaged = damage.iter().any(|one| one.base.is_none() && !one.is_missing);
        let all = all && damage.is_empty();
        let known = self.sets.entry(set.to_owned()).or_default();
        match (is_damaged, all) {
            (true, _) => known.proof = Proof::Damaged,
            // Who has seen a database start from it knows more.
            (false, true) => {
                known.proof = if known.proof == Proof::Drilled { Proof::Drilled } else { Proof::Verified }
            }
            // A glance at a part neither proves the whole nor takes a proof back.
            (false, false) => {}
        }
    }

    pub fn proof(&self, set: &str) -> Proof {
        self.sets.get(set).map_or(Proof::Unproven, |known| known.proof)
    }

    /// What it is a backup of, as the run that made it says.
    pub fn source(&self, set: &str) -> Option<&str> {
        self.sets.get(set)?.made.as_ref()?.1.entry.source.as_deref()
    }

    /// What it is compared with others by, as the run that made it says.
    pub fn key(&self, set: &str) -> Option<&str> {
        self.sets.get(set)?.made.as_ref()?.1.key.as_deref()
    }

    pub fn content_warnings(&self, set: &str) -> Vec<String> {
        let made = self.sets.get(set).and_then(|known| known.made.as_ref());
        made.map(|(_, made)| made.entry.content_warnings.clone()).unwrap_or_default()
    }

    pub fn run(&self, set: &str) -> Option<RunNumber> {
        Some(self.sets.get(set)?.made.as_ref()?.0)
    }

    /// Whether `set` is the newest backup of its source: `key` and `created` are what the set itself says, and the store knows them
    /// of the sets that it has seen made. One that was found damaged is no newer backup.
    pub fn newest(&self, set: &str, key: Option<&str>, created: Timestamp) -> Newest {
        let own = self.sets.get(set).and_then(|known| known.made.as_ref());
        let Some(key) = key.or_else(|| self.key(set)) else { return Newest::Unknown };
        let created = own.and_then(|(_, made)| made.entry.created_utc).unwrap_or(created);
        let of_source = || {
            self.sets.iter().filter_map(|(id, known)| {
                let (number, made) = known.made.as_ref()?;
                let is_good = known.proof != Proof::Damaged && made.key.as_deref() == Some(key);
                is_good.then_some((made.entry.created_utc?, id.as_str(), *number))
            })
        };
        let Some((at, id, number)) = of_source().max() else { return Newest::Unknown };
        if id == set || at <= created {
            return Newest::Known;
        }
        let because = format!("run {number} made a newer one of the same source on {}", at.strftime("%F"));
        Newest::Older { set: id.to_owned(), because }
    }

    /// The increments that runs have made on `base`.
    pub fn increments_on<'a>(&'a self, base: &'a str) -> impl Iterator<Item = &'a BackupEntry> {
        let made = self.sets.values().filter_map(|known| Some(&known.made.as_ref()?.1.entry));
        made.filter(move |entry| entry.base.as_deref() == Some(base))
    }

    pub fn entries(&self) -> Vec<BackupEntry> {
        let made = self.sets.values().filter_map(|known| {
            let entry = known.made.as_ref()?.1.entry.clone();
            Some(BackupEntry { proof: known.proof, ..entry })
        });
        let mut entries: Vec<BackupEntry> = made.collect();
        entries.sort_by(|one, other| (one.created_utc, &one.set).cmp(&(other.created_utc, &other.set)));
        entries
    }
}

/// What a backup is of, for a reader: two hosts may have a database of the same name.
pub(super) fn source_of(run: &Run, outcome: &BackupOutcome) -> String {
    format!("{}: {}", run.host.hostname, outcome.sources.join(", "))
}

pub(super) fn key_of(run: &Run, outcome: &BackupOutcome) -> Option<String> {
    let is_old_stream =
        outcome.identities.is_empty() && outcome.sources.iter().any(|source| source == STANDARD_INPUT);
    source_key(&source_of(run, outcome), &outcome.identities).filter(|_| !is_old_stream)
}

#[cfg(test)]
mod tests {
    use iostall_measure::RunClock;
    use iostall_model::RunBody;

    use super::*;
    use crate::recorder::{Ended, Program, RunRecorder};

    fn run(body: RunBody) -> Run {
        let recorder = RunRecorder::begin(Program::default(), RunClock::of_machine());
        let (name, targets, warnings) = ("set".to_owned(), Vec::new(), Vec::new());
        recorder.finish(Ended { name, targets, warnings, interrupted: false, body })
    }

    fn drill(engine: Option<&str>) -> DrillOutcome {
        let engines = engine.into_iter().map(str::to_owned).collect();
        DrillOutcome { set: "a".into(), engines, is_complete: true, ..DrillOutcome::default() }
    }

    /// Prune let the only backup go that a database had been started from, because it was verified once more after that.
    #[test]
    fn a_set_stays_drilled_until_it_is_found_damaged() {
        let proofs = |outcomes: Vec<RunBody>| {
            let mut known = KnownSets::default();
            for body in outcomes {
                known.add(RunNumber(1), &run(body));
            }
            known.proof("a")
        };
        let drilled = |engine| RunBody::BackupDrill(Box::new(drill(engine)));
        let verified = |damage| {
            let outcome = BackupVerifyOutcome { set: "a".into(), damage, ..BackupVerifyOutcome::default() };
            RunBody::BackupVerify(Box::new(outcome))
        };
        assert_eq!(proofs(vec![drilled(Some("PostgreSQL 15.8")), verified(Vec::new())]), Proof::Drilled);
        assert_eq!(proofs(vec![drilled(None)]), Proof::Verified, "no engine was started");
        let of_base = BackupDamage { base: Some("b".into()), ..BackupDamage::default() };
        assert_eq!(proofs(vec![verified(vec![of_base])]), Proof::Unproven, "its base was not there");
        // The story: the disk with the second stripe was not mounted for one night, and the next clean-up took the set for damaged.
        let missing = BackupDamage { is_missing: true, ..BackupDamage::default() };
        let drilled_and = |damage| proofs(vec![drilled(Some("PostgreSQL 15.8")), verified(damage)]);
        assert_eq!(drilled_and(vec![missing.clone()]), Proof::Drilled);
        assert_eq!(drilled_and(vec![missing, BackupDamage::default()]), Proof::Damaged);
        let damaged = verified(vec![BackupDamage::default()]);
        assert_eq!(proofs(vec![drilled(Some("PostgreSQL 15.8")), damaged]), Proof::Damaged);
        let failed = DrillOutcome { is_complete: false, ..drill(Some("PostgreSQL 15.8")) };
        assert_eq!(proofs(vec![RunBody::BackupDrill(Box::new(failed))]), Proof::Unproven);
    }

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).unwrap()
    }

    /// Backups of two sources: `a` and `b` of the shop, `x` of the archive.
    fn known() -> KnownSets {
        let mut known = KnownSets::default();
        for (number, set, source, day) in
            [(1, "a", "db1: shop", 1), (2, "b", "db1: shop", 2), (3, "x", "db1: old", 9)]
        {
            let entry = BackupEntry {
                set: set.into(),
                created_utc: Some(at(day)),
                source: Some(source.into()),
                key: Some(source.into()),
                base: None,
                state: BackupState::OnRecord,
                wrong: String::new(),
                proof: Proof::Unproven,
                content_warnings: Vec::new(),
                is_encrypted: false,
                object_lock: None,
                legal_hold: false,
                left: None,
                size_bytes: None,
                stored_bytes: 0,
                stripes: 1,
                path: None,
                files: Vec::new(),
                run: None,
            };
            let made = Made { key: Some(source.into()), entry };
            known.sets.entry(set.into()).or_default().made = Some((RunNumber(number), made));
        }
        known
    }

    /// The story: last month's set was put in the place of yesterday's. It was whole, and was restored.
    #[test]
    fn an_older_set_is_named_by_what_made_a_newer_one_of_the_same_source() {
        let mut known = known();
        let Newest::Older { set, because } = known.newest("a", None, at(1)) else { panic!("a is older") };
        assert_eq!((set.as_str(), because.contains("run #2 made a newer one")), ("b", true), "{because}");
        assert_eq!(known.newest("b", None, at(2)), Newest::Known);
        assert_eq!(known.newest("x", None, at(9)), Newest::Known);
        // What was made elsewhere says itself what it is of.
        assert!(matches!(known.newest("c", Some("db1: shop"), at(1)), Newest::Older { .. }));
        assert_eq!(known.newest("c", Some("db1: shop"), at(3)), Newest::Known);
        assert_eq!(known.newest("c", Some("db2: shop"), at(1)), Newest::Unknown);
        assert_eq!(known.newest("c", None, at(1)), Newest::Unknown);
        known.prove("b", true, &[BackupDamage::default()]);
        assert_eq!(known.newest("a", None, at(1)), Newest::Known, "a damaged one is of no use");
    }
}
