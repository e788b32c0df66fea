//! Reading and writing at an offset, for the few places that need no engine.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// One read at `offset`; 0 at the end of the file. Retries after a signal.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

pub fn write_all_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(data, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_at_an_offset_is_read_there_and_behind_the_end_is_nothing() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, b"page", 4096).unwrap();
        let mut buffer = [1; 8];
        assert_eq!(read_at(&file, &mut buffer, 4094).unwrap(), 6);
        assert_eq!(&buffer[..6], b"\0\0page");
        assert_eq!(read_at(&file, &mut buffer, 4100).unwrap(), 0);
    }
}
