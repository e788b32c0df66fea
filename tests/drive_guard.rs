//! `iostall drive guard`: a volume that became slower, what is paid for, and a canary.

use std::fs;

use crate::postgres::Postgres;
use crate::slow_disk::SlowDisk;
use crate::support::{Workspace, skip};

/// Short probes with few in flight.
const SHORT: [&str; 10] =
    ["drive", "guard", "--probe", "200ms", "--queue-depth", "4", "--size", "32M", "--json", "o.json"];

/// The vendor's promise was 3,000; the volume gave 400 from the first day.
#[test]
fn a_volume_that_gives_less_than_is_paid_for_ends_with_1() {
    let here = Workspace::new();
    let Some(disk) = SlowDisk::new(&here, "volume", 256, 400) else { return };
    // A new file would leave less than must stay free of so small a volume.
    fs::write(here.path("volume/data.dat"), vec![1; 32 << 20]).unwrap();
    let asked = ["--capacity", "3000iops", "--junit", "o.xml", "volume/data.dat"];
    let ran = disk.run(&here, &[&SHORT[..], &asked].concat());
    assert!(ran.stdout.contains("is paid for"), "{}", ran.stdout);
    let figure = &here.json("o.json")["summary"]["figures"][0];
    assert_eq!(figure["against"], "paid-for", "{figure}");
    if ran.stdout.contains("cannot be judged") {
        // Other tests had the processors.
        ran.expect_status(0);
        assert_eq!(figure["state"], "cannot-be-judged", "{figure}");
    } else {
        ran.expect_status(1);
        assert_eq!(figure["state"], "slower", "{figure}");
        assert!(fs::read_to_string(here.path("o.xml")).unwrap().contains("<failure"));
    }
    let kept = ["--capacity", "380iops", "volume/data.dat"];
    disk.run(&here, &[&SHORT[..], &kept].concat()).expect_status(0);
}

#[test]
fn a_first_run_is_the_baseline_of_the_next_and_the_page_has_its_history() {
    let here = Workspace::new();
    let Some(disk) = SlowDisk::new(&here, "volume", 256, 400) else { return };
    // A new file would leave less than must stay free of so small a volume.
    fs::write(here.path("volume/data.dat"), vec![1; 32 << 20]).unwrap();
    let first = disk.run(&here, &[&SHORT[..], &["volume/data.dat"]].concat()).expect_status(0);
    assert!(first.stdout.contains("nothing to compare with"), "{}", first.stdout);
    let again = ["--baseline", "1", "--html", "o.html", "volume/data.dat"];
    let ran = disk.run(&here, &[&SHORT[..], &again].concat()).expect_status(0);
    let run = here.json("o.json");
    assert_eq!(run["guard"]["history"].as_array().unwrap().len(), 1, "{}", ran.stdout);
    assert_ne!(run["summary"]["figures"][0]["state"], "slower");
    assert!(fs::read_to_string(here.path("o.html")).unwrap().contains("span-1-history"));
    let other = ["--baseline", "1", "--workers", "2", "volume/data.dat"];
    let refused = disk.run(&here, &[&SHORT[..], &other].concat()).expect_status(2);
    assert!(
        refused.stderr.contains("cannot be compared") || refused.stderr.contains("can be compared"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_canary_asks_for_little() {
    let here = Workspace::new();
    let words =
        ["drive", "guard", "--canary", "--probe", "100ms", "--size", "16M", "--json", "o.json", "data.dat"];
    here.run(&words).expect_status(0);
    let run = here.json("o.json");
    if run["guard"]["ended"] != "busy" {
        let count = run["guard"]["points"][0]["repeats"].as_array().unwrap().iter();
        let count: u64 = count.map(|probe| probe["count"].as_u64().unwrap()).sum();
        assert!((50..=130).contains(&count), "{count}");
    }
    here.run(&["drive", "guard", "--baseline", "nothing", "data.dat"]).expect_status(2);
}

/// The device of a database that commits all the time may look quiet: here the server does not even wait for it.
#[test]
fn a_canary_leaves_a_watched_database_alone_that_works() {
    let here = Workspace::new();
    let Some(server) = Postgres::start() else {
        skip("a canary beside a database", "PostgreSQL is not installed");
        return;
    };
    let url = server.url("postgres", &here.secret("word", "right\n"));
    let collect = || here.run(&["collect", "once", &url]).expect_status(0);
    let canary = || {
        let probe = ["--probe", "100ms", "--size", "16M", "--json", "o.json", "data.dat"];
        let ran = here.run(&[&["drive", "guard", "--canary"][..], &probe].concat()).expect_status(0);
        (here.json("o.json")["guard"]["ended"].clone(), ran.stdout)
    };
    collect();
    server.sql(include_str!("sql/canary_commits.sql"));
    collect();
    let (ended, said) = canary();
    assert_eq!(ended, "database-busy", "{said}");
    assert!(said.contains("postgres://") && said.contains("reads and writes a second"), "{said}");
    assert!(here.json("o.json")["guard"]["points"].as_array().unwrap().is_empty());
    collect();
    let (ended, said) = canary();
    assert_ne!(ended, "database-busy", "{said}");
    assert_ne!(ended, "database-unknown", "{said}");
}
