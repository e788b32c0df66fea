//! `iostall drive flash`: the simulated device from the command line, in every output, and what is refused.

use serde_json::Value;

use crate::support::Workspace;

/// Few pages, so that a run is over in a second.
const SMALL: [&str; 8] = ["drive", "flash", "--size", "256M", "--block", "256K", "--fills", "12"];

fn run(here: &Workspace, words: &[&str]) -> Value {
    here.run(&[&SMALL[..], words, &["--json", "o.json"]].concat()).expect_status(0);
    here.json("o.json")
}

fn amplification(run: &Value) -> f64 {
    run["summary"]["write_amplification"].as_f64().expect("an amplification")
}

fn assert_near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found / wanted - 1.0).abs() <= tolerance, "{found} for {wanted}");
}

/// A DBA asked how much a drive with 7 % spare area writes, and had to read papers.
#[test]
fn the_published_amplification_is_found_and_stands_in_every_output() {
    let here = Workspace::new();
    let outputs = ["--spare", "12%", "--csv", "o.csv", "--html", "o.html", "--markdown", "o.md"];
    let words = [&SMALL[..], &outputs, &["--json", "o.json"]].concat();
    let ran = here.run(&words).expect_status(0);
    let run = here.json("o.json");
    // 4.531 by the mean field of 64 pages a block; a thousand blocks are a little below.
    assert_near(amplification(&run), 4.531, 0.01);
    let between = &run["flash"]["write_amplification"];
    assert!(between["low"].as_f64() < between["high"].as_f64(), "{between}");
    for (file, text) in [
        ("o.csv", "fills,host_pages,moved_pages,erased_blocks,write_amplification"),
        ("o.md", "write amplification"),
        ("o.html", "write amplification"),
    ] {
        let written = std::fs::read_to_string(here.path(file)).unwrap();
        assert!(written.contains(text), "{file}: {written:.300}");
    }
    assert_eq!(std::fs::read_to_string(here.path("o.csv")).unwrap().lines().count(), 121);
    for word in ["greedy, mean field", "4.53", "cliff", "alpha 1.1200", "4.85"] {
        assert!(ran.stdout.contains(word), "{word}:\n{}", ran.stdout);
    }
    let listed = here.run(&["runs"]).expect_status(0);
    assert!(listed.stdout.contains("flash"), "{}", listed.stdout);
    let again =
        here.run(&[&SMALL[..], &["--spare", "12%", "--json", "again.json"]].concat()).expect_status(0);
    assert!(again.stdout.contains("write amplification"));
    assert_eq!(
        here.json("again.json")["flash"]["tenths"],
        run["flash"]["tenths"],
        "another result from one seed"
    );
}

#[test]
fn patterns_collection_and_trims_change_the_amplification_as_published() {
    let here = Workspace::new();
    let of = |words: &[&str]| amplification(&run(&here, &[&["--spare", "28%"], words].concat()));
    assert_near(of(&["--collect", "fifo"]), 2.481, 0.01);
    assert_near(of(&["--hot", "10:90"]), 3.235, 0.02);
    assert_near(of(&["--hot", "10:90", "--separate", "moved"]), 2.799, 0.02);
    assert_near(of(&["--zones", "50/5:30/15:20/80", "--collect", "fifo"]), 3.03, 0.02);
    assert_near(of(&["--trim", "20%"]), 1.418, 0.02);
    assert_near(of(&["--sequential"]), 1.0, 1e-9);
    assert!(of(&["--zipf", "0.9", "--collect", "d:10"]) > 1.5);
}

/// "How much spare area does my pattern need, and how long does the drive last?"
#[test]
fn the_spare_area_for_an_amplification_and_the_life_are_computed() {
    let here = Workspace::new();
    let words = ["--want-wa", "2.403", "--endurance", "3000", "--per-day", "1GB"];
    let run = run(&here, &words);
    let spare = &run["flash"]["spare_for"]["spare"];
    assert_near(spare["mean"].as_f64().unwrap(), 0.28, 0.02);
    assert!(spare["low"].as_f64().unwrap() > 0.26 && spare["high"].as_f64().unwrap() < 0.3, "{spare}");
    assert_near(amplification(&run), 2.403, 0.01);
    // 3,000 erases of 1.28 times 256 MiB, over the amplification and the spread of the wear.
    let spread = run["summary"]["wear_spread"].as_f64().unwrap();
    let written = 3000.0 * 1.28 * 268_435_456.0 / 2.403 / spread;
    assert_near(run["summary"]["written_bytes_max"].as_f64().unwrap(), written, 0.03);
    assert_near(run["summary"]["life_days"].as_f64().unwrap(), written / 1e9, 0.03);
}

#[test]
fn what_cannot_be_simulated_is_refused_with_what_to_do() {
    let here = Workspace::new();
    for (words, said) in [
        (&["--spare", "0%"][..], "spare area"),
        (&["--trim", "50%"], "below 0.5"),
        (&["--block", "1K"], "a block has 1 to 32,768 pages"),
        (&["--block", "6K"], "a block of 6144 bytes is no whole number of pages of 4096 bytes"),
        (&["--size", "64T", "--whole"], "17179869184 pages"),
        (&["--size", "0"], "cannot be simulated"),
        (&["--want-wa", "1"], "cannot be had"),
        (&["--zipf=-1"], "theta"),
        (&["--zipf", "nan"], "theta"),
        (&["--want-wa", "5", "--sequential"], "no spare area"),
        (&["--size", "64T", "--whole"], "more than 2^32"),
    ] {
        let ran = here.run(&[&["drive", "flash"], words].concat()).expect_status(2);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("hint:"), "{words:?}: {}", ran.stderr);
    }
    for words in [["--hot", "0:90"], ["--zones", "50/5"], ["--collect", "best"], ["--times", "1,2"]] {
        here.run(&[&["drive", "flash"], &words[..]].concat()).expect_status(2);
    }
    here.run(&["drive", "flash", "--hot", "10:90", "--zipf", "0.9"]).expect_status(2);
}

/// A simulation of hours was interrupted, and its results were wanted.
#[test]
fn an_interrupted_simulation_keeps_its_results() {
    let here = Workspace::new();
    let words = ["drive", "flash", "--size", "256M", "--fills", "10000", "--json", "o.json"];
    let simulation = here.start(&words);
    crate::support::pause(1500);
    simulation.signal("INT");
    let ran = simulation.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED"), "{}", ran.stdout);
    let run = here.json("o.json");
    assert_eq!(run["interrupted"], true);
    assert!(run["flash"]["tenths"].as_array().unwrap().len() > 3);
    assert_eq!(run["flash"]["write_amplification"], Value::Null);
}

/// "What do wear levelling, refreshing and a cache cost, and what do they bring?" was asked of each drive on a sheet.
#[test]
fn upkeep_changes_amplification_and_wear_as_it_must_and_stands_in_the_report() {
    let here = Workspace::new();
    let rests = ["--spare", "28%", "--hot", "10:100", "--separate", "classes"];
    let of = |words: &[&str]| run(&here, &[&rests[..], words].concat());
    let spread = |run: &Value| run["summary"]["wear_spread"].as_f64().unwrap();
    let (plain, levelled) = (of(&[]), of(&["--wear-gap", "5"]));
    // Of six fills that count, with few erases a block: the longer, the more it brings.
    assert!(spread(&levelled) < spread(&plain) * 0.9, "{} {}", spread(&levelled), spread(&plain));
    assert!(amplification(&levelled) > amplification(&plain));
    // Nine tenths of the data rest, and are written once in two fills and up to a tenth of that.
    let refreshed = amplification(&of(&["--refresh", "2"])) - amplification(&plain);
    assert!(refreshed > 0.38 && refreshed < 0.47, "{refreshed}");
    // 0.9 of 64 pages for each 100 reads.
    let read = amplification(&of(&["--read-limit", "100", "--reads", "1"])) - amplification(&plain);
    assert!(read > 0.5 && read < 0.65, "{read}");
    let uniform = |words: &[&str]| run(&here, &[&["--spare", "28%"], words].concat());
    // A cache of half a fill keeps 1 - e^-0.5 of the writes, and leaves 28 % and more of spare area.
    let cached = uniform(&["--slc", "50%"]);
    let form = cached["flash"]["closed_forms"][0]["write_amplification"].as_f64().unwrap();
    assert_near(amplification(&cached), form, 0.02);
    let upkeep = &cached["flash"]["upkeep"];
    let absorbed = upkeep["absorbed_pages"].as_f64().unwrap() / upkeep["host_pages"].as_f64().unwrap();
    assert_near(absorbed, 1.0 - (-0.5f64).exp(), 0.02);
    // Five bad blocks in a hundred leave 21.6 %.
    let bad = uniform(&["--bad", "5%"]);
    let formula = bad["flash"]["closed_forms"][0]["write_amplification"].as_f64().unwrap();
    assert_near(amplification(&bad), formula, 0.02);
    let ran = here.run(&[&SMALL[..], &["--spare", "28%", "--grown-bad", "0.05%"]].concat()).expect_status(0);
    assert!(ran.stdout.contains("blocks went bad") && ran.stdout.contains("2,000 erases"), "{}", ran.stdout);
    let ran = here.run(&[&SMALL[..], &["--grown-bad", "50%"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("have gone bad") && ran.stderr.contains("hint:"), "{}", ran.stderr);
    let ran = here.run(&["drive", "flash", "--slc", "101%"]).expect_status(2);
    assert!(ran.stderr.contains("0 to 100 %"), "{}", ran.stderr);
    for words in [["--wear-gap", "0"], ["--refresh", "0"], ["--read-limit", "5"], ["--reads", "1"]] {
        here.run(&[&["drive", "flash"], &words[..]].concat()).expect_status(2);
    }
}

/// The inverse with all of it: the spare area that was found gives the amplification that was wanted.
#[test]
fn the_spare_area_is_found_with_upkeep_too() {
    let here = Workspace::new();
    let words = ["--want-wa", "2.5", "--bad", "3%", "--slc", "5%", "--refresh", "20", "--wear-gap", "20"];
    let run = run(&here, &words);
    assert_near(amplification(&run), 2.5, 0.02);
    let spare = &run["flash"]["spare_for"]["spare"];
    assert!(spare["low"].as_f64() < spare["high"].as_f64(), "{spare}");
}

/// A day of a database's writes was recorded, and somebody wanted to know what they do to a drive.
#[test]
fn the_writes_of_a_file_are_repeated() {
    let here = Workspace::new();
    let small = ["drive", "flash", "--size", "64M", "--block", "128K", "--spare", "12%", "--fills", "12"];
    let of = |text: &str| {
        std::fs::write(here.path("w.csv"), text).unwrap();
        here.run(&[&small[..], &["--writes", "w.csv", "--json", "o.json"]].concat()).expect_status(0);
        here.json("o.json")
    };
    let in_order: Vec<String> = (0..1024).map(|part| format!("{},64K", part * 65536)).collect();
    assert_near(amplification(&of(&format!("offset,length\n{}\n", in_order.join("\n")))), 1.0, 1e-9);
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 16384
    };
    let random: Vec<String> = (0..400_000).map(|_| format!("{},4K\n", next() * 4096)).collect();
    let run = of(&random.concat());
    // 4.271 by the mean field of 32 pages a block.
    assert_near(amplification(&run), 4.271, 0.03);
    assert_eq!(run["flash"]["settings"]["pattern"]["sequence"]["writes"], 400_000);
    for (text, said) in
        [("", "no writes"), ("64M,1", "--size"), ("1;2", "line 1"), ("0,64M\n0,0", "length is 0")]
    {
        std::fs::write(here.path("w.csv"), text).unwrap();
        let ran = here.run(&[&small[..], &["--writes", "w.csv"]].concat()).expect_status(2);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("hint:"), "{text:.20}: {}", ran.stderr);
    }
    here.run(&[&small[..], &["--writes", "none.csv"]].concat()).expect_status(2);
    here.run(&[&small[..], &["--writes", "w.csv", "--uniform"]].concat()).expect_status(2);
}

/// The writes of a load, from a built-in profile, a file and a saved run.
#[test]
fn a_load_says_what_is_written() {
    let here = Workspace::new();
    let profile = |region: &str| {
        format!(
            "name = 'mine'\n[[role]]\nname = 'data'\nblock-size = '8K'\nwrite-pct = 30\nregion = '{region}'\n"
        )
    };
    let of = |profile: &str| run(&here, &["--spare", "28%", "--profile", profile]);
    std::fs::write(here.path("mine.toml"), profile("all")).unwrap();
    // Two pages at a time lie in two pages of a block: as if a block had 32 pages, 2.330 by the mean field.
    let whole = amplification(&of("mine.toml"));
    assert_near(whole, 2.330, 0.03);
    // Half of the device is written, and what rests on the other is no spare area: 1 + 0.28 / 0.5 at best.
    std::fs::write(here.path("half.toml"), profile("0%..50%")).unwrap();
    let half = amplification(&of("half.toml"));
    assert!(half < whole && half > 1.4, "{half}");
    let oltp = of("oltp");
    assert_eq!(oltp["flash"]["settings"]["pattern"]["sequence"]["name"], "oltp");
    here.run(&["load", "--profile", "mine.toml", "--size", "1M", "--warmup", "0s", "--duration", "200ms"])
        .expect_status(0);
    assert_near(amplification(&of("last")), whole, 0.02);
    std::fs::write(here.path("reads.toml"), profile("all").replace("30", "0")).unwrap();
    for (word, said) in
        [("reads.toml", "writes nothing"), ("olpt", "oltp"), ("none.toml", "none.toml"), ("77", "77")]
    {
        let ran = here.run(&[&SMALL[..], &["--profile", word]].concat()).expect_status(2);
        assert!(ran.stderr.contains(said), "{word}: {}", ran.stderr);
    }
    here.run(&[&SMALL[..], &["--profile", "oltp", "--writes", "w.csv"]].concat()).expect_status(2);
}
