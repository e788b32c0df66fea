//! What mutation starts from, and the words it puts in.

use crate::target::Target;

const COMMAND_LINES: &str = include_str!("../corpus/command_lines.txt");
const PROFILES: [&str; 2] =
    [include_str!("../corpus/profiles/template.xml"), include_str!("../corpus/profiles/pool.xml")];

/// Known inputs of `target`.
pub(crate) fn seeds(target: Target) -> Vec<&'static [u8]> {
    match target {
        Target::CommandLine => COMMAND_LINES.lines().map(str::as_bytes).collect(),
        Target::XmlProfile => PROFILES.iter().map(|text| text.as_bytes()).collect(),
    }
}

/// Pieces that mean something on a command line.
const OPTION_PIECES: &[&str] = &[
    " ",
    "-",
    "/",
    "--",
    "-b",
    "-B0:1b ",
    "-r",
    "-rs",
    "-rdpct",
    "-rdabs",
    "-si",
    "-S",
    "-Z",
    "-g",
    "i",
    ":",
    ",",
    "0",
    "1",
    "100",
    "101",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "K",
    "T",
    "b",
    "-X",
    "-Rp",
    "text,xml",
    "-ag0,",
    "-F",
    "-O",
    "-T",
    "é",
    "\u{0}",
    "-D",
    "-w",
    "*1",
    "#1",
];

/// Pieces that mean something in an XML profile.
const XML_PIECES: &[&str] = &[
    "<",
    ">",
    "/>",
    "</",
    "&",
    "&amp;",
    "&#0;",
    "&#x10FFFF;",
    "&own;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?",
    "?>",
    "<!DOCTYPE x [<!ENTITY a \"b\">]>",
    "<Profile>",
    "<TimeSpan>",
    "<Target>",
    "</Target>",
    "<Path>x</Path>",
    "<Random>0</Random>",
    "<StrideSize>0</StrideSize>",
    "<BlockSize>4294967295</BlockSize>",
    "<ETW/>",
    "true",
    "false",
    "-1",
    "18446744073709551616",
    "1e308",
    "NaN",
    "inf",
    " IO=\"200\"",
    "*1",
    "*99999999999999999999",
    "\u{FEFF}",
    "\r\n",
];

/// Pieces that mean something to `target`.
pub(crate) fn dictionary(target: Target) -> &'static [&'static str] {
    match target {
        Target::CommandLine => OPTION_PIECES,
        Target::XmlProfile => XML_PIECES,
    }
}
