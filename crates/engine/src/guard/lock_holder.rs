//! The process that holds a lock.

use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    pub pid: Option<u32>,
    pub program: Option<String>,
    pub is_iostall: bool,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.program) {
            (Some(pid), _) if self.is_iostall => write!(f, "another run of iostall (process {pid})"),
            (Some(pid), Some(program)) => write!(f, "{program} (process {pid}), which has locked it"),
            (Some(pid), None) => write!(f, "process {pid}, which has locked it"),
            (None, _) => f.write_str("another program, which has locked it"),
        }
    }
}
