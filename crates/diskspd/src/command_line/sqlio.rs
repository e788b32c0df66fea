//! SQLIO command lines, which many articles still show: they are not run, but translated to DiskSpd's
//! options.

use iostall_measure::WindowsPath;

/// `words` in DiskSpd's options, if they are SQLIO's. All of those contain `-kR` or `-kW`, which DiskSpd does
/// not have.
pub fn in_diskspds_words(words: &[String]) -> Option<String> {
    let writes = words.iter().find_map(|word| match option(word) {
        Some(("k", "R" | "r")) => Some(false),
        Some(("k", "W" | "w")) => Some(true),
        _ => None,
    })?;
    let value = |letter: &str| words.iter().filter_map(|word| option(word)).find(|(it, _)| *it == letter);
    let threads = value("t").map_or("1", |(_, count)| count);
    let mut line = vec!["diskspd".to_owned()];
    // SQLIO counts in KiB and runs for 30 s by default; it bypasses caches unless -B says otherwise.
    line.push(format!("-b{}K", value("b").map_or("2", |(_, size)| size)));
    line.push(format!("-d{}", value("s").map_or("30", |(_, seconds)| seconds)));
    line.push(format!("-o{}", value("o").map_or("1", |(_, count)| count)));
    line.push(format!("-t{threads}"));
    line.push(match value("f") {
        Some((_, kind)) if kind.eq_ignore_ascii_case("random") => "-r".to_owned(),
        _ if threads != "1" => "-si".to_owned(),
        _ => "-s".to_owned(),
    });
    line.push(match value("B").map(|(_, kind)| kind) {
        Some("Y" | "y") => "-Sb".to_owned(),
        Some("H" | "h") => "-Su".to_owned(),
        Some("S" | "s") => "-Sw".to_owned(),
        _ => "-Sh".to_owned(),
    });
    if value("L").is_some() {
        line.push("-L".to_owned());
    }
    line.push(format!("-w{}", if writes { 100 } else { 0 }));
    let files: Vec<&String> = words.iter().filter(|word| option(word).is_none()).collect();
    if files.is_empty() {
        line.push("FILE".to_owned());
    }
    // A path of Windows' has no meaning here: the reader names a file of this machine.
    let named =
        |file: &String| if WindowsPath::of(file).is_some() { "FILE".to_owned() } else { file.clone() };
    line.extend(files.into_iter().map(named));
    Some(line.join(" "))
}

fn option(word: &str) -> Option<(&str, &str)> {
    word.strip_prefix('-')?.split_at_checked(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(line: &str) -> Option<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        in_diskspds_words(&words)
    }

    #[test]
    fn lines_of_articles_come_out_in_diskspds_words() {
        let random = translated("-kW -t2 -s120 -dE -o1 -frandom -b64 -BH -LS TestFile.dat");
        assert_eq!(random.as_deref(), Some("diskspd -b64K -d120 -o1 -t2 -r -Su -L -w100 TestFile.dat"));
        let sequential = translated("-kR -s360 -fsequential -o8 -b8 -LS -Fparam.txt");
        assert_eq!(sequential.as_deref(), Some("diskspd -b8K -d360 -o8 -t1 -s -Sh -L -w0 FILE"));
    }

    #[test]
    fn what_diskspd_takes_is_left_alone() {
        assert_eq!(translated("-b64K -d15 -o32 -t2 -h -r -L -w0 F"), None);
        assert_eq!(translated("-kX F"), None);
    }
}
