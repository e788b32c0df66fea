//! Where a path leads, which file that is, and writing to it.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::refusal::OutputRefusal;
use super::resolve::{Resolved, resolve};
use super::{replace, stream};
use crate::guard::{DatabaseFile, check_name, check_new_file, database_at};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    New,
    File,
    Pipe,
    Device,
    Descriptor(i32),
    Other(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    There {
        device: u64,
        inode: u64,
    },
    /// The file does not exist yet: its nearest existing directory, and the rest of the path.
    Absent {
        device: u64,
        inode: u64,
        rest: PathBuf,
    },
}

#[derive(Debug)]
pub struct Place {
    /// Without links; a descriptor keeps the name it was given as.
    path: PathBuf,
    kind: PlaceKind,
    identity: Option<Identity>,
    missing: Option<PathBuf>,
    descriptor: Option<File>,
}

impl Place {
    /// Resolves `path`. Opens nothing except a descriptor of this process, which is kept. Whether it may be
    /// written is checked by [`Self::check_writable`].
    pub fn of(path: &Path) -> Result<Self, OutputRefusal> {
        let typed = path;
        match resolve(path)? {
            Resolved::Descriptor(number) => Self::of_descriptor(number),
            Resolved::Unnamed(link) => {
                let there = fs::metadata(&link)?;
                let kind = match kind_of(&there) {
                    PlaceKind::File => PlaceKind::Device,
                    kind => kind,
                };
                let identity = Some(identity_of(&there));
                Ok(Self { path: link, kind, identity, missing: None, descriptor: None })
            }
            Resolved::Name { directory, rest } => {
                let path = directory.join(&rest);
                if let Ok(there) = fs::symlink_metadata(&path) {
                    let (kind, identity) = (kind_of(&there), Some(identity_of(&there)));
                    return Ok(Self { path, kind, identity, missing: None, descriptor: None });
                }
                // Once links are resolved, the name no longer shows what was typed.
                check_name(typed).map_err(OutputRefusal::Place)?;
                let above = fs::metadata(&directory)?;
                let missing = (rest.components().count() > 1 || !above.is_dir())
                    .then(|| path.parent().unwrap_or(Path::new("/")).to_owned());
                let identity = Some(Identity::Absent { device: above.dev(), inode: above.ino(), rest });
                Ok(Self { path, kind: PlaceKind::New, identity, missing, descriptor: None })
            }
        }
    }

    /// The descriptor `number` of this process; 1 is standard output.
    pub fn of_descriptor(number: i32) -> Result<Self, OutputRefusal> {
        let file = stream::duplicate(number)?;
        let identity = file.metadata().ok().map(|there| identity_of(&there));
        let path = PathBuf::from(format!("/dev/fd/{number}"));
        Ok(Self {
            path,
            kind: PlaceKind::Descriptor(number),
            identity,
            missing: None,
            descriptor: Some(file),
        })
    }

    pub fn kind(&self) -> PlaceKind {
        self.kind
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether output is passed on as it is written and replaces nothing.
    pub fn is_stream(&self) -> bool {
        matches!(self.kind, PlaceKind::Pipe | PlaceKind::Device | PlaceKind::Descriptor(_))
    }

    /// Whether both are the same file, existing or not, so that writing one would damage the other. A
    /// character device accepts any number of writers.
    pub fn is_same(&self, other: &Self) -> bool {
        self.identity.is_some() && self.identity == other.identity && !self.takes_all()
    }

    /// Whether `path` leads to the same file. Costs one system call, because a command may check a million
    /// files.
    pub fn is_at(&self, path: &Path) -> bool {
        match fs::metadata(path) {
            Ok(there) => self.identity == Some(identity_of(&there)) && !self.takes_all(),
            Err(_) => Self::of(path).is_ok_and(|place| self.is_same(&place)),
        }
    }

    fn takes_all(&self) -> bool {
        match &self.descriptor {
            Some(file) => file.metadata().is_ok_and(|there| there.file_type().is_char_device()),
            None => self.kind == PlaceKind::Device,
        }
    }

    /// Its path relative to `directory`, if it lies inside, under any name.
    pub fn inside(&self, directory: &Path) -> Option<PathBuf> {
        let directory = fs::metadata(directory).ok()?;
        let is_it = |above: &&Path| {
            fs::metadata(above)
                .is_ok_and(|above| (above.dev(), above.ino()) == (directory.dev(), directory.ino()))
        };
        let above = self.path.ancestors().skip(1).find(is_it)?;
        self.path.strip_prefix(above).ok().map(Path::to_owned)
    }

    pub fn check_writable(&self) -> Result<(), OutputRefusal> {
        if matches!(self.kind, PlaceKind::New | PlaceKind::File) {
            check_new_file(&self.path).map_err(OutputRefusal::Place)?;
        }
        let may = |path: &Path, what| {
            access(path, what)
                .map_err(|errno| OutputRefusal::NotWritable { path: path.to_owned(), source: errno.into() })
        };
        match (self.kind, &self.missing) {
            (PlaceKind::Other(kind), _) => Err(OutputRefusal::Kind { kind }),
            (PlaceKind::New, Some(directory)) => {
                Err(OutputRefusal::NoDirectory { directory: directory.clone() })
            }
            (PlaceKind::New, None) => {
                may(self.path.parent().unwrap_or(Path::new("/")), Access::WRITE_OK | Access::EXEC_OK)
            }
            (PlaceKind::File | PlaceKind::Pipe | PlaceKind::Device, _) => may(&self.path, Access::WRITE_OK),
            (PlaceKind::Descriptor(_), _) => Ok(()),
        }
    }

    /// The first `bytes_max` of the regular file; empty if there is none.
    pub fn head(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        if self.kind == PlaceKind::File {
            File::open(&self.path)?.take(bytes_max).read_to_end(&mut head)?;
        }
        Ok(head)
    }

    pub fn database(&self) -> io::Result<Option<DatabaseFile>> {
        if self.kind == PlaceKind::File { database_at(&self.path) } else { Ok(None) }
    }

    /// Writes the output of `render`. A regular file is replaced only when all of it is durable, and
    /// otherwise unchanged. `waiting` is called once if a pipe has no reader yet. A reader that closes the
    /// pipe early is no error.
    pub fn write(
        &self,
        render: &dyn Fn(&mut dyn Write) -> io::Result<()>,
        waiting: &dyn Fn(),
    ) -> io::Result<()> {
        match self.kind {
            PlaceKind::New | PlaceKind::File => replace::replace(&self.path, render),
            PlaceKind::Pipe => stream::write(stream::open_pipe(&self.path, waiting)?, render),
            PlaceKind::Device => stream::write(stream::open_device(&self.path)?, render),
            PlaceKind::Descriptor(_) => match &self.descriptor {
                Some(file) => stream::write(file.try_clone()?, render),
                None => Err(io::ErrorKind::NotConnected.into()),
            },
            PlaceKind::Other(kind) => Err(io::Error::other(OutputRefusal::Kind { kind })),
        }
    }
}

fn kind_of(there: &Metadata) -> PlaceKind {
    let kind = there.file_type();
    if kind.is_file() {
        PlaceKind::File
    } else if kind.is_fifo() {
        PlaceKind::Pipe
    } else if kind.is_char_device() {
        PlaceKind::Device
    } else if kind.is_dir() {
        PlaceKind::Other("directory")
    } else if kind.is_block_device() {
        PlaceKind::Other("block device")
    } else {
        PlaceKind::Other("socket")
    }
}

fn identity_of(there: &Metadata) -> Identity {
    Identity::There { device: there.dev(), inode: there.ino() }
}
