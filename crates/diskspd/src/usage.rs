//! What `-?` prints.

pub const USAGE: &str = "\
Usage: diskspd [options] target1 [target2 ...]

A target is a file or a block device. Options come before targets; a value is glued to its letter (-b64K);
/ may stand for - where no such path exists. Sizes: K, M, G, T (powers of 1024), b (blocks of -b).

Time
  -d<s>            measured duration [10]           -W<s>  warm-up [5]           -C<s>  cool-down [0]
Targets and size
  -c<size>         make a file of that size         -b<size>  block size [64K]
  -f<size>         no request beyond this offset    -B<base>[:len]  only from base on, for len bytes
Load
  -t<n>            threads per target [1]           -F<n>  threads in all, each on every target
  -o<n>            outstanding per target and thread [2]
  -O<n>            outstanding per thread over all its targets (with -F)
  -w<pct>          writes, percent [0]              -g<n>[i]  limit per thread and target: bytes/ms, or IOPS
  -i<n> -j<ms>     bursts of n requests with ms between
Access
  -r[align]        random                           -rs<pct>  pct of the requests random, the others go on
  -rd<dist>        where random requests land: -rdpct90/10:10/90, -rdabs90/10G
  -s[i][size]      sequential with that stride; i: threads share one sequence
  -T<size>         distance between the threads' starts
  -p               the outstanding requests of a thread walk the same offsets
Caches and data
  -Sb -Su -Sw -Sh  page cache | O_DIRECT | O_DSYNC | O_DIRECT and O_DSYNC; -h is -Sh
  -Z  -Zr  -Z<size>[,file]   zeros | new random bytes for each write | a random or file buffer of that size
Threads
  -a#[,#...]       processors to pin threads to     -n  do not pin          -z[seed]  random seed [0]
Results
  -L               latency statistics               -D[ms]  deviation of IOPS over intervals [1000]
  -R[p]text|xml    format; -Rtext,xml prints both; p prints the profile and runs nothing
  -X<file>         take everything from an XML profile (*1, *2 in it are the targets given here)
  -v  -vs  -P<n>   more words | wait statistics | a dot every n completions
Told or refused, because Linux has no equal
  -e... -y...      event tracing, Windows events    -Sr -Sm -N  remote cache, mapped memory
  -x -l -I -f<rst> -:                               accepted, with a warning that says what is done instead
";

#[cfg(test)]
mod tests {
    use super::USAGE;

    #[test]
    fn the_usage_names_every_letter_there_is() {
        for letter in "abBcCdDeFfghiIjlLnNoOpPrRsStTvwWxXyzZ:".chars() {
            assert!(USAGE.contains(&format!("-{letter}")), "-{letter}");
        }
    }
}
