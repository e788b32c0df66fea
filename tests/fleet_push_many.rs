//! Two hundred servers take releases from one centre, and some of them fail.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use iostall_watch::centre::Centre as ToCentre;
use iostall_watch::deploy::{Policy, PushAgent};
use iostall_watch::{Asked, PushFollower};
use jiff::SignedDuration;

use crate::fleet_agents::{Fleet, write_key};
use crate::fleet_centre::Centre;
use crate::fleet_push::Pushing;
use crate::postgres::Postgres;

const SERVERS: u64 = 200;
const THREADS: usize = 16;

/// A server in a directory of its own.
struct Simulated {
    etc: PathBuf,
    follower: Mutex<PushFollower>,
}

impl Simulated {
    fn new(number: u64, fleet: &Fleet<'_>, key: &str) -> Self {
        let place = fleet.place.join(number.to_string());
        let etc = place.join("etc");
        fs::create_dir_all(&etc).unwrap();
        // Servers 100 to 109, which are in the second ring, take no other file than this.
        let names = if (100..110).contains(&number) { "a.toml" } else { "*" };
        let policy = place.join("push.toml");
        let text = format!(
            "keys = [\"{key}\"]\nstate = \"{}\"\n[[allow]]\nkind = \"settings\"\nnames = [\"{names}\"]\ndirectory = \"{}\"\n",
            place.join("state").display(),
            etc.display()
        );
        fs::write(&policy, text).unwrap();
        fs::set_permissions(&policy, fs::Permissions::from_mode(0o644)).unwrap();
        let store = place.join("store.db");
        write_key(&store, number, fleet);
        // What was there before any release.
        fs::write(etc.join("own.toml"), format!("number = {number}\n")).unwrap();
        let (agent, _) = PushAgent::open(Policy::read(&policy).unwrap()).unwrap();
        let centre = ToCentre::open(&store, fleet.address).unwrap();
        Self { etc, follower: Mutex::new(PushFollower::new(agent, centre)) }
    }

    fn files(&self) -> BTreeMap<PathBuf, String> {
        let entries = fs::read_dir(&self.etc).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
    }
}

/// All of them ask, again and again, until nothing is wanted of anybody; how many releases were applied, and how many refused.
fn ask_all(servers: &[Simulated]) -> (usize, usize) {
    let (mut applied, mut refused) = (0, 0);
    loop {
        let counts = Mutex::new((0, 0));
        std::thread::scope(|scope| {
            for part in servers.chunks(servers.len().div_ceil(THREADS)) {
                let counts = &counts;
                scope.spawn(move || {
                    for server in part {
                        match server.follower.lock().unwrap().ask().unwrap() {
                            Asked::Nothing => {}
                            Asked::Applied(_) => counts.lock().unwrap().0 += 1,
                            Asked::Refused { .. } => counts.lock().unwrap().1 += 1,
                        }
                    }
                });
            }
        });
        let (more, failed) = counts.into_inner().unwrap();
        (applied, refused) = (applied + more, refused + failed);
        if more + failed == 0 {
            return (applied, refused);
        }
    }
}

fn all_files(servers: &[Simulated]) -> Vec<BTreeMap<PathBuf, String>> {
    servers.iter().map(Simulated::files).collect()
}

#[test]
fn a_ring_in_which_too_many_fail_halts_a_push_and_undoing_it_leaves_every_file_as_before() {
    let settings: &[&str] = &["fsync=off", "autovacuum=off"];
    let centre = Centre::start_on(Postgres::made_and_set(&["-E", "UTF8"], settings));
    let Some(pushing) = Pushing::start(centre) else { return };
    let add = include_str!("sql/add_members.sql").replace("{last}", &(SERVERS - 1).to_string());
    pushing.centre.server.sql(&add);
    let place = tempfile::tempdir().unwrap();
    let (address, fingerprint) = (pushing.centre.address(), pushing.centre.fingerprint.clone());
    let fleet = Fleet {
        servers: SERVERS,
        interval: SignedDuration::from_secs(60),
        address: &address,
        fingerprint: &fingerprint,
        place: Path::new(place.path()),
    };
    let servers: Vec<Simulated> =
        (0..SERVERS).map(|number| Simulated::new(number, &fleet, &pushing.signer.public_key)).collect();
    assert_eq!(ask_all(&servers), (0, 0));
    let first = pushing.signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    pushing.push("apply", &[&first]).expect_status(0);
    assert_eq!(ask_all(&servers), (200, 0));
    let status = pushing.json("status", &["1"]);
    assert_eq!(
        (&status[0]["state"], &status[0]["ring"], &status[0]["applied"]),
        (&"done".into(), &3.into(), &200.into())
    );
    let before = all_files(&servers);
    let second = pushing.signer.release(2, &[("settings/a.toml", "a = 2\n"), ("settings/b.toml", "b = 2\n")]);
    pushing.push("apply", &[&second]).expect_status(0);
    let (applied, refused) = ask_all(&servers);
    let status = pushing.json("status", &["2"]);
    let count = |name: &str| usize::try_from(status[0][name].as_u64().unwrap()).unwrap();
    assert_eq!(
        (&status[0]["state"], &status[0]["ring"], count("asked")),
        (&"halted".into(), &2.into(), 0),
        "{status}"
    );
    assert_eq!((count("applied"), count("failed")), (applied, refused));
    assert!((1..=10).contains(&refused) && applied + refused <= 20 && count("left") >= 180, "{status}");
    let now = all_files(&servers);
    let changed = before.iter().zip(&now).filter(|(before, now)| before != now).count();
    assert_eq!(changed, applied, "who failed has changed nothing");
    pushing.push("rollback", &["2", "--permit", &pushing.signer.permit(&second)]).expect_status(0);
    ask_all(&servers);
    assert_eq!(pushing.json("status", &["2"])[0]["state"], "undone");
    assert_eq!(all_files(&servers), before, "every file is as before");
    assert!(
        pushing
            .push("drift", &[])
            .expect_status(0)
            .stdout
            .contains("200 of 200 objects are as they should be")
    );
}
