//! Files that have no name: nothing of them is left, whatever ends this process.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{MemfdFlags, Mode, OFlags, fchmod, memfd_create};

use crate::random::random_bytes;

/// How a program finds its standard input under a name. A file is there from its beginning, as often as it is opened.
pub const INPUT_NAME: &str = "/proc/self/fd/0";

/// A file with this content in memory, which nobody else may read.
pub fn in_memory(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("iostall", MemfdFlags::CLOEXEC)?);
    // Everybody may write to it at first, and then some programs do not trust its content.
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    file.write_all(content)?;
    Ok(file)
}

pub fn unnamed(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(file.into()),
        // Not every file system has such files.
        Err(_) => named_and_removed(directory),
    }
}

/// It has a name for a moment, in which nothing is in it.
fn named_and_removed(directory: &Path) -> io::Result<File> {
    let number = u128::from_le_bytes(random_bytes()?);
    let path = directory.join(format!(".iostall-{number:032x}"));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::files::read_at;

    /// The story: a password was in a file that was removed as soon as it was read, and a kill came before.
    #[test]
    fn a_program_reads_its_input_by_name_more_than_once_and_nobody_else_may() {
        let file = in_memory(b"[client]\npassword = \"geheim\"\n").unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        let mut cat = Command::new("cat");
        cat.args([INPUT_NAME, INPUT_NAME]).stdin(Stdio::from(file));
        let output = cat.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap().matches("geheim").count(), 2);
    }

    #[test]
    fn an_unnamed_file_is_written_and_read_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        for mut file in [unnamed(directory.path()).unwrap(), named_and_removed(directory.path()).unwrap()] {
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
            file.write_all(b"said").unwrap();
            let mut back = [0; 4];
            assert_eq!(read_at(&file, &mut back, 0).unwrap(), 4);
            assert_eq!((&back, file.metadata().unwrap().mode() & 0o777), (b"said", 0o600));
        }
        assert!(unnamed(&directory.path().join("none")).is_err());
    }
}
