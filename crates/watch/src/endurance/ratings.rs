//! What data sheets promise: a user's file, or options. Nothing is guessed from a model's name.

use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_measure::ByteCount;
use iostall_measure::foreign::shown;
use iostall_model::drive::{Converted, DriveIdentity, DriveRating, Endurance, RatingError};
use serde::Deserialize;

use crate::error::RatingsError;

/// Enough for every drive that was ever sold.
const FILE: Input = Input { what: "file of ratings", limit: ByteCount(4 << 20) };

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypedRating {
    pub written: Option<ByteCount>,
    pub drive_writes_per_day: Option<f64>,
    pub years: Option<f64>,
    /// Of the drive, where it does not say so itself.
    pub capacity: Option<ByteCount>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    model: String,
    tbw: Option<String>,
    dwpd: Option<f64>,
    years: Option<f64>,
    capacity: Option<String>,
    workload: Option<String>,
    erase_cycles: Option<u64>,
    physical: Option<String>,
    nand: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    drive: Vec<Written>,
}

pub(super) struct Ratings {
    file: Option<(PathBuf, Vec<Written>)>,
    typed: TypedRating,
}

impl Ratings {
    pub(super) fn read(path: Option<&Path>, typed: &TypedRating) -> Result<Self, RatingsError> {
        let file = path.map(|path| Ok::<_, RatingsError>((path.to_owned(), file(path)?))).transpose()?;
        let ratings = Self { file, typed: typed.clone() };
        if let Some((path, drives)) = &ratings.file {
            for (index, one) in drives.iter().enumerate() {
                // A drive's own capacity may be needed; any will do to check the rest.
                rating_of(path, one, Some(1))?;
                if drives[..index].iter().any(|earlier| earlier.model.eq_ignore_ascii_case(&one.model)) {
                    return Err(wrong(path, one, "it is there twice".to_owned()));
                }
            }
        }
        // The same for a drive whose capacity nobody knows yet.
        ratings.typed(ratings.typed.capacity.map(ByteCount::bytes).or(Some(1)))?;
        Ok(ratings)
    }

    fn typed(&self, capacity_bytes: Option<u64>) -> Result<Option<DriveRating>, RatingError> {
        let TypedRating { written, drive_writes_per_day, years, capacity } = &self.typed;
        let capacity_bytes = capacity.map(ByteCount::bytes).or(capacity_bytes);
        let written = written.map(|bytes| bytes.bytes() as f64);
        let written_bytes = DriveRating::written(written, *drive_writes_per_day, *years, capacity_bytes)?;
        let origin = "the command line".to_owned();
        Ok(written_bytes.map(|bytes| DriveRating {
            written_bytes: Some(bytes),
            years: *years,
            origin,
            ..DriveRating::default()
        }))
    }

    pub(super) fn converted(&self) -> Option<Converted> {
        let capacity = self.typed.capacity.map(ByteCount::bytes);
        self.typed(capacity).ok().flatten()?.converted(capacity)
    }

    /// The rating of `drive`: that of the command line, or the line of the file with its model.
    pub(super) fn of(&self, drive: &DriveIdentity) -> Result<Option<DriveRating>, RatingsError> {
        if let Some(rating) = self.typed(drive.capacity_bytes)? {
            return Ok(Some(rating));
        }
        let Some((path, drives)) = &self.file else { return Ok(None) };
        let fitting = drives.iter().filter(|one| fits(&one.model, &drive.model));
        // A whole name goes before the beginning of one, and a longer beginning before a shorter one.
        let best = fitting.max_by_key(|one| (!one.model.ends_with('*'), one.model.len()));
        let capacity = self.typed.capacity.map(ByteCount::bytes).or(drive.capacity_bytes);
        best.map(|one| rating_of(path, one, capacity)).transpose()
    }

    /// One rating from the command line holds for one model.
    pub(super) fn check_models(&self, drives: &[Endurance]) -> Result<(), RatingsError> {
        let mut models: Vec<String> = drives.iter().map(|one| one.drive.model.clone()).collect();
        models.sort();
        models.dedup();
        let is_typed = self.typed.written.is_some() || self.typed.drive_writes_per_day.is_some();
        if is_typed && models.len() > 1 { Err(RatingsError::SeveralModels(models)) } else { Ok(()) }
    }
}

fn file(path: &Path) -> Result<Vec<Written>, RatingsError> {
    let text = FILE.text(path)?;
    let file: File = toml::from_str(&text).map_err(|error| RatingsError::Form {
        path: path.to_owned(),
        reason: error.to_string().trim_end().to_owned(),
    })?;
    Ok(file.drive)
}

fn fits(written: &str, model: &str) -> bool {
    match written.strip_suffix('*') {
        Some(beginning) => {
            model.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
        }
        None => written.eq_ignore_ascii_case(model),
    }
}

fn wrong(path: &Path, drive: &Written, reason: String) -> RatingsError {
    RatingsError::Drive { path: path.to_owned(), model: drive.model.clone(), reason }
}

fn rating_of(path: &Path, drive: &Written, capacity_bytes: Option<u64>) -> Result<DriveRating, RatingsError> {
    let size = |key: &str, text: Option<&String>| {
        let parsed = text.map(|text| text.parse::<ByteCount>()).transpose();
        let size = parsed.map_err(|error| wrong(path, drive, format!("{key}: {error}")))?;
        match size.map(ByteCount::bytes) {
            Some(0) => Err(wrong(path, drive, format!("{key}: 0 is no size"))),
            size => Ok(size),
        }
    };
    let capacity = size("capacity", drive.capacity.as_ref())?.or(capacity_bytes);
    let tbw = size("tbw", drive.tbw.as_ref())?.map(|bytes| bytes as f64);
    let written = DriveRating::written(tbw, drive.dwpd, drive.years, capacity);
    let written_bytes = written.map_err(|error| wrong(path, drive, error.to_string()))?;
    let (physical_bytes, nand) =
        (size("physical", drive.physical.as_ref())?, size("nand", drive.nand.as_ref())?);
    if drive.erase_cycles == Some(0) || drive.model.is_empty() {
        return Err(wrong(path, drive, "an empty model, or no erase cycles at all, is no rating".to_owned()));
    }
    Ok(DriveRating {
        written_bytes,
        years: drive.years,
        workload: drive.workload.clone(),
        erase_cycles: drive.erase_cycles,
        physical_bytes,
        nand_bytes: nand.map(|bytes| bytes as f64),
        origin: format!("{} [[drive]] {}", path.display(), shown(&drive.model)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Ratings, RatingsError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drives.toml");
        std::fs::write(&path, text).unwrap();
        Ratings::read(Some(&path), &TypedRating::default())
    }

    fn drive(model: &str) -> DriveIdentity {
        DriveIdentity {
            model: model.into(),
            capacity_bytes: Some(1_000_000_000_000),
            ..DriveIdentity::default()
        }
    }

    #[test]
    fn the_most_exact_line_of_the_file_counts() {
        let ratings = read(
            "[[drive]]\nmodel = \"INTEL *\"\ntbw = \"1TB\"\nyears = 5\n\
             [[drive]]\nmodel = \"INTEL SSDPE*\"\ndwpd = 1.0\nyears = 5\n\
             [[drive]]\nmodel = \"INTEL SSDPE2KX010T8\"\ntbw = \"1380TB\"\nyears = 5\nworkload = \"JESD219\"\n",
        )
        .unwrap();
        let written = |model| ratings.of(&drive(model)).unwrap().and_then(|rating| rating.written_bytes);
        assert_eq!(written("intel ssdpe2kx010t8"), Some(1.38e15));
        assert_eq!(written("INTEL SSDPE2KX020T8"), Some(1.825e15));
        assert_eq!(written("INTEL SSDSC2BB"), Some(1e12));
        assert_eq!(written("Samsung"), None);
        assert_eq!(written("INTÉL"), None);
    }

    #[test]
    fn a_line_that_says_nothing_or_two_things_is_refused_with_its_model() {
        let lines = [
            "tbw = \"1TB\"",
            "tbw = \"1TB\"\ndwpd = 1\nyears = 5",
            "tbw = \"much\"\nyears = 5",
            "tbw = \"0TB\"\nyears = 5",
            "dwpd = nan\nyears = 5",
            "physical = \"x\"",
            "erase-cycles = 0",
        ];
        for line in lines {
            let error = read(&format!("[[drive]]\nmodel = \"M1\"\n{line}\n")).err().unwrap();
            assert!(error.to_string().contains("[[drive]] M1: "), "{line}: {error}");
            assert!(error.hint().is_some());
        }
        for text in [
            "[[drive]]\ntbw = \"1TB\"\nyears = 5\n",
            "[[disk]]\n",
            "[[drive]]\nmodel = \"a\"\ntwb = 1\n",
            "{",
        ] {
            assert!(matches!(read(text).err().unwrap(), RatingsError::Form { .. }), "{text}");
        }
        assert!(read("[[drive]]\nmodel = \"a\"\n[[drive]]\nmodel = \"A\"\n").is_err(), "twice");
    }
}
