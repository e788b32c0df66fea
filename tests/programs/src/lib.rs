//! Programs of others that tests run and Debian does not have: fetched once, and kept under the target directory.
//!
//! Tests of several threads and processes share them: whoever needs one that somebody is fetching waits. Everything returns `None`
//! where it cannot be had.

mod postgres;
mod stores;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

pub use postgres::postgres;
pub use stores::{moto, s3s};

/// The file that says that all is there.
const COMPLETE: &str = "complete";

/// The directory `name`, which `fetch` fills if nobody did before.
pub fn kept(name: &str, fetch: impl FnOnce(&Path) -> Option<()>) -> Option<PathBuf> {
    let shared = directory()?;
    let home = shared.join(name);
    if home.join(COMPLETE).exists() {
        return Some(home);
    }
    fs::create_dir_all(&shared).ok()?;
    // Held until the file is closed, also by a process that is killed.
    let lock = File::create(shared.join(format!("{name}.lock"))).ok()?;
    lock.lock().ok()?;
    if !home.join(COMPLETE).exists() {
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(&home).ok()?;
        fetch(&home)?;
        fs::write(home.join(COMPLETE), "").ok()?;
    }
    Some(home)
}

/// `tmp` in the target directory, as cargo has it for tests. Programs of tests are in `target/PROFILE/deps`.
fn directory() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.ancestors().nth(3)?.join("tmp"))
}

/// A Python environment with `packages` of PyPI, as the directory of its programs. One of the same name has the same packages.
pub fn python(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let home = kept(name, |home| {
        run(
            "python3",
            [OsStr::new("-m"), "venv".as_ref(), "--without-pip".as_ref(), home.as_os_str()],
            home,
        )?;
        install(&[OsStr::new("--python"), home.join("bin/python").as_os_str()], &["install"], packages, home)
    })?;
    Some(home.join("bin"))
}

/// The files of `packages` of PyPI alone, without what they depend on.
pub fn python_files(name: &str, packages: &[&str]) -> Option<PathBuf> {
    kept(name, |home| install(&[], &["install", "--no-deps", "--target", "."], packages, home))
}

/// Runs one pip for all environments: to make one takes longer than most packages. Compiled when they are imported, which most are not.
fn install(global: &[&OsStr], command: &[&str], packages: &[&str], place: &Path) -> Option<()> {
    let pip = kept("pip", |home| {
        run("python3", [OsStr::new("-m"), "venv".as_ref(), home.as_os_str()], home).map(drop)
    })?;
    let always = ["--quiet", "--disable-pip-version-check", "--no-compile"];
    let words = command.iter().chain(&always).chain(packages).map(OsStr::new);
    run(pip.join("bin/pip"), global.iter().copied().chain(words), place).map(drop)
}

/// A package of npm with what it depends on, as the directory with its `node_modules`.
pub fn npm(package: &str) -> Option<PathBuf> {
    kept(package, |home| {
        let arguments = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", ".", package];
        run("npm", arguments, home).map(drop)
    })
}

/// Artifacts of Maven, as the directory with their files.
pub fn maven(name: &str, artifacts: &[&str]) -> Option<PathBuf> {
    const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
    kept(name, |home| {
        let into = format!("-DoutputDirectory={}", home.display());
        artifacts.iter().try_for_each(|artifact| {
            run("mvn", ["-q", "-B", COPY, &format!("-Dartifact={artifact}"), &into], home).map(drop)
        })
    })
}

/// The program `name` of a package of crates.io, built. It is no dependency, so that neither the lock file nor the build of iostall
/// grows.
fn cargo(package: &str, version: &str, arguments: &[&str], name: &str) -> Option<PathBuf> {
    let home = kept(&format!("{package}-{version}"), |home| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut words =
            vec!["install", "--quiet", "--debug", "--locked", "--root", ".", "--target-dir", "build"];
        words.extend(["--version", version, package]);
        words.extend(arguments);
        run(cargo, words, home)?;
        fs::remove_dir_all(home.join("build")).ok()
    })?;
    Some(home.join("bin").join(name))
}

/// What `program` prints; `None` if it fails.
pub fn run(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    place: &Path,
) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(place).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_many_need_at_once_is_fetched_once_and_what_failed_again() {
        let name = format!("programs-test-{}", std::process::id());
        assert_eq!(kept(&name, |_| None), None);
        let fetched = AtomicUsize::new(0);
        let fetch = || {
            kept(&name, |home| {
                fetched.fetch_add(1, Ordering::Relaxed);
                fs::write(home.join("file"), "").ok()
            })
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(fetch)).collect();
            assert!(all.into_iter().all(|one| one.join().unwrap().unwrap().join("file").exists()));
        });
        assert_eq!(fetched.into_inner(), 1);
        let place = directory().unwrap();
        fs::remove_dir_all(place.join(&name)).unwrap();
        fs::remove_file(place.join(format!("{name}.lock"))).unwrap();
    }
}
