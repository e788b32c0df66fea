//! DiskSpd's own profiles, reports and mistakes that `iostall diskspd` used to handle wrongly.

use std::collections::BTreeSet;
use std::fs;

use crate::support::Workspace;

/// A time span like those of VMFleet's profiles, whose ranges leave the last hundredth of the requests for
/// the rest.
fn fleet_target(block: u32, order: &str, rest: &str) -> String {
    format!(
        "<Target><Path>*1</Path><BlockSize>{block}</BlockSize><DisableOSCache>true</DisableOSCache>\
         <WriteThrough>true</WriteThrough>{rest}<ThreadStride>0</ThreadStride>\
         <IOPriority>3</IOPriority>{order}</Target>"
    )
}

fn fleet_profile(targets: &[String]) -> String {
    format!(
        "<Profile><Progress>0</Progress><ResultFormat>xml</ResultFormat><Verbose>false</Verbose><TimeSpans><TimeSpan>\
         <MeasureLatency>true</MeasureLatency><CalculateIopsStdDev>true</CalculateIopsStdDev><Duration>1</Duration>\
         <Warmup>0</Warmup><Cooldown>0</Cooldown><IoBucketDuration>1000</IoBucketDuration>\
         <Targets>{}</Targets></TimeSpan></TimeSpans></Profile>",
        targets.join("")
    )
}

const FLEET_RANGES: &str =
    "<Distribution><Percent><Range IO=\"95\">5</Range><Range IO=\"4\">10</Range></Percent></Distribution>";

/// Three of VMFleet's four profiles were refused: "the IO% add up to 99".
#[test]
fn the_profiles_of_vmfleet_run() {
    let here = Workspace::new();
    here.run(&["diskspd", "-c64M", "-d1", "-W0", "t.dat"]).expect_status(0);
    let random = |align: u32| format!("<Random>{align}</Random>");
    let rate = |iops: u32| format!("<Throughput unit=\"IOPS\">{iops}</Throughput>");
    let mixed = |pct: u32| format!("<RandomRatio>{pct}</RandomRatio>");
    let general =
        [fleet_target(4096, &random(4096), &format!("{FLEET_RANGES}<RequestCount>32</RequestCount>"))];
    let desktops = [(32_768, 20, 100), (8192, 80, 0)].map(|(block, share, writes)| {
        let order = format!("{}{}", random(block), mixed(share));
        let writes = format!("<WriteRatio>{writes}</WriteRatio>");
        fleet_target(block, &order, &format!("{FLEET_RANGES}{writes}{}", rate(60)))
    });
    let server = [
        fleet_target(
            8192,
            &random(8192),
            &format!(
                "<BaseFileOffset>33554432</BaseFileOffset>{FLEET_RANGES}<WriteRatio>30</WriteRatio>{}",
                rate(60)
            ),
        ),
        fleet_target(
            32_768,
            "<StrideSize>32768</StrideSize>",
            &format!("<MaxFileSize>33554432</MaxFileSize><WriteRatio>100</WriteRatio>{}", rate(60)),
        ),
    ];
    for (name, targets) in [("general", &general[..]), ("vdi", &desktops), ("sql", &server)] {
        fs::write(here.path("p.xml"), fleet_profile(targets)).unwrap();
        let ran = here.run(&["diskspd", "-Xp.xml", "t.dat"]).expect_status(0);
        assert!(ran.stdout.contains("<Range IO=\"1\">85</Range>"), "{name}: {}", ran.stdout);
        assert_eq!(ran.stdout.matches("<Path>t.dat</Path>").count(), 2 * targets.len(), "{name}");
    }
    let refused = here.run(&["diskspd", "-d1", "-r", "-rdpct100/10", "t.dat"]).expect_status(3);
    assert!(refused.stderr.contains("0/90"), "{}", refused.stderr);
}

/// The numbers in `attribute` of all `name` elements.
fn numbers(xml: &str, name: &str) -> BTreeSet<u32> {
    let open = format!("<{name}>");
    xml.split(&open).skip(1).map(|rest| rest.split('<').next().unwrap().parse().unwrap()).collect()
}

/// Reports had the numbers of sockets, nodes and cores, but not which processor is where.
#[test]
fn the_report_says_where_each_processor_is() {
    let here = Workspace::new();
    let line = ["diskspd", "--engine", "null", "-c1M", "-d1", "-W0", "-Rtext,xml", "t.dat"];
    let report = here.run(&line).expect_status(0).stdout;
    let directory = "/sys/devices/system/cpu";
    let of_each = |file: &str| -> Vec<String> {
        let entries =
            fs::read_dir(directory).unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let read = |name: String| {
            name.strip_prefix("cpu")?.parse::<u32>().ok()?;
            fs::read_to_string(format!("{directory}/{name}/topology/{file}")).ok()
        };
        entries.filter_map(read).collect()
    };
    let cores = of_each("thread_siblings_list");
    let different: BTreeSet<&String> = cores.iter().collect();
    assert_eq!(report.matches("<Core Group=\"0\" Core=").count(), different.len(), "{report}");
    assert_eq!(report.matches("<CPU>").count(), cores.len(), "{report}");
    assert_eq!(numbers(&report, "Core").len(), different.len(), "{report}");
    let sockets: BTreeSet<String> = of_each("physical_package_id").into_iter().collect();
    assert_eq!(report.matches("<Socket Socket=").count(), sockets.len(), "{report}");
    assert_eq!(report.contains("Core | CPU |"), cores.len() > different.len(), "{report}");
    assert_eq!(report.contains("Socket | "), sockets.len() > 1, "{report}");
}

/// When the terminal was closed, the only report of a night's test was lost.
#[test]
fn a_kept_run_gives_its_report_again_to_the_byte() {
    let here = Workspace::new();
    here.run(&["diskspd", "-c8M", "-d1", "-W0", "--no-store", "a&b.dat", "c d.dat"]).expect_status(0);
    let options =
        ["-d1", "-W0", "-t2", "-o4", "-b4K", "-rs60", "-rdpct90/10:5/20", "-w30", "-L", "-D", "-Z1M"];
    let report = |format: &str| {
        let words = [&["diskspd"], &options[..], &[format, "a&b.dat", "c d.dat"]].concat();
        here.run(&words).expect_status(0).stdout
    };
    let again = |format: &str| here.run(&["runs", "show", "--diskspd", format]).expect_status(0).stdout;
    assert_eq!(report("-Rtext"), again("text"));
    assert_eq!(report("-Rxml"), again("xml"));
    let both = report("-Rtext,xml");
    assert_eq!(both, again("text") + &again("xml"));

    here.run(&["load", "--engine", "null", "--duration", "100ms", "--warmup", "0", "a&b.dat"])
        .expect_status(0);
    let other = here.run(&["runs", "show", "--diskspd", "text"]).expect_status(2);
    assert!(
        other.stderr.contains("not asked for in DiskSpd's words") && other.stderr.contains("hint: "),
        "{}",
        other.stderr
    );
}

/// A run of an XML profile also stores it, with the targets of its templates filled in.
#[test]
fn the_profile_of_an_xml_run_is_kept_with_it() {
    let here = Workspace::new();
    here.run(&["diskspd", "-c8M", "-d1", "-W0", "--no-store", "t.dat"]).expect_status(0);
    let span = "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>*1</Path></Target></Targets></TimeSpan>";
    fs::write(here.path("p.xml"), format!("<Profile><TimeSpans>{span}{span}</TimeSpans></Profile>")).unwrap();
    let report = here.run(&["diskspd", "-Xp.xml", "t.dat"]).expect_status(0).stdout;
    fs::remove_file(here.path("p.xml")).unwrap();
    assert!(report.contains("Totals:"), "{report}");
    assert_eq!(here.run(&["runs", "show", "--diskspd", "text"]).expect_status(0).stdout, report);
}

/// `C:\io\t.dat` from an article created a file of that name, which was then measured.
#[test]
fn a_path_of_windows_never_becomes_a_file_name() {
    let here = Workspace::new();
    fs::write(here.path("source"), "x").unwrap();
    for (path, part) in [
        (r"C:\io\t.dat", "mount point"),
        ("c:/io/t.dat", "mount point"),
        (r"\\srv\share\t.dat", "mount -t cifs"),
        ("D:", "lsblk"),
    ] {
        let xml = format!(
            "<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>{path}</Path>\
             <FileSize>1048576</FileSize></Target></Targets></TimeSpan></TimeSpans></Profile>"
        );
        fs::write(here.path("p.xml"), xml).unwrap();
        for words in [
            &["diskspd", "-c1M", "-d1", "-W0", path][..],
            &["diskspd", "-Xp.xml"],
            &["load", "--size", "1M", "--duration", "100ms", "--warmup", "0", path],
            &["write", "--size", "1MB", path],
            &["copy", "source", path],
        ] {
            let refused = here.run(words);
            assert!(
                refused.status == Some(2) || matches!(refused.status, Some(1 | 3) if words[0] == "diskspd"),
                "{words:?}: {}",
                refused.stderr
            );
            assert!(refused.stderr.contains(part), "{words:?}: {}", refused.stderr);
        }
        let names: Vec<_> =
            fs::read_dir(here.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().contains([':', '\\'])), "{names:?}");
    }
    let rejected = here.run(&["diskspd", "-c1M", "-d1", r"C:\io\t.dat"]).expect_status(3);
    assert_eq!(rejected.stderr.matches("error:").count(), 1, "{}", rejected.stderr);
    let told =
        here.run(&["load", "--json", r"C:\o.json", "--duration", "100ms", "--warmup", "0"]).expect_status(2);
    assert!(told.stderr.contains("mount point"), "{}", told.stderr);
    // A user who really wants such a name can have it.
    here.run(&["diskspd", "-c1M", "-d1", "-W0", r"./C:\t.dat"]).expect_status(0);
}

/// Scripts distinguish an invalid command line (3) from a failed run (1); a processor that does not exist
/// looked like a failed disk.
#[test]
fn a_processor_that_is_not_there_is_a_rejected_line() {
    let here = Workspace::new();
    let rejected = here.run(&["diskspd", "-a0,255", "-t2", "-c1M", "-d1", "t.dat"]).expect_status(3);
    assert!(rejected.stderr.contains("CPU 255") && rejected.stderr.contains("hint: "), "{}", rejected.stderr);
    assert!(!here.path("t.dat").exists(), "and nothing was made for it");
}

/// `--help` printed "error: error: unexpected argument".
#[test]
fn help_is_given_in_whatever_way_it_is_asked_for() {
    let here = Workspace::new();
    for word in ["-?", "--help", "-help", "/?"] {
        let help = here.run(&["diskspd", word]).expect_status(0);
        assert!(
            help.stdout.contains("-t<n>") && help.stdout.contains("--overwrite"),
            "{word}: {}",
            help.stdout
        );
        assert_eq!(help.stderr, "", "{word}");
    }
    let wrong = here.run(&["diskspd", "--jsn", "x", "-d1", "t.dat"]).expect_status(3);
    assert_eq!(wrong.stderr.matches("error:").count(), 1, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("--json") && !wrong.stderr.contains("Usage:"), "{}", wrong.stderr);
}

/// Letters that differ only in case: `-T4` does not mean four threads, and `-f4` limits the file to its first
/// four bytes.
#[test]
fn the_slips_of_articles_get_the_right_hint() {
    let here = Workspace::new();
    here.run(&["diskspd", "-c1M", "-d1", "-W0", "t.dat"]).expect_status(0);
    for (option, hint) in [("-T4", "-t4"), ("-f4", "-f4G"), ("-Sd", "-Su"), ("-a0-3", "-a0,1,2,3")] {
        let refused = here.run(&["diskspd", "-d1", option, "t.dat"]).expect_status(3);
        assert!(refused.stderr.contains(hint), "{option}: {}", refused.stderr);
    }
    let pasted = here.run(&["diskspd", "diskspd.exe", "–d1", "–W0", "-L,", "t.dat"]).expect_status(0);
    assert!(
        pasted.stderr.contains("read as -d1") && pasted.stdout.contains("measuring latency"),
        "{}",
        pasted.stderr
    );
}
