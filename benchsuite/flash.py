#!/usr/bin/env python3
"""Host page writes a second of the simulated flash device, beside a public simulator, on one core.

    benchsuite/flash.py --ftlsim DIR [--size 64G] [--alpha 1.07] [--pages 64] [--fills 4] [--rounds 60] [--binary PATH]

DIR holds the source of sssl-ftlsim (github.com/pjd-nu/sssl-ftlsim, GPL-2). It is built outside of this repository: its fastest engine
for greedy collection (runsim_greedy.c), with a main function of ours that draws the pages with a generator as fast as iostall's, so
that the simulators are compared and not rand(). Both fill the device in order and then write it --fills times at random, with the
same geometry; the rate is that of all of it. iostall's amplification must lie within 1 % of the mean field in the same run. Needs a
quiet machine: one core each, pairs in turn with an A/A control (intervals.py). Writes results/flash.md.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from intervals import measure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGE = 4096

# What runsim_greedy.c expects of a header that later versions of its repository no longer have.
HEADER = r"""
struct runsim {
    void *private_data;
    void (*step)(void *private_data, int addr);
    int (*get_physpage)(void *private_data, int blknum, int pgnum);
};
static inline void runsim_stats_write(struct runsim *s, int a, int b, int p) { (void)s; (void)a; (void)b; (void)p; }
static inline void runsim_stats_enter(struct runsim *s, int b) { (void)s; (void)b; }
#define runsim_stats_exit(s, valid, block) ((void)0)
"""

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <time.h>
#include "ftlsim.h"
#include "theirs.h"

static uint64_t state = 88172645463325252ull;
static inline uint64_t bits(void) {
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return state;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
int main(int argc, char **argv) {
    if (argc != 5) return 2;
    int blocks = atoi(argv[1]), user_blocks = atoi(argv[2]), pages = atoi(argv[3]), fills = atoi(argv[4]);
    double begun = now();
    struct greedy *g = greedy_new(blocks, user_blocks, pages);
    g->target_free = 2;
    uint64_t user = (uint64_t)user_blocks * pages, count = user * fills;
    uint64_t first = 0, programmed = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i == count / 2) { first = i; programmed = 0; g->int_writes = 0; }
        g->handle.step(g, (int)(((unsigned __int128)bits() * user) >> 64));
        if (g->int_writes > 1 << 30) { programmed += g->int_writes; g->int_writes = 0; }
    }
    double took = now() - begun;
    programmed += g->int_writes;
    printf("{\"rate\": %.1f, \"amplification\": %.5f}\n", (user + count) / took, (double)programmed / (count - first));
    return 0;
}
"""


def built(source):
    """Builds the peer in a directory of its own; returns the directory and the program."""
    place = tempfile.TemporaryDirectory(prefix="ftlsim-")
    here = Path(place.name)
    (here / "ftlsim.h").write_text(HEADER)
    (here / "theirs.h").write_text("#include \"runsim.h\"\n")
    (here / "main.c").write_text(MAIN)
    for name in ["runsim_greedy.c", "runsim.h"]:
        text = (Path(source) / name).read_text()
        # The header declares a function that is a macro here.
        (here / name).write_text(text.replace("void runsim_stats_exit(struct runsim *sim, int n_p, int n_valid);", ""))
    command = ["gcc", "-O3", "-march=native", "-w", "-o", "peer", "main.c", "runsim_greedy.c"]
    subprocess.run(command, cwd=here, check=True)
    return place, here / "peer"


def run(command):
    """Output and largest memory of a program on one core."""
    before = os.sched_getaffinity(0)
    read, write = os.pipe()
    child = subprocess.Popen(command, stdout=write, preexec_fn=lambda: os.sched_setaffinity(0, {max(before)}))
    os.close(write)
    with os.fdopen(read) as output:
        text = output.read()
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} ended with {status}: {text}")
    return text, used.ru_maxrss * 1024


def mean_field(alpha, pages):
    """What greedy collection converges to; the formula is that of crates/flash/src/theory/mod.rs."""
    above, best = 0.0, None
    for whole in range(pages, 0, -1):
        divisor = 1 - pages / (alpha * whole)
        if divisor:
            valid = pages * (1 - (above + 1) / alpha) / divisor
            outside = max(whole - 1 - valid, valid - whole, 0.0)
            if 0 <= valid < pages and (best is None or outside < best[0]):
                best = (outside, valid)
        above += 1 / whole
    return pages / (pages - best[1])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--ftlsim", required=True)
    options.add_argument("--size", default="64G")
    options.add_argument("--alpha", type=float, default=1.07)
    options.add_argument("--pages", type=int, default=64)
    options.add_argument("--fills", type=int, default=4)
    options.add_argument("--rounds", type=int, default=60)
    options.add_argument("--binary", default=str(ROOT / "target/release/iostall"))
    options = options.parse_args()
    size = int(options.size[:-1]) << {"M": 20, "G": 30}[options.size[-1]]
    user_blocks = size // PAGE // options.pages
    blocks = round(user_blocks * options.alpha) + 3
    place, peer = built(options.ftlsim)
    memory, amplification = {}, {}

    def theirs():
        text, memory["peer"] = run([str(peer), *map(str, [blocks, user_blocks, options.pages, options.fills])])
        found = json.loads(text)
        amplification["peer"] = found["amplification"]
        return found["rate"]

    def ours():
        words = ["drive", "flash", "--whole", "--size", options.size, "--page", "4K", "--block", f"{options.pages * 4}K",
                 "--spare", f"{(options.alpha - 1) * 100:.6f}%", "--fills", str(options.fills), "--seed", "1", "--no-store", "--quiet", "--json", "-"]
        text, memory["iostall"] = run([options.binary, *words])
        document = json.loads(text)
        amplification["iostall"] = document["summary"]["write_amplification"]
        return document["summary"]["host_pages_per_s"]

    shown = lambda text: print(text, flush=True)
    (middle, low, high), (_, control_low, control_high), rounds = measure(theirs, ours, options.rounds, shown)
    place.cleanup()
    wanted = mean_field(options.alpha, options.pages)
    off = amplification["iostall"] / wanted - 1
    is_fast = "holds" if low >= 1.0 else ("fails" if high < 1.0 else "not decided")
    text = f"""# The simulated flash device beside a public simulator

`benchsuite/flash.py --ftlsim DIR --size {options.size} --alpha {options.alpha} --pages {options.pages} --fills {options.fills} --rounds {options.rounds}` on \
{datetime.now(timezone.utc):%Y-%m-%d}, Linux {platform.release()}, one core of {os.cpu_count()}, {rounds} rounds in turn. The peer is \
the greedy engine of sssl-ftlsim, built with gcc -O3, drawing pages with xorshift.

| | |
|---|---|
| host page writes a second, iostall / peer | {middle:.2f} ({low:.2f} to {high:.2f}) |
| the same, peer / peer | {control_low:.2f} to {control_high:.2f} |
| at least 1.0 | {is_fast} |
| amplification of iostall, of the peer, of the mean field | {amplification["iostall"]:.3f}, {amplification["peer"]:.3f}, {wanted:.3f} ({off:+.2%}: {"holds" if abs(off) <= 0.01 else "fails"}) |
| memory for each page of the host, iostall, peer, bytes | {memory["iostall"] / (size / PAGE):.1f}, {memory["peer"] / (size / PAGE):.1f} |
"""
    print(text)
    (HERE / "results/flash.md").write_text(text)
    raise SystemExit(0 if is_fast != "fails" and abs(off) <= 0.01 else 1)


if __name__ == "__main__":
    main()
