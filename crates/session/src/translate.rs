//! Loads of other tools as profiles.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iostall_diskspd::command_line::Surroundings;
use iostall_diskspd::xml::PROFILE_BYTES_MAX;
use iostall_diskspd::{CommandLineError, MappingError, Parsed, parse, to_profile};
use iostall_engine::{Input, InputError};
use iostall_load::fio::{FioError, FioFile, FioProfile, read_jobs};
use iostall_measure::ByteCount;
use iostall_model::{Profile, Warning, WarningCode};
use thiserror::Error;

use crate::error::SessionError;
use crate::names::read_whole;
use crate::targets::{OwnSize, TargetBinding, TargetRequest};

#[derive(Clone, Debug)]
pub struct Translated {
    pub profile: Profile,
    /// What differs from the other tool, a sentence each.
    pub notes: Vec<String>,
    /// The files that its roles ask for by name.
    pub files: Vec<FioFile>,
}

#[derive(Debug, Error)]
pub enum TranslateError {
    #[error(transparent)]
    Fio(#[from] JobFileError),
    #[error(transparent)]
    Line(#[from] CommandLineError),
    #[error(transparent)]
    Mapping(#[from] MappingError),
    #[error(transparent)]
    File(#[from] SessionError),
    #[error("{0} is not UTF-8")]
    NotText(String),
    /// Help was asked for.
    #[error("that line describes no load")]
    NoLoad,
}

pub fn from_fio(path: &Path) -> Result<Translated, TranslateError> {
    let fio = read_job_file(path)?;
    Ok(Translated { profile: fio.profile, notes: fio.notes, files: fio.files })
}

/// The profile of a DiskSpd command line, with or without the program's name at its start.
pub fn from_diskspd(words: &[OsString]) -> Result<Translated, TranslateError> {
    let is_name = |word: &OsString| Path::new(word).file_stem().is_some_and(|name| name == "diskspd");
    let words = if words.first().is_some_and(is_name) { &words[1..] } else { words };
    let text = |word: &OsString| {
        word.clone().into_string().map_err(|word| TranslateError::NotText(word.display().to_string()))
    };
    let words = words.iter().map(text).collect::<Result<Vec<String>, _>>()?;
    let exists = |path: &str| Path::new(path).exists();
    let request = match parse(&words, &Surroundings { exists: &exists, clock_seed: 0 })? {
        Parsed::Usage => return Err(TranslateError::NoLoad),
        Parsed::Run(request) => *request,
        Parsed::ProfileFile(file) => {
            file.apply(&read_whole("profile", PROFILE_BYTES_MAX as u64, Path::new(&file.path))?)?
        }
    };
    let mapped = to_profile(&request.profile)?;
    let unsupported = request.unsupported.iter().map(ToString::to_string);
    let notes = request.warnings.into_iter().chain(unsupported).chain(mapped.notes).collect();
    Ok(Translated { profile: mapped.profile, notes, files: Vec::new() })
}

/// Thousands of jobs are a hundredth of it.
const JOB_FILE: Input = Input { what: "job file", limit: ByteCount(1 << 20) };

#[derive(Debug, Error)]
pub enum JobFileError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{path}: {source}")]
    Jobs { path: String, source: FioError },
    #[error("{path} is not there, and its job makes no file (allow_file_create=0, or a size in percent): name one that is there", path = .path.display())]
    NotThere { path: PathBuf },
    #[error("{path} is shorter than its job asks for, and the job lets no file grow (allow_file_create=0): name one that is long enough", path = .path.display())]
    TooShort { path: PathBuf },
}

/// `-` is standard input.
pub fn read_job_file(path: &Path) -> Result<FioProfile, JobFileError> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let text = JOB_FILE.text(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let variable = |name: &str| std::env::var(name).ok();
    read_jobs(&name, &text, &variable)
        .map_err(|source| JobFileError::Jobs { path: path.display().to_string(), source })
}

/// What is done otherwise than fio does it, as it is kept with the run.
pub fn warnings(fio: &FioProfile) -> Vec<Warning> {
    let warning = |note: &String| {
        let message = format!("read from the job file {}, not as fio does it: {note}", fio.profile.name);
        Warning::new(WarningCode::NotAsWritten, message)
    };
    fio.notes.iter().map(warning).collect()
}

/// Of a job that may make no file: one that is too short would grow.
fn is_there(path: &Path, size: Option<ByteCount>) -> Result<(), JobFileError> {
    let Ok(found) = std::fs::metadata(path) else {
        return Err(JobFileError::NotThere { path: path.to_owned() });
    };
    if found.is_file() && size.is_some_and(|size| found.len() < size.bytes()) {
        return Err(JobFileError::TooShort { path: path.to_owned() });
    }
    Ok(())
}

/// Has the jobs of `fio` work on the files that they name. Where `request` names files, they take their place. Which part of a
/// file a job uses, its region says.
pub fn bind_files(request: &mut TargetRequest, fio: &FioProfile) -> Result<(), JobFileError> {
    let spans = fio.profile.spans.len();
    let typed = request.size;
    let own = |size: Option<ByteCount>| OwnSize {
        made: typed.or(size),
        in_spans: vec![Some(typed.unwrap_or(ByteCount(u64::MAX))); spans],
    };
    if !request.paths.is_empty() {
        let largest = fio.files.iter().filter_map(|file| file.size).max();
        request.sizes.push((None, own(largest)));
        let must_exist = fio.files.iter().any(|file| file.must_exist);
        return request
            .paths
            .iter()
            .filter(|_| must_exist)
            .try_for_each(|path| is_there(path, typed.or(largest)));
    }
    for file in &fio.files {
        let bound = request.bindings.iter().find(|binding| binding.name == file.name);
        let path = bound.map_or(&file.path, |binding| &binding.path);
        if file.must_exist {
            is_there(path, typed.or(file.size))?;
        }
        if bound.is_none() {
            request.bindings.push(TargetBinding { name: file.name.clone(), path: file.path.clone() });
        }
        request.sizes.push((Some(file.name.clone()), own(file.size)));
    }
    Ok(())
}
