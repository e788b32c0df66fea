//! Recognises Windows paths. On Linux each is a valid file name, but never what the user meant.

use crate::named;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WindowsPath {
        /// `D:`, `\\.\D:`.
        Volume = "volume",
        /// `\\.\PhysicalDrive1`.
        PhysicalDrive = "physical drive",
        /// `D:\data\t.dat`, `D:/data/t.dat`.
        File = "path",
        /// `\\server\share\t.dat`.
        Share = "network path",
    }
}

impl WindowsPath {
    /// What `path` refers to on Windows; `None` for ordinary names. `a:b` is ordinary, because people use
    /// such names.
    pub fn of(path: &str) -> Option<Self> {
        if let Some(device) = path.strip_prefix(r"\\.\").or_else(|| path.strip_prefix(r"\\?\")) {
            return Some(match Self::of(device) {
                Some(other) => other,
                None => Self::PhysicalDrive,
            });
        }
        if path.starts_with(r"\\") {
            return Some(Self::Share);
        }
        match path.as_bytes() {
            [letter, b':'] if letter.is_ascii_alphabetic() => Some(Self::Volume),
            [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic() => Some(Self::File),
            _ => None,
        }
    }

    /// What to use instead on Linux.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Volume | Self::PhysicalDrive => {
                "name the block device, such as /dev/nvme0n1 or /dev/sdb1; `lsblk` lists them"
            }
            Self::File => {
                "name a file below the mount point of that disk, such as /data/t.dat; `df` lists them"
            }
            Self::Share => "mount the share (mount -t cifs //server/share /mnt) and name a file below it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_windows_shows_is_known_and_what_people_name_files_is_not() {
        for (path, kind) in [
            ("D:", WindowsPath::Volume),
            (r"C:\io\t.dat", WindowsPath::File),
            ("c:/io/t.dat", WindowsPath::File),
            (r"\\srv\share\t.dat", WindowsPath::Share),
            (r"\\.\PhysicalDrive1", WindowsPath::PhysicalDrive),
            (r"\\.\D:", WindowsPath::Volume),
            (r"\\?\C:\long\t.dat", WindowsPath::File),
        ] {
            assert_eq!(WindowsPath::of(path), Some(kind), "{path}");
        }
        for path in
            ["a:b", "t.dat", "/mnt/c:/t.dat", r"./C:\t.dat", "2024-01-01T10:00", "s3:/x", "", "é:", r"a\b"]
        {
            assert_eq!(WindowsPath::of(path), None, "{path}");
        }
    }
}
