//! What PostgreSQL's own `pg_combinebackup` makes of the same increments.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostall_transfer::Progress;
use iostall_transfer::backup::read::{OpenSet, open};
use iostall_transfer::backup::restore::{RestoreOptions, restore};

use super::programs_of_18::program;
use super::server_increments::{made, make_chain, restored};
use super::servers::postgres::Postgres;
use super::servers::{directory, skip};

const CONTENT: &str = "iostall_tablespaces";
const MANIFEST: &str = "backup_manifest";

/// The directories of one backup as the server has sent it.
struct Sent {
    data: PathBuf,
    tablespaces: Vec<PathBuf>,
}

/// The sets of a chain, oldest first, below `place`.
fn as_sent(mut set: OpenSet, place: &Path) -> Vec<Sent> {
    // Without what it is based on nothing is put together.
    let chain = std::mem::take(&mut set.chain);
    let mut all: Vec<&OpenSet> = chain.there().map(|(_, base)| base).collect();
    all.reverse();
    all.push(&set);
    let one = |(number, set): (usize, &OpenSet)| {
        let data = place.join(number.to_string());
        let options = RestoreOptions::default();
        restore(set, &data, &options, &Progress::default()).map_err(|not| not.error).unwrap();
        // The tool knows tablespaces as a server has them: elsewhere.
        let links = fs::read_dir(data.join("pg_tblspc")).unwrap().map(|link| link.unwrap().path());
        let tablespaces = links.map(|link| {
            let oid = link.file_name().unwrap();
            let there = place.join(format!("{number}-{}", oid.display()));
            fs::rename(data.join(CONTENT).join(oid), &there).unwrap();
            fs::remove_file(&link).unwrap();
            symlink(&there, &link).unwrap();
            there
        });
        let tablespaces = tablespaces.collect();
        fs::remove_dir(data.join(CONTENT)).unwrap();
        Sent { data, tablespaces }
    };
    all.into_iter().enumerate().map(one).collect()
}

/// All files below `directory`, under their names in a backup below `prefix`.
fn files(directory: &Path, prefix: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(path) = left.pop() {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.insert(prefix.join(path.strip_prefix(directory).unwrap()), fs::read(&path).unwrap());
        }
    }
    found
}

fn is_map(name: &Path) -> bool {
    name.to_string_lossy().ends_with("_vm")
}

/// Bits that are set in `map` and not in `truth`.
fn stale_bits(map: &[u8], truth: &[u8]) -> u32 {
    let truth = truth.iter().copied().chain(std::iter::repeat(0));
    // Behind the header of each page, whose checksum differs with its content.
    let of_map = map.iter().zip(truth).enumerate().filter(|(at, _)| at % 8192 >= 24);
    of_map.map(|(_, (ours, truth))| (ours & !truth).count_ones()).sum()
}

/// Our reading of the format was compared with nobody else's.
#[test]
fn increments_of_18_are_put_together_as_its_own_tool_does_but_for_visibility_maps() {
    let Some(tool) = program("pg_combinebackup") else { return skip("pg_combinebackup: it cannot be had") };
    let Some(server) = Postgres::start_checked(18) else { return skip("PostgreSQL 18: it cannot be had") };
    let (sets, space) = (tempfile::tempdir().unwrap(), directory());
    let (last, _) = make_chain(&server, sets.path(), space.path());
    let elsewhere = tempfile::tempdir().unwrap();
    let whole = made(server.port, elsewhere.path(), "whole.iob", false);
    drop(server);

    let set = open(std::slice::from_ref(&last), None).unwrap();
    let ours = restored(&set);
    let truth = restored(&open(&[whole], None).unwrap());
    let [ours, truth] = [ours, truth].map(|place| files(&place.path().join("data"), Path::new("")));
    let place = tempfile::tempdir().unwrap();
    let inputs = as_sent(set, place.path());
    assert_eq!(inputs.len(), 6);
    let out = place.path().join("out");
    let mut combine = Command::new(&tool);
    combine.args(inputs.iter().map(|sent| &sent.data)).arg("--no-sync").arg("-o").arg(&out);
    let newest = inputs.last().unwrap();
    for from in &newest.tablespaces {
        let to = place.path().join("moved").join(from.file_name().unwrap());
        combine.arg(format!("--tablespace-mapping={}={}", from.display(), to.display()));
    }
    let output = combine.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut theirs = files(&out, Path::new(""));
    for from in &newest.tablespaces {
        let name = from.file_name().unwrap().to_string_lossy();
        let oid = name.split_once('-').unwrap().1;
        theirs.extend(files(&place.path().join("moved").join(&*name), &Path::new(CONTENT).join(oid)));
    }
    assert!(
        theirs.remove(Path::new(MANIFEST)).is_some(),
        "it makes a manifest of the result, and we make none"
    );

    assert!(ours.keys().eq(theirs.keys()), "not the same files");
    let different: Vec<_> = ours.iter().filter(|(name, bytes)| theirs[*name] != **bytes).collect();
    let others: Vec<_> = different.iter().filter(|(name, _)| !is_map(name)).map(|(name, _)| name).collect();
    assert!(ours.len() > 500 && others.is_empty(), "{others:?}");
    assert!(different.iter().all(|(_, bytes)| bytes.is_empty()), "our maps are empty");
    // Why they are: the tool's say of rows that everybody can see them, and some are gone. Once the server's increments are right,
    // this fails, and maps may be kept.
    let stale = |(name, _): &&(&PathBuf, &Vec<u8>)| stale_bits(&theirs[*name], &truth[*name]) > 0;
    assert!(different.iter().any(|one| stale(&one)), "{} maps are right", different.len());
}
