#!/usr/bin/env python3
"""How many small faults the tests of a crate notice: a sample of mutants, drawn with a fixed seed.

    benchsuite/mutation.py list model                      # the draw; nothing is run
    benchsuite/mutation.py run model stats --into FILE     # runs it and adds the outcomes to FILE (JSON)
    benchsuite/mutation.py again --into FILE               # runs those that were missed once more, after new tests
    benchsuite/mutation.py report --into FILE              # prints benchsuite/results/mutation.md

cargo-mutants lists the mutants (`cargo install cargo-mutants`, or name it with --tool). Its own way of running them builds a
crate once for each; here all mutants of a draw go into one build, each behind a switch that an environment variable turns on,
and the tests run once for each: a tenth of the time. A mutant that no switch can be put before (a constant function, a field
of a structure) is built alone. The sources are put back right after each build; run this in a checkout that nobody works in.

A mutant that does not compile says nothing about tests, and the next of the draw takes its place. One that makes the tests
hang is noticed, as a reader would. Finding the expressions needs `pip install tree-sitter tree-sitter-rust`.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["model", "stats", "measure", "load", "transfer", "watch"]
SEED = 10
COUNT = 30
# So many more are built at first, because some do not compile.
SPARE = 14
BOUND = 0.95
# Made-up values for other crates' tests, and doors for the fuzzer: no part of the product.
LEFT_OUT = re.compile(r"/(fixture|fuzzing)(/|\.rs$)")
# How much longer than the unchanged tests those of a mutant may take, and the least they are given.
TIMES_LONGER, SECONDS_MIN = 8, 60
EQUIVALENT = ROOT / "benchsuite" / "equivalent_mutants.txt"
SWITCH = """
#[doc(hidden)]
pub fn mutant_is_on(number: u32) -> bool {
    static ON: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    *ON.get_or_init(|| std::env::var("MUTANT").ok()?.parse().ok()) == Some(number)
}
"""


# --- The draw ---


def mutants(crate, tool):
    """All of a crate, in an order that does not depend on the tool."""
    command = [*tool.split(), "--list", "--json", "--package", f"iostall-{crate}"]
    listed = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    ours = [mutant for mutant in listed if not LEFT_OUT.search(mutant["file"])]
    ours.sort(key=lambda mutant: (mutant["file"], mutant["span"]["start"]["line"], mutant["span"]["start"]["column"], mutant["name"]))
    seen = collections.Counter()
    for mutant in ours:
        mutant["key"] = key(mutant)
        seen[mutant["key"]] += 1
        if seen[mutant["key"]] > 1:
            mutant["key"] += f" ({seen[mutant['key']]})"
    return ours


def key(mutant):
    """What a mutant is called: lines that move do not make it another one."""
    name = re.sub(r":\d+:\d+: ", ": ", mutant["name"])
    if mutant["genre"] in ("FnValue", "MatchArm", "StructField"):
        return name
    lines = mutated(mutant).splitlines()
    return f"{name} | {lines[mutant['span']['start']['line'] - 1].strip()}"


def draw(crate, tool):
    """All mutants of a crate in the order in which they are taken."""
    listed = mutants(crate, tool)
    return random.Random(f"{SEED} {crate}").sample(listed, len(listed))


def offsets(text, span):
    """The bytes of a span that is given in lines and characters."""
    lines = text.splitlines(keepends=True)

    def at(place):
        before = "".join(lines[: place["line"] - 1]) + lines[place["line"] - 1][: place["column"] - 1]
        return len(before.encode())

    return at(span["start"]), at(span["end"])


def mutated(mutant):
    """The file with the mutant in it and nothing else."""
    text = (ROOT / mutant["file"]).read_text()
    start, end = offsets(text, mutant["span"])
    raw = text.encode()
    return (raw[:start] + mutant["replacement"].encode() + raw[end:]).decode()


# --- Many mutants in one build ---


class Switched:
    """The files of a crate with a switch before each mutant."""

    def __init__(self, chosen):
        import tree_sitter
        import tree_sitter_rust

        self.parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
        self.alone = []
        self.files = collections.defaultdict(list)
        for number, mutant in enumerate(chosen, 1):
            mutant["number"] = number
            self.files[mutant["file"]].append(mutant)

    def text(self, path):
        """The file at `path` with the switches of all its mutants that are not to be built alone."""
        self.raw = (ROOT / path).read_text().encode()
        self.edits = {}
        tree = self.parser.parse(self.raw)
        for mutant in self.files[path]:
            if mutant in self.alone:
                continue
            node = self.place(tree.root_node, mutant)
            if node is None:
                self.alone.append(mutant)
            else:
                self.edits.setdefault((node.start_byte, node.end_byte), (node, []))[1].append(mutant)
        return self.render(0, len(self.raw)).decode()

    def place(self, root, mutant):
        """The node that is written anew with the switch in it."""
        start, end = offsets(self.raw.decode(), mutant["span"])
        node = root.named_descendant_for_byte_range(start, end) if mutant["genre"] != "BinaryOperator" else root.descendant_for_byte_range(start, end)
        genre = mutant["genre"]
        wanted = {
            "FnValue": ("block",),
            "BinaryOperator": ("binary_expression", "compound_assignment_expr"),
            "UnaryOperator": ("unary_expression",),
            "MatchArm": ("match_arm",),
            "MatchArmGuard": ("match_pattern",),
        }.get(genre, ())
        while node is not None and node.type not in wanted:
            node = node.parent
        if node is None or (genre == "BinaryOperator" and self.operator(node).start_byte != start):
            return None
        if genre == "FnValue":
            function = node.parent
            while function is not None and function.type != "function_item":
                node, function = (function if function.type == "block" else node), function.parent
            body = function and function.child_by_field_name("body")
            kind = function and function.child_by_field_name("return_type")
            is_constant = function and b"const" in self.raw[function.start_byte : function.child_by_field_name("name").start_byte].split()
            if not body or is_constant or (kind and self.raw[kind.start_byte : kind.end_byte].startswith(b"impl")):
                return None
            return body
        return node

    def operator(self, node):
        return node.child_by_field_name("operator") or node.children[1]

    def render(self, start, end, within=None):
        """The bytes from `start` to `end` with all edits, the outermost first."""
        inside = sorted(
            (span for span in self.edits if start <= span[0] and span[1] <= end and span != within),
            key=lambda span: (span[0], -span[1]),
        )
        out, at = b"", start
        for span in inside:
            if span[0] < at:
                continue
            out += self.raw[at : span[0]] + self.switched(span)
            at = span[1]
        return out + self.raw[at:end]

    def switched(self, span):
        node, of_node = self.edits[span]
        part = lambda child: self.render(child.start_byte, child.end_byte, span)
        genre = of_node[0]["genre"]
        on = lambda mutant: f"crate::mutant_is_on({mutant['number']})".encode()
        if genre == "FnValue":
            early = b"".join(
                b"if %s { return %s; } " % (on(mutant), b"" if mutant["replacement"] == "()" else mutant["replacement"].encode())
                for mutant in of_node
            )
            return b"{ " + early + self.render(span[0] + 1, span[1], span)
        if genre in ("BinaryOperator", "UnaryOperator"):
            if genre == "BinaryOperator":
                left, right = part(node.child_by_field_name("left")), part(node.child_by_field_name("right"))
                whole = lambda operator: b"%s %s %s" % (left, operator, right)
                kept = self.operator(node)
                out = b"{ %s }" % whole(self.raw[kept.start_byte : kept.end_byte])
                changed = lambda mutant: whole(mutant["replacement"].encode())
            else:
                out = b"{ %s }" % self.render(span[0], span[1], span)
                changed = lambda mutant: part(node.children[-1])
            for mutant in of_node:
                out = b"{ if %s { %s } else %s }" % (on(mutant), changed(mutant), out)
            return b"(" + out[2:-2] + b")"
        pattern = node if genre == "MatchArmGuard" else node.child_by_field_name("pattern")
        guard = pattern.child_by_field_name("condition")
        of_guard = self.edits.get((pattern.start_byte, pattern.end_byte), (None, []))[1] if genre == "MatchArm" else of_node
        condition = part(guard) if guard else b"true"
        for mutant in of_guard:
            condition = b"(if %s { %s } else { %s })" % (on(mutant), mutant["replacement"].encode(), condition)
        if genre == "MatchArm":
            condition = b"(%s) && !(%s)" % (condition, b" || ".join(map(on, of_node)))
        bare = self.raw[pattern.start_byte : guard.start_byte if guard else pattern.end_byte].rstrip()
        bare = re.sub(rb"\s+if$", b"", bare) if guard else bare
        rest = b"" if genre == "MatchArmGuard" else self.render(pattern.end_byte, span[1], span)
        return bare + b" if " + condition + rest


# --- Running ---


class Crate:
    """The tests of one crate."""

    def __init__(self, name, nice):
        self.name, self.nice, self.limit = name, ["nice", "-n", str(nice)], None
        self.directory = ROOT / "crates" / name
        self.programs = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

    @contextlib.contextmanager
    def changed(self, texts):
        before = {path: (ROOT / path).read_bytes() for path in texts}
        try:
            for path, text in texts.items():
                (ROOT / path).write_text(text)
            yield
        finally:
            for path, text in before.items():
                (ROOT / path).write_bytes(text)

    def build(self):
        """(the test programs, or None where they do not compile; what the compiler said, as JSON)"""
        command = ["nice", "-n", "5", "cargo", "test", "--locked", "--no-run", "--lib", "--tests", "--package", f"iostall-{self.name}"]
        environment = {**os.environ, "CARGO_INCREMENTAL": "0"}
        done = subprocess.run([*command, "--message-format=json"], cwd=ROOT, env=environment, capture_output=True, text=True)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        programs = [message["executable"] for message in messages if message.get("executable") and message["profile"]["test"]]
        # The next build would take their places.
        kept = [shutil.copy(program, tempfile.mkdtemp(dir=self.programs.name)) for program in programs]
        return (kept if done.returncode == 0 else None), messages, done.stderr

    def test(self, programs, number):
        """(outcome, the first test that failed, seconds)"""
        # Tests are ended at the first failure, and then leave files behind.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            return self.test_in(scratch, programs, number)

    def test_in(self, scratch, programs, number):
        environment = {**os.environ, "MUTANT": str(number), "CARGO_MANIFEST_DIR": str(self.directory), "RUST_BACKTRACE": "0", "INSTA_UPDATE": "no", "TMPDIR": scratch, "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true"}
        began = time.monotonic()
        for program in programs:
            process = subprocess.Popen(
                [*self.nice, program], cwd=self.directory, env=environment, text=True, errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )
            late = threading.Event()

            def stop(process=process, late=late):
                late.set()
                os.killpg(process.pid, signal.SIGKILL)

            timer = threading.Timer(self.limit or 3600, stop)
            timer.start()
            failed = None
            for line in process.stdout:
                found = re.match(r"test (\S+).* FAILED$", line)
                if found:
                    failed = found[1]
                    break
            timer.cancel()
            if failed and not late.is_set():
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.close()
            status, took = process.wait(), time.monotonic() - began
            if late.is_set():
                return "timeout", None, took
            if failed or status != 0:
                return "caught", failed or f"exit status {status}", took
        return "missed", None, time.monotonic() - began


def try_all(crate, chosen):
    """Gives each of `chosen` its outcome, all in one build as far as that goes."""
    switched, refused = Switched(chosen), []
    home = f"crates/{crate.name}/src/lib.rs"
    for _ in range(12):
        texts = {path: switched.text(path) for path in switched.files}
        texts[home] = (texts.get(home) or (ROOT / home).read_text()) + SWITCH
        with crate.changed(texts):
            programs, messages, said = crate.build()
        if programs is not None:
            break
        broken = refused_by_compiler(messages, texts)
        fresh = [mutant for mutant in chosen if mutant["number"] in broken and mutant not in switched.alone]
        if not fresh:
            sys.exit(f"{crate.name} does not compile with its switches:\n{said}\n{rendered(messages)}")
        # A value of the wrong type is refused with a switch before it and without one.
        refused.extend(mutant for mutant in fresh if mutant["genre"] == "FnValue")
        switched.alone.extend(fresh)
    outcome, by, took = crate.test(programs, 0)
    if outcome != "missed":
        sys.exit(f"{crate.name}: the tests fail with every switch off: {by}")
    crate.limit = max(SECONDS_MIN, TIMES_LONGER * took)
    print(f"{crate.name}: {len(chosen)} mutants in one build, {len(switched.alone)} of them alone; the tests take {took:.0f} s", flush=True)
    for mutant in chosen:
        if mutant in refused:
            outcome, by = "does not compile", None
        elif mutant in switched.alone:
            with crate.changed({mutant["file"]: mutated(mutant)}):
                alone, _, _ = crate.build()
            outcome, by, _ = crate.test(alone, 0) if alone else ("does not compile", None, 0)
        else:
            outcome, by, _ = crate.test(programs, mutant["number"])
        yield mutant, outcome, by


def refused_by_compiler(messages, texts):
    """The numbers of the mutants on the lines that the compiler complains of."""
    numbers = set()
    for message in messages:
        if message.get("reason") != "compiler-message" or message["message"]["level"] != "error":
            continue
        for span in message["message"]["spans"]:
            lines = texts.get(span["file_name"], "").splitlines()
            for line in lines[span["line_start"] - 1 : span["line_end"]]:
                numbers.update(int(number) for number in re.findall(r"mutant_is_on\((\d+)\)", line))
    return numbers


def rendered(messages):
    said = [message["message"] for message in messages if message.get("reason") == "compiler-message"]
    return "\n".join(message["rendered"] for message in said if message["level"] == "error")[:4000]


# --- The commands ---


def commit():
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def refuse_a_checkout_with_changes():
    command = ["git", "status", "--porcelain", "crates"]
    changed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if changed.strip():
        sys.exit(f"there are changes in this checkout, and mutants would be mixed with them:\n{changed}")


def run(arguments, book):
    refuse_a_checkout_with_changes()
    for name in arguments.crates or CRATES:
        order = draw(name, arguments.tool)
        of_crate = book[name] = {"commit": commit(), "listed": len(order), "mutants": []}
        entries, left = of_crate["mutants"], iter(order)
        viable = lambda: sum(entry["outcome"] != "does not compile" for entry in entries)
        wanted = COUNT + SPARE
        while viable() < COUNT and (chosen := [mutant for mutant, _ in zip(left, range(wanted))]):
            for mutant, outcome, by in try_all(Crate(name, arguments.nice), chosen):
                entries.append({"key": mutant["key"], "outcome": outcome, "by": by})
                print(f"  {outcome:>16}  {mutant['key']}{'  by ' + by if by else ''}", flush=True)
                save(arguments.into, book)
                # What is beyond the thirtieth that compiles was not drawn.
                if viable() >= COUNT:
                    break
            wanted = SPARE


def again(arguments, book):
    """Those that were missed, with the tests there are by now. What they change must still be there to change."""
    refuse_a_checkout_with_changes()
    for name in arguments.crates or list(book):
        same = equivalent()
        missed = [entry for entry in book[name]["mutants"] if entry["outcome"] == "missed" and entry["key"] not in same]
        if not missed:
            continue
        listed = {mutant["key"]: mutant for mutant in mutants(name, arguments.tool)}
        for entry in missed:
            if entry["key"] not in listed:
                print(f"              gone  {entry['key']}", flush=True)
        chosen = [listed[entry["key"]] for entry in missed if entry["key"] in listed]
        for mutant, outcome, by in try_all(Crate(name, arguments.nice), chosen):
            entry = next(entry for entry in missed if entry["key"] == mutant["key"])
            if outcome in ("caught", "timeout"):
                entry.update(now=outcome, now_by=by)
            print(f"  {outcome:>16}  {entry['key']}{'  by ' + by if by else ''}", flush=True)
            save(arguments.into, book)


def equivalent():
    """Mutants that do what the product does, each with the reason why: found out by hand."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    return dict(line.split(" => ", 1) for line in lines if line and not line.startswith("#"))


def save(path, book):
    path.write_text(json.dumps(book, indent=1) + "\n")


def report(book):
    same = equivalent()
    print("# Mutants that the tests notice\n")
    print(f"`benchsuite/mutation.py`, seed {SEED}: {COUNT} mutants of each crate that compile, each with that crate's own tests only. One that makes")
    print("the tests hang counts as caught. Equivalent ones change nothing that anybody could see; they are listed below with the")
    print(f"reason and left out of the share. The bound is {BOUND:.0%} in each crate.\n")
    print("| crate | at commit | mutants in all | tried | caught | of them by a timeout | equivalent | missed at first | missed now | share at first | share now |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for crate, of_crate in book.items():
        tried = [entry for entry in of_crate["mutants"] if entry["outcome"] != "does not compile"]
        timeouts = sum("timeout" in (entry["outcome"], entry.get("now")) for entry in tried)
        real = [entry for entry in tried if entry["key"] not in same]
        first = [entry for entry in real if entry["outcome"] == "missed"]
        now = [entry for entry in first if "now" not in entry]
        share = lambda missed: f"{1 - len(missed) / max(1, len(real)):.0%}"
        below = "" if 1 - len(now) / max(1, len(real)) >= BOUND else " (below the bound)"
        print(
            f"| {crate} | {of_crate['commit']} | {of_crate['listed']} | {len(tried)} | {len(real) - len(now)} | {timeouts} "
            f"| {len(tried) - len(real)} | {len(first)} | {len(now)} | {share(first)} | {share(now)}{below} |"
        )
    missed = [entry for of_crate in book.values() for entry in of_crate["mutants"] if entry["outcome"] == "missed"]
    for title, is_chosen, said in [
        ("Missed at first, caught now", lambda entry: "now" in entry, lambda entry: f"`{entry.get('now_by') or 'timeout'}`"),
        ("Equivalent", lambda entry: entry["key"] in same, lambda entry: same[entry["key"]]),
        ("Missed", lambda entry: "now" not in entry and entry["key"] not in same, lambda entry: ""),
    ]:
        chosen = [entry for entry in missed if is_chosen(entry)]
        if chosen:
            print(f"\n## {title}\n")
        for entry in chosen:
            name, _, line = entry["key"].partition(" | ")
            print(f"- {name}{f': `{line}`' if line else ''}{': ' + said(entry) if said(entry) else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["list", "run", "again", "report"])
    parser.add_argument("crates", nargs="*", help=f"all of {', '.join(CRATES)} where none is named")
    parser.add_argument("--into", type=pathlib.Path, default=pathlib.Path("mutation.json"))
    parser.add_argument("--tool", default="cargo mutants")
    parser.add_argument("--nice", type=int, default=15)
    arguments = parser.parse_args()
    book = json.loads(arguments.into.read_text()) if arguments.into.exists() else {}
    if arguments.verb == "list":
        for name in arguments.crates or CRATES:
            for mutant in draw(name, arguments.tool)[:COUNT]:
                print(mutant["key"])
    elif arguments.verb == "run":
        run(arguments, book)
    elif arguments.verb == "again":
        again(arguments, book)
    else:
        report(book)


main()
