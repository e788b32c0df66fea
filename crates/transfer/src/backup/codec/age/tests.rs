//! The reader and the writer beside vectors, files of earlier versions, and the age tool itself.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

/// Public and secret keys, made by `age-keygen` for these tests.
pub(crate) const PAIRS: [(&str, &str); 3] = [
    (
        "age1rfvm2wjgqvj5hfu7m497eqf3d9f4a80ra468zvlhm3k45atc3fjs8s9hqp",
        "AGE-SECRET-KEY-1FPKETSRMLQZ0N4F9EZTJKHR96VYGX4EU6U08TEDJD64GVC2LM0AS5FX0M0",
    ),
    (
        "age1ankj4w02sx3cksjh2fpdtw3leewmwh69jk6jq69sce3v9w0p447qkk6zu9",
        "AGE-SECRET-KEY-1SSX65FXAK8V4FMUAJ8LHGMHGPHS64FUJHZ86MEG3XQ0M34Q08H2SVM2FWD",
    ),
    (
        "age13u2px8q5fsgk8p8dv4q86l0muq2u774zyzjmvu8ztcn5kkrjrusqalljqe",
        "AGE-SECRET-KEY-18TE7KW3A9PC4VZTJ3S9L56S5NPR50NH3SR3TYWSUSPUL3WKQJYCQMCJG4G",
    ),
];

/// Of the vectors below.
const SECRET: &str = "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0";
const PASSPHRASE: &str = "password";
const PLAIN: &[u8] = b"age";

type Vector = (&'static str, &'static str, &'static str, std::result::Result<&'static [u8], AgeError>);

/// Vectors of <https://github.com/C2SP/CCTV> (age), each one fault or none: its name there, its header after the first line, its
/// content in base 64, and what must come of it.
const VECTORS: [Vector; 11] = [
    (
        "x25519",
        "-> X25519 TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc\n\
             hjabGXwSLQ9c3S6Lw2i+S2Tu2fiwQHHslbBN6B41FLE\n\
             --- WyJp9F/9FOZh7gJdheq2WIJcwHgYc8NIVh3ddwhrcNg\n",
        "7s9ix86RtDMnTmjU8vkTTLdMW/73vqpSyPC8DpksHoMx+2Y",
        Ok(PLAIN),
    ),
    (
        "x25519_multiple_recipients",
        "-> X25519 ajtqAvDEkVNr2B7zUOtq2mAQXDSBlNrVAuM/dKb5sT4\n\
             0evrK/HQXVsQ4YaDe+659l5OQzvAzD2ytLGHQLQiqxg\n\
             -> X25519 0qC7u6AbLxuwnM8tPFOWVtWZn/ZZe7z7gcsP5kgA0FI\n\
             Y3OzevLm23Vx7PN9k33F9y+ercWe/bcZJLqhqA3h408\n\
             --- 855pKblQzZ3oabDowxRDQvSj/xo47ZSh5WTjkmK0I0U\n",
        "8LgYvg81VEI5mSCtgISWS2+Vw22zXk9Z2PiePPJvLR+lQhM",
        Ok(PLAIN),
    ),
    (
        "scrypt",
        "-> scrypt rF0/NwblUHHTpgQgRpe5CQ 10\n\
             gUjEymFKMVXQEKdMMHL24oYexjE3TIC0O0zGSqJ2aUY\n\
             --- IOXiQYStkoT1mvZW2tFOqZdhRVvj58egABx/sWfZQbc\n",
        "GzXG5ofdANo6w3msn3QsIf0YWhuePe1znRSsappQEk24Ztg",
        Ok(PLAIN),
    ),
    (
        "hmac_bad",
        "-> X25519 TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc\n\
             hjabGXwSLQ9c3S6Lw2i+S2Tu2fiwQHHslbBN6B41FLE\n\
             --- 8McE3ix9R34E/vLrQv3yepsHjo/LXhfs22Ab3UyInmg\n",
        "7s9ix86RtDMnTmjU8vkTTLdMW/73vqpSyPC8DpksHoMx+2Y",
        Err(AgeError::Changed),
    ),
    (
        "x25519_low_order",
        "-> X25519 X5yVvKNQjCSx0LFVnIPvWwREXMRYHI6G2CJO3dCfEdc\n\
             3E0NpFans/m0WLWF7+54ZBdNj3iqQqpraGDFiaRkvBA\n\
             --- sXw327YMT1/ULXe+ZyRMbMY0Z2jnWHGgI9j1we6yQ8A\n",
        "rF0/NwblUHHTpgQgRpe5CQWVwvf1267oDXoBjChyBYrzznw",
        Err(AgeError::Header),
    ),
    (
        "x25519_long_file_key",
        "-> X25519 TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc\n\
             nlObGn0CSA4pxiaG3W6nLlaFFuHmqW+bFC6sJmbsJ9yFesgSok1K0AI\n\
             --- C49Jo3+j4I6jWB2tldSs1jVAXbv0mOTAnwdT+5vOiBg\n",
        "7s9ix86RtDMnTmjU8vkTTGP3KK3n8Q0E0HT/x49QsimAeDE",
        Err(AgeError::Header),
    ),
    (
        "scrypt_and_x25519",
        "-> X25519 ajtqAvDEkVNr2B7zUOtq2mAQXDSBlNrVAuM/dKb5sT4\n\
             U+hKlJ4isweJ9PKG7pgscmG3cPASLgTw7SOBpbZ8x2U\n\
             -> scrypt 3d9y0G+8q1ffPQ0xJJatIQ 10\n\
             foZolxuhRSL7IG7oaR+456IzkHtvue7j4mUjh3DB6EI\n\
             --- yp4Z0lV1LEdkm1+uDCuPUV+9hIXbPKrBXKQ/f5Y03As\n",
        "AlRea/TGBhyJPo8p7M0sC3KxzEZsngYnY8/0EZKCnpu4VrU",
        Err(AgeError::Header),
    ),
    (
        "scrypt_work_factor_23",
        "-> scrypt rF0/NwblUHHTpgQgRpe5CQ 23\n\
             qW9eVsT0NVb/Vswtw8kPIxUnaYmm9Px1dYmq2+4+qZA\n\
             --- 38TpQMxQRRNMfmYYpBX6DDrPx4/QY5UmJnhPyVoX/cw\n",
        "rF0/NwblUHHTpgQgRpe5CQWVwvf1267oDXoBjChyBYrzznw",
        Err(AgeError::Work(23)),
    ),
    (
        "scrypt_bad_tag",
        "-> scrypt rF0/NwblUHHTpgQgRpe5CQ 10\n\
             gUjEymFKMVXQEKdMMHL24oYexjE3TIC0O0zGSqJ2abk\n\
             --- SrAokXI05aok1vecCAoCV8gWjDJDHWjJhOWzMkMWRFM\n",
        "GzXG5ofdANo6w3msn3QsIf0YWhuePe1znRSsappQEk24Ztg",
        Err(AgeError::NoKey),
    ),
    (
        "stanza_not_canonical",
        "-> X25519 TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc\n\
             hjabGXwSLQ9c3S6Lw2i+S2Tu2fiwQHHslbBN6B41FLE\n\
             -> stanza\n\
             QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\n\
             QUF\n\
             --- 3dcBdeuKtDbEpx/hhcA6qEAR/niQh2MAsruVPRsH4CI\n",
        "7s9ix86RtDMnTmjU8vkTTLdMW/73vqpSyPC8DpksHoMx+2Y",
        Err(AgeError::Header),
    ),
    (
        "stream_no_final",
        "-> X25519 TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc\n\
             hjabGXwSLQ9c3S6Lw2i+S2Tu2fiwQHHslbBN6B41FLE\n\
             --- WyJp9F/9FOZh7gJdheq2WIJcwHgYc8NIVh3ddwhrcNg\n",
        "7s9ix86RtDMnTmjU8vkTTAC9Y2htqEgUyqoBKWGKwghh",
        Err(AgeError::Changed),
    ),
];

fn opened(file: &[u8], secrets: &[&str], passphrase: Option<&str>) -> Result<Vec<u8>> {
    let identities: Vec<_> = secrets.iter().map(|text| Identity::parse(text).unwrap()).collect();
    decrypt(file, &identities, passphrase).map(|plain| plain.to_vec())
}

fn vector(name: &str) -> Vec<u8> {
    let (_, header, content, _) = VECTORS.iter().find(|(found, ..)| *found == name).unwrap();
    [VERSION.as_bytes(), b"\n", header.as_bytes(), &BASE64.decode(content).unwrap()].concat()
}

#[test]
fn vectors_come_out_as_their_makers_say() {
    for (name, _, _, wanted) in VECTORS {
        let found = opened(&vector(name), &[SECRET], Some(PASSPHRASE));
        assert_eq!(found.as_deref().map_err(|error| *error), wanted, "{name}");
    }
}

/// Each change is found before the checksum of the header is looked at.
#[test]
fn a_header_that_breaks_a_rule_is_refused() {
    let changes = [
        ("x25519", "/v1\n", "/v2\n"),
        ("x25519", "/v1\n", "/v1\r\n"),
        ("x25519", "DOCc\n", "DOCc 1234\n"),
        ("x25519", "DOCc\n", "DOCd\n"),
        ("x25519", "DOCc\n", "DOCc=\n"),
        ("x25519", "-> X25519", "->  X25519"),
        ("x25519", "-> X25519", "--> X25519"),
        ("x25519", "41FLE\n", "41FLE\n\n"),
        ("x25519", "41FLE\n", ""),
        ("x25519", "--- ", "---  "),
        ("x25519", "rcNg\n", "rcNg \n"),
        ("x25519", "rcNg\n", "rcN\n"),
        ("scrypt", " 10\n", " 010\n"),
        ("scrypt", " 10\n", " +10\n"),
        ("scrypt", " 10\n", " 0xa\n"),
        ("scrypt", " 10\n", " 300\n"),
        ("scrypt", " 10\n", " 0\n"),
        ("scrypt", " 10\n", "\n"),
        ("scrypt", "e5CQ ", "e5CQAAAA "),
    ];
    for (name, from, to) in changes {
        let file = vector(name);
        let at = file.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
        let broken = [&file[..at], to.as_bytes(), &file[at + from.len()..]].concat();
        let found = opened(&broken, &[SECRET], Some(PASSPHRASE));
        assert_eq!(found, Err(AgeError::Header), "{name}: {to:?} for {from:?}");
    }
}

#[test]
fn no_file_that_is_cut_off_opens() {
    for name in ["x25519", "scrypt"] {
        let file = vector(name);
        for length in 0..file.len() {
            let found = opened(&file[..length], &[SECRET], Some(PASSPHRASE));
            assert!(
                matches!(found, Err(AgeError::Header | AgeError::Changed)),
                "{name}, {length}: {found:?}"
            );
        }
    }
}

/// Made by the commit 3dc44b0b, with the library for age files that was used until then. It puts stanzas in that nobody knows.
#[test]
fn wrapped_keys_of_an_earlier_version_open() {
    let one = include_bytes!("../../../../testdata/age/one.age");
    let three = include_bytes!("../../../../testdata/age/three.age");
    let passphrase = include_bytes!("../../../../testdata/age/passphrase.age");
    let key = Ok(vec![7; 32]);
    assert_eq!(opened(one, &[PAIRS[0].1], None), key);
    assert_eq!(opened(one, &[PAIRS[1].1, PAIRS[2].1], None), Err(AgeError::NoKey));
    for (_, secret) in PAIRS {
        assert_eq!(opened(three, &[secret], None), key);
    }
    assert_eq!(opened(three, &[SECRET, PAIRS[2].1], Some("")), key);
    assert_eq!(opened(passphrase, &[], Some("correct horse")), key);
    assert_eq!(opened(passphrase, &[PAIRS[0].1], None), Err(AgeError::NoKey));
}

#[test]
fn what_is_made_opens_for_those_it_is_for() {
    let recipients = PAIRS.map(|(public, _)| recipient(public).unwrap());
    let plain = vec![9; CHUNK_BYTES];
    let file = encrypt(&plain, &recipients[..2], None).unwrap();
    assert_eq!(opened(&file, &[PAIRS[1].1], None), Ok(plain.clone()));
    assert_eq!(opened(&file, &[PAIRS[2].1], Some("x")), Err(AgeError::NoKey));
    let file = encrypt(&plain, &[], Some(("a word", 4))).unwrap();
    assert_eq!(opened(&file, &[], Some("a word")), Ok(plain));
    assert_eq!(opened(&file, &[], Some("a wort")), Err(AgeError::NoKey));
    assert_eq!(encrypt(b"", &[[0; 32]], None), Err(AgeError::Library), "everybody would know the key");
}

#[test]
fn a_key_has_one_case_its_prefix_and_its_checksum() {
    let (public, secret) = PAIRS[0];
    assert!(recipient(public).is_some() && recipient(&public.to_uppercase()).is_some());
    assert!(Identity::parse(secret).is_some() && Identity::parse(&secret.to_lowercase()).is_some());
    assert!(recipient(secret).is_none() && Identity::parse(public).is_none());
    for at in 0..public.len() {
        let digit = if public.as_bytes()[at] == b'q' { "p" } else { "q" };
        let other = format!("{}{digit}{}", &public[..at], &public[at + 1..]);
        assert!(recipient(&other).is_none(), "{other}");
        assert!(recipient(&public[..at]).is_none());
    }
    for other in
        [format!("A{}", &public[1..]), format!("{public}q"), public.replace("age1", "age11"), String::new()]
    {
        assert!(recipient(&other).is_none(), "{other}");
    }
}

/// Answers each question at a pseudo-terminal with a passphrase.
const ANSWER: &str = "import os, pty, sys\n\
    child, terminal = pty.fork()\n\
    if child == 0:\n\
    \x20   os.execvp(sys.argv[2], sys.argv[2:])\n\
    try:\n\
    \x20   while part := os.read(terminal, 4096):\n\
    \x20       if part.rstrip().endswith(b':'):\n\
    \x20           os.write(terminal, sys.argv[1].encode() + b'\\n')\n\
    except OSError:\n\
    \x20   pass\n\
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n";

/// What the age tool makes of `input`; `None` where it is not installed.
fn of_the_tool(
    directory: &Path,
    passphrase: Option<&str>,
    options: &[&str],
    input: &[u8],
) -> Option<Vec<u8>> {
    std::fs::write(directory.join("in"), input).unwrap();
    let mut command = Command::new(if passphrase.is_some() { "python3" } else { "age" });
    if let Some(passphrase) = passphrase {
        command.args(["-c", ANSWER, passphrase, "age"]);
    }
    command.args(options).args(["-o", "out", "in"]).current_dir(directory).stdin(Stdio::null());
    let is_there = Command::new("age").arg("--version").stdout(Stdio::null()).status().is_ok();
    let Some(ran) = is_there.then(|| command.output().ok()).flatten() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: the age tool: age or python3 is not installed");
        return None;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(std::fs::read(directory.join("out")).unwrap())
}

#[test]
fn the_age_tool_opens_what_is_made_here_and_the_other_way_round() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (plain, [(one, secret), (two, other), _]) = (vec![5; 32], PAIRS);
    for (name, secret) in [("key", secret), ("other", other)] {
        std::fs::write(directory.join(name), secret).unwrap();
    }
    let file = encrypt(&plain, &[recipient(one).unwrap(), recipient(two).unwrap()], None).unwrap();
    let Some(found) = of_the_tool(directory, None, &["-d", "-i", "key"], &file) else { return };
    assert_eq!(found, plain);
    assert_eq!(of_the_tool(directory, None, &["-d", "-i", "other"], &file).unwrap(), plain);
    let file = of_the_tool(directory, None, &["-r", one, "-r", two], &plain).unwrap();
    assert_eq!(opened(&file, &[other], None), Ok(plain.clone()));
    let file = encrypt(&plain, &[], Some(("a word", 10))).unwrap();
    let Some(found) = of_the_tool(directory, Some("a word"), &["-d"], &file) else { return };
    assert_eq!(found, plain);
    let file = of_the_tool(directory, Some("a word"), &["-p"], &plain).unwrap();
    assert_eq!(opened(&file, &[], Some("a word")), Ok(plain));
}
