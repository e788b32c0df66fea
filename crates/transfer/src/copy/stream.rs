//! A single source or destination that is no file: standard input, standard output, or a block device to take
//! an image of.
//!
//! None of them has a name, a size and times that would prove that it is unchanged, so nothing is resumed.
//! What arrives in a file is only for its owner, because there is no mode to copy: an image of a disk contains
//! everything on it.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_engine::{Access, open_path};
use iostall_measure::{Caching, Clock as _};
use iostall_model::transfer::{Mismatch, VerifyMode};

use super::context::CopyContext;
use super::endpoint::Endpoint;
use super::error::CopyError;
use super::file::FileCopier;
use super::log::Filled;
use super::mover::Transfer;
use super::names::pair_names;
use super::part::{Part, directory_of};
use super::read_back::{BLOCK_BYTES, compare};
use super::recheck::{expect_no_writers, source_is_unmodified};
use super::target::check_target;
use super::unread::{Alone, refuse_unread};
use crate::hash::{BlockHashes, Digest, Hasher};
use crate::pipeline::FileHashes;
use crate::plan::Plan;

/// The name of a standard stream.
const STREAM: &str = "-";
const STREAM_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) enum StreamPlan {
    FromStdin { target: PathBuf },
    ToStdout { source: PathBuf },
    FromDevice { device: PathBuf, device_bytes: u64, target: PathBuf },
}

impl StreamPlan {
    /// `None` if sources and destination are files and directories.
    pub(super) fn find(
        context: &CopyContext<'_>,
        sources: &[PathBuf],
        destination: &Path,
    ) -> Result<Option<Self>, CopyError> {
        let names = |message: String| Err(CopyError::Names { message });
        let is_stream = |path: &Path| path == Path::new(STREAM);
        let is_device = |path: &Path| files::is_block_device(path);
        let is_special = |path: &PathBuf| is_stream(path) || is_device(path);
        if files::is_standard_output(destination) {
            return names(format!("{} is standard output, which a copy takes as `-`", destination.display()));
        }
        if let Some(pipe) = sources.iter().find(|source| files::is_given_pipe(source)) {
            let pipe = pipe.display();
            return names(format!(
                "{pipe} is a pipe: a copy reads one as standard input, `iostall copy - FILE`"
            ));
        }
        if is_device(destination) || !(is_stream(destination) || sources.iter().any(is_special)) {
            return Ok(None);
        }
        let options = context.options;
        let [source] = sources else {
            // A device among other sources is like any other special file.
            if is_stream(destination) || sources.iter().any(|source| is_stream(source)) {
                return names("a stream is copied alone, and there are several sources".to_owned());
            }
            return Ok(None);
        };
        if options.mirror || options.remove_sources {
            return names("a stream or the image of a device is neither mirrored nor moved".to_owned());
        }
        let alone = match () {
            () if is_stream(destination) => Alone::StandardOutput,
            () if is_stream(source) => Alone::StandardInput,
            () => Alone::Device,
        };
        refuse_unread(options, alone)?;
        if is_stream(destination) {
            if options.verify == VerifyMode::ReadBack {
                return names("what went to standard output cannot be read back".to_owned());
            }
            let stat = files::stamp_of_path(source).map_err(CopyError::system("find", source))?;
            if stat.kind != FileKind::Regular {
                return names(format!(
                    "{} is not a regular file, and only one goes to standard output",
                    source.display()
                ));
            }
            context.progress.add_total(1, stat.size_bytes);
            return Ok(Some(Self::ToStdout { source: source.clone() }));
        }
        let is_directory = |stat: FileStamp| stat.kind == FileKind::Directory;
        if is_stream(source) && files::stamp_of_path(destination).is_ok_and(is_directory) {
            return names(format!(
                "{} is a directory: name the file for standard input",
                destination.display()
            ));
        }
        let (_, target) = pair_names(sources, destination)?.swap_remove(0);
        context.destinations.check_directory(directory_of(&target))?;
        check_target(source, &as_regular(source)?, &target, options.overwrite, &context.destinations)?;
        if is_stream(source) {
            return Ok(Some(Self::FromStdin { target }));
        }
        let from = Endpoint::open(source, Access::Read, options.source_caching)?;
        if from.is_held() {
            return names(format!(
                "{} is mounted or in use otherwise, and its image would mix states: unmount it, or copy a snapshot",
                source.display()
            ));
        }
        let device_bytes = from.size_bytes();
        let passes = if options.verify == VerifyMode::ReadBack { 2 } else { 1 };
        context.progress.add_total(1, device_bytes * passes);
        Ok(Some(Self::FromDevice { device: source.clone(), device_bytes, target }))
    }

    pub(super) fn described(&self) -> (&Path, u64) {
        match self {
            Self::FromStdin { target } => (target, 0),
            Self::ToStdout { .. } => (Path::new(STREAM), 0),
            Self::FromDevice { target, device_bytes, .. } => (target, *device_bytes),
        }
    }

    pub(super) fn write(&self, copier: &mut FileCopier<'_, '_>) -> Result<(), CopyError> {
        match self {
            Self::FromStdin { target } => from_stdin(copier, target),
            Self::ToStdout { source } => to_stdout(copier, source),
            Self::FromDevice { device, target, .. } => from_device(copier, device, target),
        }
    }
}

/// The stamp of a source, for checks of the destination: what arrives there is a regular file.
fn as_regular(source: &Path) -> Result<FileStamp, CopyError> {
    let stat =
        if source == Path::new(STREAM) { files::stamp(input()?) } else { files::stamp_of_path(source) };
    let stat = stat.map_err(CopyError::system("look at", source))?;
    Ok(FileStamp { kind: FileKind::Regular, ..stat })
}

struct Passing {
    whole: Option<Hasher>,
    blocks: BlockHashes,
}

impl Passing {
    fn new(context: &CopyContext<'_>) -> Self {
        let options = context.options;
        let whole = (options.verify != VerifyMode::None).then(|| Hasher::new(options.hash));
        Self { whole, blocks: BlockHashes::new(BLOCK_BYTES) }
    }

    fn update(&mut self, data: &[u8], with_blocks: bool) {
        if let Some(whole) = &mut self.whole {
            whole.update(data);
        }
        if with_blocks {
            self.blocks.update(data);
        }
    }

    fn finish(self, with_blocks: bool) -> FileHashes {
        let whole: Option<Digest> = self.whole.map(Hasher::finish);
        FileHashes { whole, blocks: if with_blocks { self.blocks.finish() } else { Vec::new() } }
    }
}

fn input() -> Result<File, CopyError> {
    files::standard_input().map_err(CopyError::system("read", Path::new("standard input")))
}

fn from_stdin(copier: &mut FileCopier<'_, '_>, target: &Path) -> Result<(), CopyError> {
    let context = copier.context;
    let part = Part::acquire(target, files::effective_user())?;
    part.file().set_len(0).map_err(CopyError::system("empty", part.path()))?;
    context.progress.begin_file(target, 0, "copying standard input to");
    let reads_back = context.options.verify == VerifyMode::ReadBack;
    let mut passing = Passing::new(context);
    let cancelled = || CopyError::cancelled(Path::new(STREAM), target, false);
    let (mut input, mut file) = (input()?, part.file());
    let mut buffer = vec![0; STREAM_BYTES];
    let mut bytes = 0;
    loop {
        let read = read_some(&mut input, &mut buffer)
            .map_err(CopyError::system("read", Path::new("standard input")))?;
        // A signal that ends the program before us ends the stream too: this is no whole file.
        if context.progress.is_cancelled() || !context.wait_for_rate(read as u64) {
            return Err(cancelled());
        }
        if read == 0 {
            break;
        }
        file.write_all(&buffer[..read]).map_err(CopyError::system("write", part.path()))?;
        passing.update(&buffer[..read], reads_back);
        let written = bytes..bytes + read as u64;
        files::start_writeback(file, &written);
        bytes = written.end;
        context.progress.note_moved(context.clock.now_ns(), read as u64, read as u64);
        context.progress.add_total(0, read as u64);
        context.progress.add_done(read as u64);
    }
    let hashes = passing.finish(reads_back);
    finish(copier, part, (Path::new(STREAM), target), bytes, hashes)
}

fn finish(
    copier: &mut FileCopier<'_, '_>,
    part: Part,
    (source, target): (&Path, &Path),
    bytes: u64,
    hashes: FileHashes,
) -> Result<(), CopyError> {
    let begun_ns = copier.context.clock.now_ns();
    part.file().sync_all().map_err(CopyError::system("make durable", part.path()))?;
    copier.log.sync_ns += copier.context.clock.now_ns() - begun_ns;
    if copier.context.options.verify == VerifyMode::ReadBack {
        let copy = Endpoint::reopen(part.file(), part.path(), Access::Read, Caching::Direct)?;
        let found = copier.read_again(target, &copy, bytes)?;
        let differs = compare(target, source, &open_path(part.file()), &hashes, &found, BLOCK_BYTES);
        // A stream cannot be read again to find the byte.
        let is_stream = source == Path::new(STREAM);
        let message = || "the destination differs from what was read".to_owned();
        let differs =
            differs.map(|found| if is_stream { Mismatch { message: message(), ..found } } else { found });
        if !copier.log.note_compared(differs) {
            return Ok(());
        }
    }
    part.publish(copier.context.replace())?;
    copier.context.progress.end_file();
    copier.log.add_large_file(target, bytes, Filled { hashes, ..Filled::default() });
    Ok(())
}

fn to_stdout(copier: &mut FileCopier<'_, '_>, source: &Path) -> Result<(), CopyError> {
    let FileCopier { context, log, .. } = copier;
    let from = Endpoint::open(source, Access::Read, Caching::Buffered)?;
    let stdout = Path::new("standard output");
    let mut output = files::standard_output().map_err(CopyError::system("write to", stdout))?;
    // Each byte that is read would make it longer.
    let is_itself = files::stamp(&output).is_ok_and(|output| output.is_same_file(&from.stat));
    if is_itself && from.stat.kind == FileKind::Regular {
        return Err(CopyError::SameFile { from: source.to_owned(), to: stdout.to_owned() });
    }
    context.progress.begin_file(source, from.stat.size_bytes, "copying to standard output");
    expect_no_writers(&from, &context.clock, log);
    let mut passing = Passing::new(context);
    let mut buffer = vec![0; STREAM_BYTES];
    let mut bytes = 0;
    loop {
        let read =
            files::read_at(from.file(), &mut buffer, bytes).map_err(CopyError::system("read", source))?;
        if !context.wait_for_rate(read as u64) {
            return Err(CopyError::cancelled(source, Path::new(STREAM), false));
        }
        if read == 0 {
            break;
        }
        output.write_all(&buffer[..read]).map_err(CopyError::system("write to", stdout))?;
        passing.update(&buffer[..read], false);
        files::drop_read(from.file(), &(bytes..bytes + read as u64));
        bytes += read as u64;
        context.progress.note_moved(context.clock.now_ns(), read as u64, read as u64);
        context.progress.add_done(read as u64);
    }
    source_is_unmodified(&from)?;
    context.progress.end_file();
    let hashes = passing.finish(false);
    log.add_large_file(Path::new(STREAM), bytes, Filled { hashes, ..Filled::default() });
    Ok(())
}

fn from_device(copier: &mut FileCopier<'_, '_>, device: &Path, target: &Path) -> Result<(), CopyError> {
    let FileCopier { context, mover, .. } = copier;
    let options = context.options;
    let from = Endpoint::open(device, Access::Read, options.source_caching)?;
    let size_bytes = from.size_bytes();
    context.progress.begin_file(target, size_bytes, "writing the image");
    let part = Part::acquire(target, files::effective_user())?;
    part.file().set_len(0).map_err(CopyError::system("empty", part.path()))?;
    let to = Endpoint::reopen(part.file(), part.path(), Access::ReadWrite, options.target_caching)?;
    files::preallocate(to.file(), &(0..size_bytes))
        .map_err(CopyError::system("reserve room for", part.path()))?;
    let same_device = mover.devices.share(device, from.stat.special_device, part.path(), to.stat.device);
    let plan = Plan::whole(size_bytes, mover.shape(same_device).transfer_bytes);
    let hashes = mover.run(Transfer { from: &from, to: &to, target, plan, journal: None, same_device })?;
    part.file().set_len(size_bytes).map_err(CopyError::system("set the size of", part.path()))?;
    finish(copier, part, (device, target), size_bytes, hashes)
}

fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
