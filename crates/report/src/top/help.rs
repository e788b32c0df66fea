//! What the keys do.

/// On a line of 80 characters.
pub(super) const SHORT: &str =
    "? help  enter look in  1-4 level  < > sort  / filter  a all  [ ] past  q quit";

/// The same inside a group.
pub(super) const INSIDE: &str = "escape back  up down next row  < > sort  [ ] past  ? help  q quit";

/// At length, on lines of 80 characters.
pub(super) const LONG: [&str; 18] = [
    "up, down, page, home, end   select a row; the graph is its history",
    "enter          look into it: its history, what else is on its device; escape",
    "1 2 3 4, tab   files, databases, volumes, server",
    "< >            sort by the column to the left or right; graphs show that column",
    "r              the other way round",
    "/              names with this in them; enter keeps it, escape clears it",
    "a              also idle rows and loop devices, or not",
    "[ ]            back and forward by one sample, where a collector stores them",
    "{ }  n         back and forward by an hour; now",
    "p              pause",
    "+ -            longer or shorter interval",
    "?              this, and back",
    "q, Ctrl-C      quit",
    "",
    "queue    how many reads and writes waited at once on the mean",
    "!  !!    a slow stall: over 10 ms, of a log 1 ms; a bad one: over 20 ms, 5 ms",
    "history  from zero to the most, the newest at the right; empty where nothing",
    "         was done or sampled",
];
