use quick_xml::events::Event;

use super::*;
use crate::report::fixture::report;

/// The texts of the elements at `path`, names joined by slashes.
fn texts(xml: &str, path: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let (mut open, mut found) = (Vec::<String>::new(), Vec::new());
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(start) => {
                open.push(start.name().as_ref().to_owned());
                if open.join("/") == path {
                    found.push(String::new());
                }
            }
            Event::End(_) => drop(open.pop()),
            Event::Text(text) if open.join("/") == path => {
                found.last_mut().expect("inside").push_str(&text.xml10_content());
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(open.is_empty());
    found
}

fn only(xml: &str, path: &str) -> String {
    let mut found = texts(xml, path);
    assert_eq!(found.len(), 1, "{path}");
    found.remove(0)
}

#[test]
fn the_fields_that_process_diskspd_reads_are_where_it_looks_for_them() {
    let xml = write_xml(&report("-L -D -t2 -b8K -r -w30 -o16 -Rxml /data/t.dat"));
    assert_eq!(xml.lines().next(), Some("<Results>"));
    assert!(xml.ends_with("</Results>"));
    assert_eq!(only(&xml, "Results/System/ComputerName"), "dbhost");
    assert_eq!(only(&xml, "Results/System/RunTime"), "2026/03/05 07:08:09 UTC");
    assert_eq!(only(&xml, "Results/TimeSpan/TestTimeSeconds"), "10.00");
    for (name, value) in [
        ("ReadCount", "131072"),
        ("ReadBytes", "1073741824"),
        ("WriteCount", "0"),
        ("WriteBytes", "0"),
        ("AverageReadLatencyMilliseconds", "0.305"),
        ("ReadLatencyStdev", "0.210"),
    ] {
        assert_eq!(texts(&xml, &format!("Results/TimeSpan/Thread/Target/{name}")), [value, value], "{name}");
    }
    assert_eq!(only(&xml, "Results/TimeSpan/Iops/IopsStdDev"), "218.500");
    assert_eq!(only(&xml, "Results/TimeSpan/CpuUtilization/Average/UsagePercent"), "17.50");
    let target = "Results/Profile/TimeSpans/TimeSpan/Targets/Target";
    for (name, value) in [
        ("Random", "8192"),
        ("WriteRatio", "30"),
        ("RequestCount", "16"),
        ("BlockSize", "8192"),
        ("Path", "/data/t.dat"),
    ] {
        assert_eq!(only(&xml, &format!("{target}/{name}")), value);
    }
}

#[test]
fn percentiles_are_the_108_of_diskspd() {
    let xml = write_xml(&report("-L F"));
    let percentiles = texts(&xml, "Results/TimeSpan/Latency/Bucket/Percentile");
    assert_eq!(percentiles.len(), 108);
    assert_eq!((percentiles[0].as_str(), percentiles[99].as_str()), ("0", "99"));
    let nines = ["99.9", "99.99", "99.999", "99.9999", "99.99999", "99.999999", "99.9999999", "100"];
    assert_eq!(percentiles[100..], nines);
    assert_eq!(texts(&xml, "Results/TimeSpan/Latency/Bucket/ReadMilliseconds").len(), 108);
    assert!(texts(&xml, "Results/TimeSpan/Latency/Bucket/WriteMilliseconds").is_empty());
}

#[test]
fn a_series_has_the_end_of_each_interval_and_leaves_out_what_was_not_measured() {
    let xml = write_xml(&report("-D F"));
    let expected = "<Bucket SampleMillisecond=\"1000\" Read=\"13000\" Write=\"0\" Total=\"13000\" \
                    ReadMinLatencyMilliseconds=\"0.095\" ReadMaxLatencyMilliseconds=\"0.515\" \
                    ReadAvgLatencyMilliseconds=\"0.305\" ReadLatencyStdDev=\"0.210\"/>";
    assert_eq!(xml.matches(expected).count(), 2, "one for the span, one for the target: {xml}");
}

#[test]
fn what_was_not_asked_for_is_not_there() {
    let xml = write_xml(&report("F"));
    for name in ["<Latency ", "<Iops>", "<Distribution>", "LatencyMilliseconds"] {
        assert!(!xml.contains(name), "{name}");
    }
}

#[test]
fn a_path_with_markup_in_it_keeps_the_document_whole() {
    let mut report = report("F");
    report.computer_name = "a\"<b>&c".into();
    report.time_spans[0].threads[0].targets[0].path = "<x>&".into();
    let xml = write_xml(&report);
    assert!(xml.contains("<ComputerName>a&quot;&lt;b&gt;&amp;c</ComputerName>"));
    assert_eq!(texts(&xml, "Results/TimeSpan/Thread/Target/Path").len(), 1);
}

#[test]
fn holes_of_a_distribution_are_ranges_without_a_share() {
    let xml = write_xml(&report("-r -rdabs50/1G:0/1G F"));
    let expected = "          <Absolute>\n            <Range IO=\"50\">1073741824</Range>\n            \
                    <Range IO=\"0\">1073741824</Range>\n            <Range IO=\"50\">2147483648</Range>\n          </Absolute>";
    assert!(xml.contains(expected), "{xml}");
}

#[test]
fn a_run_stopped_in_its_warm_up_has_an_error_in_place_of_results() {
    let mut report = report("F");
    report.time_spans[0].measured_ns = 0;
    let xml = write_xml(&report);
    assert!(only(&xml, "Results/TimeSpan/Error").starts_with("The test was interrupted"));
    assert!(!xml.contains("<Thread>"));
}

#[test]
fn the_machine_is_described_once() {
    let mut report = report("F");
    report.topology.processors = (0..2)
        .map(|id| crate::report::Processor { id, core: id, ..crate::report::Processor::default() })
        .collect();
    let xml = write_xml(&report);
    let expected = "    <ProcessorTopology Heterogeneous=\"false\">\n      \
        <Group Group=\"0\" MaximumProcessors=\"2\" ActiveProcessors=\"2\" ActiveProcessorMask=\"0x3\"/>\n      \
        <Node Node=\"0\">\n        <Group Group=\"0\" Mask=\"0x3\"/>\n      </Node>\n      \
        <Socket Socket=\"0\">\n        <Group Group=\"0\" Mask=\"0x3\"/>\n      </Socket>\n      \
        <Core Group=\"0\" Core=\"0\" Mask=\"0x1\" EfficiencyClass=\"0\"/>\n      \
        <Core Group=\"0\" Core=\"1\" Mask=\"0x2\" EfficiencyClass=\"0\"/>\n    </ProcessorTopology>";
    assert!(xml.contains(expected), "{xml}");
}

/// Processors beyond the 64 of a Windows group were missing from every mask.
#[test]
fn a_machine_of_more_than_64_processors_has_wide_masks() {
    let mut report = report("F");
    report.topology.cpu_count = 96;
    report.topology.processors = (0..96)
        .map(|id| crate::report::Processor {
            id,
            core: id % 48,
            socket: id / 24 % 2,
            ..crate::report::Processor::default()
        })
        .collect();
    let xml = write_xml(&report);
    assert!(xml.contains("ActiveProcessorMask=\"0xffffffffffffffffffffffff\""), "{xml}");
    assert!(
        xml.contains(
            "<Core Group=\"0\" Core=\"47\" Mask=\"0x800000000000800000000000\" EfficiencyClass=\"0\"/>"
        ),
        "{xml}"
    );
    let socket = "<Socket Socket=\"1\">\n        <Group Group=\"0\" Mask=\"0xffffff000000ffffff000000\"/>";
    assert!(xml.contains(socket), "{xml}");
}
