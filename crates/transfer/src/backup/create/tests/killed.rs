//! Backups that are killed: at any moment there is a whole backup, or nothing that looks like one.

use std::fs;
use std::process::{Child, Command, Stdio};

use iostall_measure::{Clock as _, MonotonicClock};

use super::read_back::ReadBack;
use super::*;

/// Where the child works.
const DIRECTORY: &str = "IOSTALL_TEST_KILLED_BACKUP";
/// How many are killed; more with `IOSTALL_TEST_KILLS`.
const KILLS: u64 = 6;
const STRIPES: [&str; 3] = ["a.iob", "b.iob", "c.iob"];

fn targets(directory: &Path) -> Vec<PathBuf> {
    STRIPES.iter().map(|name| directory.join(name)).collect()
}

/// What is killed. It does nothing when all tests are run.
#[test]
fn a_backup_in_a_process_of_its_own() {
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    back_up(&[&directory.join("data")], &options(&targets(&directory))).unwrap();
}

fn start(directory: &Path) -> Child {
    let name = "backup::create::tests::killed::a_backup_in_a_process_of_its_own";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the child must have done before it is killed.
fn has_come_to(stage: u64, directory: &Path) -> bool {
    let names = names_in(directory);
    let is_partial = |name: &&String| name.starts_with('.') && name.ends_with(".partial");
    match stage {
        0 => names.iter().any(|name| is_partial(&name)),
        1 => names.iter().filter(is_partial).count() == STRIPES.len(),
        2 => names.contains(&"a.iob".to_owned()),
        3 => names.contains(&"c.iob".to_owned()),
        4 => names.iter().any(|name| name.contains("manifest")),
        _ => names.contains(&"a.iob.manifest".to_owned()),
    }
}

/// The power went while the nightly backup was renamed, and nobody could say whether it was whole.
#[test]
fn a_backup_that_is_killed_is_whole_or_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path();
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    for index in 0..40u64 {
        let size = usize::try_from(index * index * 700).unwrap();
        fs::write(data.join(format!("{index}")), content(index, size)).unwrap();
    }
    let kills = std::env::var("IOSTALL_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let clock = MonotonicClock::new();
    let (mut whole, mut left_over) = (0, 0);
    for kill in 0..kills {
        let mut child = start(directory);
        // One that has ended first is as good as one that was killed.
        while !has_come_to(kill % 6, directory) && child.try_wait().unwrap().is_none() {
            clock.sleep_until(clock.now_ns() + 100_000);
        }
        // Not always at once.
        clock.sleep_until(clock.now_ns() + kill / 6 * 300_000);
        child.kill().unwrap();
        child.wait().unwrap();
        let manifest = directory.join("a.iob.manifest");
        if manifest.exists() {
            ReadBack::of(&manifest, &targets(directory)).assert_is(&data);
            whole += 1;
            fs::remove_file(&manifest).unwrap();
        }
        // Names that were given must be taken away by a person, who is told what they are.
        let named: Vec<_> = targets(directory).into_iter().filter(|path| path.exists()).collect();
        if !named.is_empty() {
            let error = back_up(&[&data], &options(&targets(directory))).unwrap_err();
            assert!(error.hint().unwrap().contains("backup rebuild"), "{error}");
            left_over += 1;
            for path in &named {
                fs::remove_file(path).unwrap();
            }
        }
        // What has a temporary name goes by itself.
        let made = back_up(&[&data], &options(&targets(directory))).unwrap();
        let path = made.manifest_path.unwrap();
        ReadBack::of(&path, &targets(directory)).assert_is(&data);
        let mut expected: Vec<_> = STRIPES.map(str::to_owned).to_vec();
        expected.extend(["a.iob.manifest".to_owned(), "data".to_owned()]);
        expected.sort();
        assert_eq!(names_in(directory), expected);
        for name in targets(directory).iter().chain([&path]) {
            fs::remove_file(name).unwrap();
        }
    }
    assert!(whole <= kills && left_over >= whole);
}
