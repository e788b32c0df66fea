//! Moves whole days from the repository to the lake.
//!
//! A day's files are written and read back while the repository still has the day. One transaction of the repository's database, in which
//! the catalogue of the lake lies too, then names them in the catalogue and drops the day. What an interrupted move has left is deleted by
//! the next one: every file is noted in the repository before it is made.

use iostall_connect::{Address, Secret};
use iostall_measure::clock::utc_now;
use iostall_store::{
    History, LakeDay, LakeSeal, LakeSource, LakeSwitch, LakeTable, PostgresHistory, RepositoryError,
    StoreError,
};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use crate::data_file::{DataFileWritten, check_bytes};
use crate::day::{BucketFiles, bucket_of_source, data_name};
use crate::error::MoveError;
use crate::iceberg::{Addition, Table, added};
use crate::place::{self, Place};
use crate::table::LakeTableKind;

/// How often a day is begun again that changes while it is written.
const TRIES_MAX: u32 = 5;

#[derive(Clone, Debug)]
pub struct MoveRequest {
    pub url: String,
    pub to: String,
    pub older_than: SignedDuration,
}

/// What happens while days are moved. Every step of a move is one: a program that dies between two of them loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveEvent {
    CleanedUp {
        day: LakeDay,
    },
    Begun {
        day: LakeDay,
    },
    /// A bucket of its servers is written and was read back.
    Written {
        day: LakeDay,
        bucket: i32,
    },
    /// All buckets of the day are written and match the repository.
    Verified {
        day: LakeDay,
    },
    /// A file of the new snapshots is there.
    Described {
        day: LakeDay,
        address: String,
    },
    Moved(MovedDay),
    /// The repository or a table changed meanwhile, so that the day is begun again.
    Again {
        day: LakeDay,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedDay {
    pub day: LakeDay,
    pub sample_rows: u64,
    pub hour_rows: u64,
    /// Of its data files; 0 if nothing was written.
    pub file_bytes: u64,
}

pub fn movable_days(request: &MoveRequest) -> Result<Vec<MovedDay>, MoveError> {
    let repository = open(&request.url)?;
    let limit = limit(request);
    let day = |day| {
        let seal = repository.lake_seal(day)?;
        Ok(MovedDay { day, sample_rows: seal.sample_rows, hour_rows: seal.hour_rows, file_bytes: 0 })
    };
    repository.lake_days(limit)?.into_iter().map(day).collect()
}

/// Moves every day that ended long enough ago, the oldest first. Fails if another one moves days. Days that
/// were moved before an error stay so.
pub fn move_days(request: &MoveRequest, events: &mut dyn FnMut(&MoveEvent)) -> Result<(), MoveError> {
    let mut repository = open(&request.url)?;
    let place = Place::at(&request.to)?;
    if !repository.hold_lake()? {
        return Err(MoveError::Held);
    }
    for left in repository.unfinished_lake_moves()? {
        left.paths.iter().try_for_each(|path| place::delete(path))?;
        repository.abandon_lake_move(left.number)?;
        events(&MoveEvent::CleanedUp { day: left.day });
    }
    for day in repository.lake_days(limit(request))? {
        let mut tries = 0;
        while !move_day(&mut repository, &place, day, events)? {
            tries += 1;
            if tries == TRIES_MAX {
                return Err(MoveError::Restless { day });
            }
            events(&MoveEvent::Again { day });
        }
    }
    Ok(())
}

fn limit(request: &MoveRequest) -> Timestamp {
    utc_now().checked_sub(request.older_than).unwrap_or(Timestamp::MIN)
}

fn open(url: &str) -> Result<PostgresHistory, MoveError> {
    let address: Address = url.parse()?;
    let secret = Secret::of(&address.password)?.ok_or(MoveError::NoPassword)?;
    Ok(PostgresHistory::open(&address, &secret).map_err(StoreError::from)?)
}

struct Move<'a> {
    repository: &'a mut PostgresHistory,
    place: &'a Place,
    tables: [Table; 3],
    day: LakeDay,
    number: i64,
    events: &'a mut dyn FnMut(&MoveEvent),
}

type Written = [Vec<DataFileWritten>; 3];

/// Whether the day was moved; it changed meanwhile if not.
fn move_day(
    repository: &mut PostgresHistory,
    place: &Place,
    day: LakeDay,
    events: &mut dyn FnMut(&MoveEvent),
) -> Result<bool, MoveError> {
    repository.finish_lake_day(day)?;
    let mut tables = Vec::new();
    for kind in LakeTableKind::ALL {
        tables.push(match repository.lake_table(kind.name())? {
            Some(address) => Table::read(kind, &address, &place.address(kind.name()))?,
            None => Table::new(kind, &place.address(kind.name()), &Uuid::now_v7().to_string()),
        });
    }
    let Ok(tables) = <[Table; 3]>::try_from(tables) else { return Ok(false) };
    let number = repository.begin_lake_move(day, place.root())?;
    events(&MoveEvent::Begun { day });
    let mut one = Move { repository, place, tables, day, number, events };
    let sources = one.repository.lake_sources(day)?;
    let (seal, written) = one.write(&sources)?;
    if !is_whole(&seal, &written) {
        return one.give_up();
    }
    let file_bytes = written.iter().flatten().map(|file| file.bytes).sum();
    one.repository.mark_lake_verified(number, &seal, file_bytes)?;
    (one.events)(&MoveEvent::Verified { day });
    match one.switch(&seal, &written)? {
        LakeSwitch::Done => {
            let moved =
                MovedDay { day, sample_rows: seal.sample_rows, hour_rows: seal.hour_rows, file_bytes };
            (one.events)(&MoveEvent::Moved(moved));
            Ok(true)
        }
        LakeSwitch::GivenUp => Err(MoveError::Held),
        LakeSwitch::DayChanged | LakeSwitch::TableChanged | LakeSwitch::Busy => one.give_up(),
    }
}

impl Move<'_> {
    /// The address of a file of this move, noted before it is made.
    fn noted(&self, name: &str) -> Result<String, MoveError> {
        let address = self.place.address(name);
        self.repository.add_lake_file(self.number, &address)?;
        Ok(address)
    }

    /// Writes the day as it is in one snapshot of the repository, and says what that was.
    fn write(&mut self, sources: &[LakeSource]) -> Result<(LakeSeal, Written), MoveError> {
        let name = Uuid::now_v7().to_string();
        let mut buckets: Vec<i32> = sources.iter().map(bucket_of_source).collect();
        buckets.sort_unstable();
        buckets.dedup();
        let mut addresses = Vec::new();
        for bucket in &buckets {
            let noted = |table| self.noted(&data_name(table, self.day, *bucket, &name));
            let [samples, hours, stalls] = LakeTableKind::ALL.map(noted);
            addresses.push((*bucket, [samples?, hours?, stalls?]));
        }
        let Self { repository, place, tables, day, events, .. } = self;
        let (repository, day) = (&**repository, *day);
        repository.frozen(|| {
            let mut written = Written::default();
            for (bucket, addresses) in addresses {
                let mut files = BucketFiles::new(place, tables, addresses);
                for source in sources.iter().filter(|source| bucket_of_source(source) == bucket) {
                    repository.read_lake_day(day, source, &mut files)?;
                }
                for (all, file) in written.iter_mut().zip(files.finish(bucket)?) {
                    all.extend(file);
                }
                events(&MoveEvent::Written { day, bucket });
            }
            Ok((repository.lake_seal(day)?, written))
        })?
    }

    fn give_up(self) -> Result<bool, MoveError> {
        for left in self.repository.unfinished_lake_moves()? {
            if left.number == self.number {
                left.paths.iter().try_for_each(|path| place::delete(path))?;
            }
        }
        self.repository.abandon_lake_move(self.number)?;
        Ok(false)
    }

    /// Makes a snapshot of every table with new files, and puts them in place of those before together with the end of the day here.
    fn switch(&mut self, seal: &LakeSeal, written: &Written) -> Result<LakeSwitch, MoveError> {
        let (mut switched, mut described) = (Vec::new(), Vec::new());
        for (table, files) in self.tables.iter().zip(written) {
            let name = table.kind.name();
            // A new table is made although it gets no row: readers ask for all of them.
            if files.is_empty() && table.address.is_some() {
                continue;
            }
            let (snapshot, unique) = (new_snapshot_id(), Uuid::now_v7());
            let addresses = [
                self.noted(&format!("{name}/metadata/{unique}-m0.avro"))?,
                self.noted(&format!("{name}/metadata/snap-{snapshot}-1-{unique}.avro"))?,
                self.noted(&format!("{name}/metadata/{:05}-{unique}.metadata.json", table.version()))?,
            ];
            let now = addresses[2].clone();
            let at_ms = utc_now().as_millisecond();
            let addition = Addition { files, day: self.day.number(), snapshot, at_ms, addresses };
            for (address, bytes) in added(table, &addition)? {
                self.place.put(&bytes, &address)?;
                described.push((address.clone(), xxh3_128(&bytes)));
                (self.events)(&MoveEvent::Described { day: self.day, address });
            }
            switched.push(LakeTable { name: name.to_owned(), before: table.address.clone(), now });
        }
        // The last look at all of it: from here on the repository has the day no more.
        written.iter().flatten().try_for_each(DataFileWritten::check)?;
        described.iter().try_for_each(|(address, hash)| check_bytes(address, *hash))?;
        Ok(self.repository.switch_lake_day(self.number, self.day, seal, &switched)?)
    }
}

/// Whether all rows were written: a source may have come after they were looked up.
fn is_whole(seal: &LakeSeal, written: &Written) -> bool {
    let rows = |files: &[DataFileWritten]| files.iter().map(|file| file.rows).sum::<u64>();
    rows(&written[0]) == seal.sample_rows && rows(&written[1]) == seal.hour_rows
}

fn new_snapshot_id() -> i64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    ((high ^ low) >> 1).cast_signed()
}

impl From<RepositoryError> for MoveError {
    fn from(error: RepositoryError) -> Self {
        StoreError::from(error).into()
    }
}
