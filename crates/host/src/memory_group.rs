//! A temporary control group with a memory limit, to reproduce on a large machine what happens on a small
//! one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::cgroup::{directories, groups_of};
use super::system::System;

/// The group. Dropping it moves the process back and removes the group.
#[derive(Debug)]
pub struct MemoryGroup {
    home: PathBuf,
    own: PathBuf,
}

impl MemoryGroup {
    /// Creates a group below the process's current one, limits its memory (page cache included) to
    /// `limit_bytes`, and moves the process into it. Creating groups usually takes root, and version 2 allows
    /// no process in a group that has limited groups below it.
    pub fn enter(limit_bytes: u64) -> io::Result<Self> {
        let system = System::here();
        let (home, is_v1) = memory_home(&system)
            .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "no memory controller is mounted"))?;
        let own = home.join(format!("iostall-{}", std::process::id()));
        recreate(&own)?;
        let group = Self { home, own };
        let limit = if is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        fs::write(group.own.join(limit), limit_bytes.to_string())?;
        move_to(&group.own)?;
        Ok(group)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // If the process cannot leave the group, it remains empty or is removed by the system; harmless.
        if move_to(&self.home).is_ok() {
            let _ = fs::remove_dir(&self.own);
        }
    }
}

/// Creates the group. An existing one was left by a killed process with the same pid; one in use cannot be
/// removed.
fn recreate(group: &Path) -> io::Result<()> {
    if group.exists() {
        fs::remove_dir(group)?;
    }
    fs::create_dir(group)
}

fn move_to(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// The directory of the group whose memory controller this process is under, and whether it is version 1.
fn memory_home(system: &System) -> Option<(PathBuf, bool)> {
    let mounts = system.mounts();
    groups_of(system).into_iter().find_map(|group| {
        let is_v1 = group.controllers.iter().any(|name| name == "memory");
        let mount = mounts.iter().find(|mount| group.is_on(mount))?;
        let directory = directories(mount, &group.path).into_iter().next()?;
        let limits_memory = is_v1
            || (group.controllers.is_empty()
                && system
                    .text(directory.join("cgroup.controllers"))
                    .is_some_and(|names| names.split_whitespace().any(|name| name == "memory")));
        limits_memory.then_some((directory, is_v1))
    })
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;
    use super::*;

    #[test]
    fn what_a_killed_process_left_under_our_number_is_no_hindrance() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path().join("iostall-1");
        recreate(&group).unwrap();
        recreate(&group).unwrap();
        fs::write(group.join("in-use"), "").unwrap();
        assert!(recreate(&group).is_err());
    }

    #[test]
    fn the_memory_controller_is_found_in_either_version() {
        let (_root, system) = made_up(&[
            ("proc/self/cgroup", "4:memory:/box\n1:cpu:/box\n0::/\n"),
            ("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
        ]);
        assert_eq!(memory_home(&system), Some((PathBuf::from("/sys/fs/cgroup/memory/box"), true)));
        let (_root, system) = made_up(&[
            ("proc/self/cgroup", "0::/user.slice\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/user.slice/cgroup.controllers", "cpu memory pids\n"),
        ]);
        assert_eq!(memory_home(&system), Some((PathBuf::from("/sys/fs/cgroup/user.slice"), false)));
    }
}
