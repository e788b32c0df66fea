//! Which backups bring a database to a point: a full one, the last differential one on it, and the log backups that follow without a gap. Of
//! all full ones that is the one from which the others reach furthest: a later copy (COPY_ONLY) is no base, and hides nothing.

use iostall_connect::sqlserver::Columns;
use iostall_connect::{Address, Secret, Value};
use iostall_model::BackupHeader;
use iostall_model::sqlserver_backup::BackupDevice;
use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::backup::sqlserver::error::ChainError;
use crate::backup::sqlserver::server::{made_utc, text};
use crate::backup::sqlserver::verify::header;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// Which media set it is in, from 0.
    pub(super) media: usize,
    pub(super) backup: BackupHeader,
    pub(super) made_utc: Option<Timestamp>,
    /// `BackupSetGUID`, and of a differential one that of its base.
    pub(super) set: String,
    base: String,
    first_lsn: u128,
    last_lsn: u128,
    /// Changes where a database was restored to a point and went on from there; empty if not known.
    first_fork: String,
    fork: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Its place in the list.
    pub(super) index: usize,
    /// The point may be in the log backup before it, and then the server refuses this one.
    pub(super) may_be_beyond: bool,
}

impl Listed {
    pub(super) fn of(media: usize, row: &Columns) -> Self {
        Self {
            media,
            backup: header(row),
            made_utc: made_utc(row),
            set: text(row, "BackupSetGUID").to_lowercase(),
            base: text(row, "DifferentialBaseGUID").to_lowercase(),
            first_lsn: lsn(row, "FirstLSN"),
            last_lsn: lsn(row, "LastLSN"),
            first_fork: text(row, "FirstRecoveryForkID"),
            fork: text(row, "RecoveryForkID"),
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.backup.kind == kind
    }

    pub(super) fn named(&self) -> String {
        let BackupHeader { kind, position, started, is_copy_only, .. } = &self.backup;
        let kind = if kind == "log" { "log backup" } else { kind.as_str() };
        let copy = if *is_copy_only { " (COPY_ONLY)" } else { "" };
        format!("the {kind}{copy} of {started} (number {position} of its files)")
    }

    /// Whether it is over at `time`; where its end is not known, nobody can tell.
    fn is_over_at(&self, time: DateTime) -> bool {
        self.backup.finished.parse().is_ok_and(|finished: DateTime| finished <= time)
    }

    fn may_hold(&self, time: DateTime) -> bool {
        self.backup.finished.parse().is_ok_and(|finished: DateTime| finished >= time)
    }

    /// Whether its log surely goes beyond `time`: what it holds ends somewhere between its own beginning and end.
    fn surely_holds(&self, time: DateTime) -> bool {
        self.backup.started.parse().is_ok_and(|started: DateTime| started > time)
    }
}

fn lsn(row: &Columns, name: &str) -> u128 {
    let found = row.iter().find(|(column, _)| column == name);
    match found.map(|(_, value)| value) {
        Some(Value::Number(number)) => (*number).into(),
        Some(Value::Text(text)) => text.parse().unwrap_or(0),
        Some(Value::Missing) | None => 0,
    }
}

/// `database`: the name of the one that is meant, where the files hold backups of several.
pub(super) fn chain(
    all: &[Listed],
    target: &DrillTarget,
    database: Option<&str>,
) -> Result<Vec<Link>, ChainError> {
    let link = |index| Link { index, may_be_beyond: false };
    let wanted = match target {
        DrillTarget::Position(position) => Some(in_place(all, *position)?),
        DrillTarget::LastFull | DrillTarget::End | DrillTarget::Time(_) => None,
    };
    match wanted.map(|wanted| &all[wanted]) {
        Some(found) if found.is("full") => return Ok(wanted.into_iter().map(link).collect()),
        Some(found) if found.is("differential") => {
            let base = all.iter().position(|one| one.is("full") && one.set == found.base);
            let base = base.ok_or_else(|| ChainError::NoBase { named: found.named() })?;
            return Ok(std::iter::once(base).chain(wanted).map(link).collect());
        }
        _ => {}
    }
    let database = match wanted {
        Some(wanted) => all[wanted].backup.database.clone(),
        None => the_database(all, database)?,
    };
    let is_full =
        |index: &usize| all[*index].media == 0 && all[*index].is("full") && is_of(&all[*index], &database);
    let no_full = |before: String| ChainError::NoFull { backups: all.len(), before };
    let fulls: Vec<usize> = (0..all.len()).filter(is_full).collect();
    if *target == DrillTarget::LastFull {
        return Ok(vec![link(*fulls.last().ok_or(no_full(String::new()))?)]);
    }
    let is_before = |one: &Listed| match (target, wanted) {
        (DrillTarget::Time(time), _) => one.is_over_at(*time),
        (_, Some(wanted)) => one.last_lsn <= all[wanted].last_lsn,
        _ => true,
    };
    let bases = fulls.into_iter().filter(|index| is_before(&all[*index]));
    let chains = bases.map(|full| {
        let is_on_it = |one: &Listed| {
            one.is("differential") && one.base == all[full].set && is_of(one, &database) && is_before(one)
        };
        let differentials = (0..all.len()).filter(|index| is_on_it(&all[*index]));
        let differential = differentials.max_by_key(|index| all[*index].last_lsn);
        let mut links: Vec<Link> = std::iter::once(full).chain(differential).map(link).collect();
        let begins = links.last().map_or(0, |last| all[last.index].last_lsn);
        let added = add_logs(all, target, wanted, &mut links);
        let reaches = links.last().map_or(0, |last| all[last.index].last_lsn);
        // Of chains that reach as far the one with the least log.
        ((added.is_ok(), reaches, begins), added.map(|()| links))
    });
    let furthest = chains.max_by_key(|(rank, _)| *rank).map(|(_, links)| links);
    furthest.unwrap_or_else(|| match target {
        DrillTarget::Time(time) => Err(no_full(format!(" that had ended at {time}"))),
        _ => Err(no_full(String::new())),
    })
}

/// The one that is named, or else the only one that the files have full backups of.
fn the_database(all: &[Listed], only: Option<&str>) -> Result<String, ChainError> {
    if let Some(wanted) = only {
        let found = all.iter().find(|one| is_of(one, wanted));
        let missing = || ChainError::NoSuchDatabase { database: wanted.to_owned() };
        return found.map(|found| found.backup.database.clone()).ok_or_else(missing);
    }
    let mut names: Vec<&str> = Vec::new();
    for one in all.iter().filter(|one| one.media == 0 && one.is("full")) {
        if !names.iter().any(|name| is_of(one, name)) {
            names.push(&one.backup.database);
        }
    }
    match names.as_slice() {
        [] => Err(ChainError::NoFull { backups: all.len(), before: String::new() }),
        [one] => Ok((*one).to_owned()),
        several => Err(ChainError::SeveralDatabases { names: several.join(", ") }),
    }
}

fn in_place(all: &[Listed], position: u64) -> Result<usize, ChainError> {
    let found = all.iter().position(|one| one.media == 0 && one.backup.position == position);
    let found = found.ok_or(ChainError::NoSuchBackup { position, backups: all.len() })?;
    let kind = all[found].backup.kind.clone();
    if matches!(kind.as_str(), "full" | "differential" | "log") {
        Ok(found)
    } else {
        Err(ChainError::OtherKind { position, kind })
    }
}

fn is_of(one: &Listed, database: &str) -> bool {
    one.backup.database.to_lowercase() == database.to_lowercase()
}

fn add_logs(
    all: &[Listed],
    target: &DrillTarget,
    wanted: Option<usize>,
    links: &mut Vec<Link>,
) -> Result<(), ChainError> {
    while let Some(last) = links.last().map(|link| &all[link.index]) {
        let time = target.time();
        let is_reached = wanted.is_some_and(|wanted| last.last_lsn >= all[wanted].last_lsn)
            || (last.is("log") && time.is_some_and(|time| last.surely_holds(time)));
        if is_reached {
            return Ok(());
        }
        let may_be_reached = last.is("log") && time.is_some_and(|time| last.may_hold(time));
        let continues = |one: &Listed| {
            let is_of_fork = last.fork.is_empty() || one.first_fork.is_empty() || one.first_fork == last.fork;
            one.is("log") && is_of(one, &last.backup.database) && is_of_fork && one.last_lsn > last.last_lsn
        };
        let (joined, later): (Vec<usize>, Vec<usize>) = (0..all.len())
            .filter(|index| continues(&all[*index]))
            .partition(|index| all[*index].first_lsn <= last.last_lsn);
        let next = joined.into_iter().max_by_key(|index| all[*index].last_lsn);
        match (next, later.iter().map(|index| all[*index].first_lsn).min()) {
            (Some(index), _) => links.push(Link { index, may_be_beyond: may_be_reached }),
            (None, Some(next)) if !may_be_reached => {
                return Err(ChainError::Gap { at: last.last_lsn, named: last.named(), next });
            }
            (None, _) => {
                // It is of another branch of the database's history.
                if let Some(wanted) = wanted {
                    return Err(ChainError::NoBase { named: all[wanted].named() });
                }
                let Some(time) = time.filter(|time| !last.may_hold(*time)) else { return Ok(()) };
                let ended = last.backup.finished.clone();
                return Err(ChainError::TooShort { named: last.named(), ended, wanted: time.to_string() });
            }
        }
        if may_be_reached {
            return Ok(());
        }
    }
    Ok(())
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DrillTarget {
    /// The last full backup of the files, and nothing on it.
    #[default]
    LastFull,
    /// The backup in this place of the first media set, with everything that it needs.
    Position(u64),
    End,
    /// STOPAT: this second, in the local time of the server that made the backups.
    Time(DateTime),
}

pub struct SqlServerDrillRequest {
    pub address: Address,
    pub password: Secret,
    /// The media sets, each with all of its stripes. The first has the full backup, the others what goes on it.
    pub media: Vec<Vec<BackupDevice>>,
    pub target: DrillTarget,
    /// Which database of the files, if they hold several.
    pub database: Option<String>,
    /// The name of the database that is made. There must be none of it.
    pub name: String,
    /// The directory for its files, as the server sees it.
    pub directory: String,
    /// Statements that must run without an error in it, and must not give zero.
    pub statements: Vec<String>,
    pub keep: bool,
}

impl DrillTarget {
    pub(super) fn time(&self) -> Option<DateTime> {
        match self {
            Self::Time(time) => Some(*time),
            Self::LastFull | Self::Position(_) | Self::End => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A backup of `sales`: its kind, when it began and ended as minutes after three, and from which LSN to which it goes.
    fn listed(kind: &str, minutes: [u32; 2], lsns: [u128; 2]) -> Listed {
        let at = |minute: u32| format!("2026-05-28T03:{minute:02}:00");
        let backup = BackupHeader {
            database: "sales".into(),
            kind: kind.into(),
            started: at(minutes[0]),
            finished: at(minutes[1]),
            ..BackupHeader::default()
        };
        let [first_lsn, last_lsn] = lsns;
        Listed { backup, set: format!("{kind} {last_lsn}"), first_lsn, last_lsn, ..Listed::default() }
    }

    /// A full backup, two differential ones and four of the log, all in one media set.
    fn night() -> Vec<Listed> {
        let mut all = vec![
            listed("full", [0, 2], [100, 110]),
            listed("log", [4, 5], [90, 150]),
            listed("differential", [6, 7], [152, 160]),
            listed("log", [10, 11], [150, 200]),
            listed("differential", [14, 15], [220, 230]),
            listed("log", [20, 21], [200, 300]),
            listed("log", [30, 31], [300, 400]),
        ];
        for (place, one) in (1..).zip(&mut all) {
            one.backup.position = place;
            one.base = "full 110".into();
        }
        all
    }

    fn places(all: &[Listed], target: &DrillTarget) -> Result<Vec<u64>, ChainError> {
        let links = chain(all, target, None)?;
        Ok(links.iter().map(|link| all[link.index].backup.position).collect())
    }

    fn at(minute: i8) -> DrillTarget {
        DrillTarget::Time(jiff::civil::date(2026, 5, 28).at(3, minute, 0, 0))
    }

    #[test]
    fn the_last_differential_and_the_logs_after_it_are_enough() {
        let all = night();
        assert_eq!(places(&all, &DrillTarget::LastFull), Ok(vec![1]));
        assert_eq!(places(&all, &DrillTarget::End), Ok(vec![1, 5, 6, 7]));
        assert_eq!(places(&all, &DrillTarget::Position(3)), Ok(vec![1, 3]));
        assert_eq!(places(&all, &DrillTarget::Position(4)), Ok(vec![1, 3, 4]));
        assert_eq!(places(&all, &DrillTarget::Position(2)), Ok(vec![1, 2]), "without a later differential");
        let mut logs_only = all.clone();
        logs_only.retain(|one| one.backup.kind != "differential");
        assert_eq!(places(&logs_only, &DrillTarget::End), Ok(vec![1, 2, 4, 6, 7]));
    }

    #[test]
    fn a_time_is_reached_in_the_log_backup_that_holds_it() {
        let all = night();
        assert_eq!(places(&all, &at(8)), Ok(vec![1, 3, 4]));
        assert_eq!(places(&all, &at(25)), Ok(vec![1, 5, 6, 7]));
        // While a log backup was made: it may hold it, and otherwise the next one does.
        let links =
            chain(&all, &DrillTarget::Time(jiff::civil::date(2026, 5, 28).at(3, 20, 30, 0)), None).unwrap();
        let found: Vec<_> = links.iter().map(|link| (link.index, link.may_be_beyond)).collect();
        assert_eq!(found, [(0, false), (4, false), (5, false), (6, true)]);
        assert_eq!(places(&all, &at(31)), Ok(vec![1, 5, 6, 7]));
        assert!(matches!(places(&all, &at(40)), Err(ChainError::TooShort { .. })));
        let early = places(&all, &at(1)).unwrap_err();
        assert!(early.to_string().contains("a full one that had ended at 2026-05-28T03:01:00"), "{early}");
    }

    /// The story: one log backup had gone to another disk, and the restore stopped at it after six hours.
    #[test]
    fn a_gap_is_named_before_anything_is_restored() {
        let mut all = night();
        all.remove(5);
        let error = places(&all, &DrillTarget::End).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no log backup goes on from LSN 230, where the differential of 2026-05-28T03:14:00 (number 5 of its files) ends: the next \
             one begins at LSN 300"
        );
        assert!(error.hint().contains("--then"));
        let mut baseless = night();
        baseless[2].base = "another".into();
        assert!(matches!(places(&baseless, &DrillTarget::Position(3)), Err(ChainError::NoBase { .. })));
        assert!(matches!(
            places(&baseless, &DrillTarget::Position(9)),
            Err(ChainError::NoSuchBackup { position: 9, backups: 7 })
        ));
        baseless[2].backup.kind = "partial".into();
        assert!(matches!(places(&baseless, &DrillTarget::Position(3)), Err(ChainError::OtherKind { .. })));
    }

    /// The story: the files held the log of another database, and one from before the database had been set back.
    #[test]
    fn logs_of_another_database_or_of_an_abandoned_branch_are_not_taken() {
        let mut all = night();
        all[6].backup.database = "stock".into();
        assert_eq!(places(&all, &DrillTarget::End), Ok(vec![1, 5, 6]));
        let mut all = night();
        for one in &mut all {
            (one.fork, one.first_fork) = ("a".into(), "a".into());
        }
        all[6].first_fork = "b".into();
        assert_eq!(places(&all, &DrillTarget::End), Ok(vec![1, 5, 6]));
    }

    /// The story: a copy was made on Monday noon. The drill restored it alone, said that all was well, and the differential of that evening
    /// was never tried.
    #[test]
    fn a_copy_hides_neither_a_differential_nor_the_log_of_its_base() {
        let mut all = vec![
            listed("full", [0, 2], [100, 110]),
            listed("full", [10, 11], [500, 510]),
            listed("differential", [20, 21], [900, 910]),
        ];
        (all[1].backup.is_copy_only, all[2].base) = (true, "full 110".into());
        let number = |all: &mut Vec<Listed>| {
            for (place, one) in (1..).zip(all) {
                one.backup.position = place;
            }
        };
        number(&mut all);
        assert_eq!(places(&all, &DrillTarget::End), Ok(vec![1, 3]));
        all.extend([listed("log", [22, 23], [890, 950]), listed("log", [30, 31], [950, 990])]);
        number(&mut all);
        assert_eq!(places(&all, &DrillTarget::End), Ok(vec![1, 3, 4, 5]));
        assert_eq!(places(&all, &at(25)), Ok(vec![1, 3, 4, 5]));
        assert_eq!(places(&all, &DrillTarget::Position(5)), Ok(vec![1, 3, 4, 5]));
        // In files of its own it is no more than that.
        (all[1].media, all[2].media) = (1, 2);
        assert_eq!(places(&all, &DrillTarget::End), Ok(vec![1, 3, 4, 5]));
        // And it is taken where nothing else reaches as far.
        assert_eq!(places(&all[..1], &DrillTarget::End), Ok(vec![1]));
        all[1].media = 0;
        assert_eq!(places(&all[..2], &DrillTarget::End), Ok(vec![2]));
    }

    /// The story: two databases shared a file, and whichever had been backed up last was the one that was tried.
    #[test]
    fn of_several_databases_one_has_to_be_named() {
        let mut all = night();
        let mut other = listed("full", [40, 41], [7_000, 7_100]);
        (other.backup.database, other.backup.position) = ("Stock".into(), 8);
        all.push(other);
        for target in [DrillTarget::LastFull, DrillTarget::End, at(25)] {
            assert!(matches!(places(&all, &target), Err(ChainError::SeveralDatabases { .. })), "{target:?}");
        }
        let of = |database| {
            let links = chain(&all, &DrillTarget::End, Some(database));
            links.map(|links| links.iter().map(|link| all[link.index].backup.position).collect::<Vec<_>>())
        };
        assert_eq!((of("SALES"), of("stock")), (Ok(vec![1, 5, 6, 7]), Ok(vec![8])));
        assert!(matches!(of("hr"), Err(ChainError::NoSuchDatabase { .. })));
        assert_eq!(places(&all, &DrillTarget::Position(8)), Ok(vec![8]));
    }

    #[test]
    fn the_files_of_several_media_sets_are_one_list() {
        let mut all = night();
        for one in &mut all[1..] {
            one.media = 1;
        }
        assert_eq!(places(&all, &DrillTarget::LastFull), Ok(vec![1]));
        assert_eq!(places(&all, &DrillTarget::End), Ok(vec![1, 5, 6, 7]));
    }
}
