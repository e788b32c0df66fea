#!/usr/bin/env python3
"""Runs the views' own text on hand-written samples, translated to DuckDB, and compares what they say with what is true.

There is no SQL Server here, so this proves rules and sums, not the server's rounding. That no division is one of whole
numbers, which T-SQL would cut off, is checked on the text.
"""

import re
import sys

from translation import INSTALL, database, insert, translated


class History:
    """Samples as iostall.take_sample would write them."""

    def __init__(self):
        self.connection = database()
        self.last = {}
        self.start = None
        self.epochs = 0
        self.samples = 0

    def epoch(self, start_ms, version=15, instance="SQL19/"):
        self.epochs += 1
        insert(self.connection, "epoch", epoch_id=self.epochs, instance_name=instance, version=version,
               start_ticks_ms=start_ms, first_seen_utc="2026-05-01 00:00:00")

    def file(self, key, name, database="sales", age_ms=None):
        insert(self.connection, "data_file", file_key=key, identity_text=str(key), database_id=5, file_id=key,
               database_name=database, logical_name=name, physical_name=name, type_name="ROWS", volume="E:\\",
               first_sample_id=self.samples + 1, first_age_ms=age_ms, last_sample_id=0)

    def sample(self, utc, ticks_ms, files, filter_text=None):
        """files: key -> (reads, read_stall_ms, writes, write_stall_ms, handle)"""
        self.samples += 1
        insert(self.connection, "sample", sample_id=self.samples, run_id=1, epoch_id=self.epochs, taken_utc=utc,
               ticks_ms=ticks_ms, files=len(files), filter_text=filter_text)
        for key, (reads, read_stall, writes, write_stall, handle) in files.items():
            insert(self.connection, "file_sample", sample_id=self.samples, file_key=key,
                   previous_sample_id=self.last.get(key), reads=reads, read_bytes=reads * 8192,
                   read_stall_ms=read_stall, writes=writes, write_bytes=writes * 8192, write_stall_ms=write_stall,
                   queued_read_stall_ms=None, queued_write_stall_ms=None, size_bytes=1 << 30, handle=handle)
            self.last[key] = self.samples

    def rows(self, view, columns, where="TRUE"):
        query = f"SELECT {columns} FROM iostall.{view} WHERE {where} ORDER BY ALL"
        return self.connection.execute(query).fetchall()

    def last_reason(self, key=1):
        return self.rows("file_delta", "reset_reason, reads", f"sample_id = {self.samples} AND file_key = {key}")[0]


def one_file():
    history = History()
    history.epoch(1_000)
    history.file(1, "a.mdf")
    history.sample("2026-05-01 10:00:00", 100_000, {1: (1000, 50, 10, 0, 7)})
    return history


def check_rates_keep_their_decimals():
    history = one_file()
    history.sample("2026-05-01 10:02:00", 219_997, {1: (1010, 53, 10, 0, 7)})
    found = history.rows("file_rate", "interval_ms, reads, reads_per_s, read_stall_ms_per_read, writes_per_s, "
                         "write_stall_ms_per_write, stall_ms_per_io", "sample_id = 2")[0]
    assert [str(value) for value in found] == ["119997", "10", "0.083", "0.300000", "0.000", "None", "0.300000"], found


def check_a_log_that_is_only_written_has_its_write_stall():
    history = one_file()
    history.sample("2026-05-01 10:00:00.5", 100_500, {1: (1000, 50, 2010, 3000, 7)})
    found = history.rows("file_rate", "reads_per_s, writes_per_s, read_stall_ms_per_read, write_stall_ms_per_write, "
                         "in_flight_mean", "sample_id = 2")[0]
    assert [str(value) for value in found] == ["0.000", "4000.000", "None", "1.500000", "6.000000"], found


def check_each_reset_has_its_reason_and_no_amounts():
    def after(change):
        history = one_file()
        change(history)
        return history.last_reason()

    def restarted(history):
        history.epoch(105_000)
        history.sample("2026-05-01 10:01:00", 160_000, {1: (2000, 90, 20, 1, 7)})

    def upgraded(history):
        history.epoch(105_000, version=16)
        history.sample("2026-05-01 10:01:00", 160_000, {1: (2000, 90, 20, 1, 7)})

    def sampled(ticks_ms, counters):
        return lambda history: history.sample("2026-05-01 10:01:00", ticks_ms, {1: counters})

    assert one_file().last_reason() == ("baseline", None)
    assert after(restarted) == ("restart", None), "though every counter grew"
    assert after(upgraded) == ("upgrade", None)
    assert after(sampled(160_000, (2000, 90, 20, 1, 8))) == ("reattach", None), "another handle"
    assert after(sampled(160_000, (2000, 49, 20, 1, 7))) == ("reattach", None), "one column decreased: the whole row"
    assert after(sampled(99_000, (2000, 90, 20, 1, 7))) == ("clock-change", None)
    assert after(sampled(160_000, (1000, 50, 10, 0, 7))) == (None, 0), "idle is a delta of zeros"


def check_a_gap_keeps_its_length():
    history = one_file()
    history.file(2, "b.mdf")
    history.sample("2026-05-01 11:00:00", 3_700_000, {2: (5, 5, 5, 5, 9)}, filter_text="file LIKE b%")
    history.sample("2026-05-01 12:00:00", 7_300_000, {1: (1720, 60, 10, 0, 7)})
    found = history.rows("file_rate", "interval_ms, reads_per_s", "sample_id = 3")[0]
    assert (found[0], str(found[1])) == (7_200_000, "0.100"), found


def check_a_young_database_counts_from_zero_and_a_renamed_one_does_not():
    for handle, wanted in ((77, (None, 40)), (7, ("baseline", None))):
        history = one_file()
        history.file(2, "fresh.mdf", database="fresh", age_ms=5_000)
        history.sample("2026-05-01 10:00:10", 110_000, {1: (1000, 50, 10, 0, 7), 2: (40, 4, 0, 0, handle)})
        assert history.last_reason(2) == wanted, (handle, history.last_reason(2))
    history = one_file()
    history.file(2, "old.mdf", database="old", age_ms=11_000)
    history.sample("2026-05-01 10:00:10", 110_000, {1: (1000, 50, 10, 0, 7), 2: (40, 4, 0, 0, 77)})
    assert history.last_reason(2) == ("baseline", None), "older than the sample before"
    history = one_file()
    history.file(2, "a.mdf")
    history.sample("2026-05-01 10:00:10", 110_000, {2: (40, 4, 0, 0, 77)})
    assert history.last_reason(2) == ("identity-change", None), "a known name with a new identity"


def check_groups_are_sums_and_say_what_they_lack():
    history = one_file()
    history.file(2, "b.ldf")
    history.sample("2026-05-01 10:00:10", 110_000, {1: (1100, 150, 10, 0, 7), 2: (0, 0, 0, 0, 9)})
    history.sample("2026-05-01 10:00:20", 120_000, {1: (1200, 250, 10, 0, 7), 2: (300, 3300, 0, 0, 9)})
    found = history.rows("group_rate", "kind, reads, files, files_without_delta, stall_ms_per_io", "sample_id = 3")
    wanted = [("database", 400, 2, 0), ("server", 400, 2, 0), ("volume", 400, 2, 0)]
    assert [row[:4] for row in found] == wanted, found
    assert {str(row[4]) for row in found} == {"8.500000"}, "sum by sum, not the mean of 1 and 11"
    found = history.rows("group_rate", "files, files_without_delta, reads", "sample_id = 2 AND kind = 'server'")
    assert found == [(2, 1, 100)], found


def check_what_a_file_did_beside_a_run_of_its_own_is_in_its_groups():
    """A run with a filter splits the intervals of its files; the sums of all files lost what lay before its samples."""
    history = one_file()
    history.file(2, "b.ldf", database="stock")
    history.sample("2026-05-01 10:00:10", 110_000, {1: (1000, 50, 10, 0, 7), 2: (0, 0, 0, 0, 9)})
    history.sample("2026-05-01 10:00:15", 115_000, {1: (1300, 350, 10, 0, 7)}, filter_text="database LIKE sales")
    history.sample("2026-05-01 10:00:20", 120_000, {1: (1400, 450, 10, 0, 7), 2: (50, 50, 0, 0, 9)})
    history.sample("2026-05-01 10:00:25", 125_000, {1: (9000, 900, 10, 0, 7)}, filter_text="database LIKE sales")
    columns = "sample_id, name, reads, interval_ms_max, reads_per_s, files, files_without_delta"
    found = history.rows("group_rate", columns, "kind = 'database' AND sample_id > 2")
    found = [tuple(str(value) for value in row) for row in found]
    wanted = [("4", "sales", "400", "10000", "40.000", "1", "0"), ("4", "stock", "50", "10000", "5.000", "1", "0")]
    assert found == wanted, found


def roll_up(history):
    """What iostall.roll_up_samples does: its own statements, one after the other."""
    text = (INSTALL / "07_create_roll_up_procedures.sql").read_text(encoding="utf-8")
    run = history.connection.execute
    done = run("SELECT COALESCE(MAX(up_to_sample_id), 0) FROM iostall.rolled_up").fetchone()[0]
    sums = re.search(r"INSERT INTO #addition \((.*?)\)\s*(SELECT.*?);", text, re.S)
    query = sums.group(2).replace("@from", str(done)).replace("@to", str(history.samples))
    run(f"CREATE OR REPLACE TEMP TABLE addition AS SELECT * FROM ({translated(query)}) AS t ({sums.group(1)})")
    update = re.search(r"UPDATE u\s+SET(.*?)FROM iostall\.roll_up AS u\s+INNER JOIN #addition AS a ON (.*?);", text, re.S)
    changes = re.sub(r"(?m)^\s+(\w+) = ", r" \1 = ", update.group(1))
    run(f"UPDATE iostall.roll_up AS u SET {changes} FROM addition AS a WHERE {update.group(2)}")
    added = re.search(r"INSERT INTO iostall\.roll_up \((.*?)\)\s*(SELECT.*?);", text, re.S)
    run(f"INSERT INTO iostall.roll_up ({added.group(1)}) {translated(added.group(2).replace('#addition', 'addition'))}")
    run("DELETE FROM iostall.rolled_up")
    insert(history.connection, "rolled_up", up_to_sample_id=history.samples)


def check_roll_ups_are_sums_over_covered_time_with_maxima_however_often_they_run():
    def tick(history, number):
        at = [("10:00:10", 110_000, (1100, 150, 10, 0, 7)), ("10:00:20", 120_000, (1400, 1350, 10, 0, 7)),
              ("10:00:30", 130_000, (1410, 1351, 10, 0, 7)), ("11:00:00", 3_700_000, (1410, 1351, 10, 0, 8))]
        utc, ticks_ms, counters = at[number]
        history.sample(f"2026-05-01 {utc}", ticks_ms, {1: counters})

    for often in (False, True):
        history = one_file()
        for number in range(4):
            tick(history, number)
            if often:
                roll_up(history)
                roll_up(history)
        roll_up(history)
        columns = ("covered_ms, intervals, resets, reads, read_stall_ms, reads_per_s_max, read_stall_ms_per_read_max, "
                   "write_stall_ms_per_write_max, queued_read_stall_ms, size_bytes_max")
        found = {(row[0], str(row[1])): [str(value) for value in row[2:]]
                 for row in history.rows("roll_up", f"tier, beginning_utc, {columns}")}
        size = str(1 << 30)
        hour = ["30000", "3", "0", "410", "1301", "30.000", "4.000000", "None", "None", size]
        assert found[("H", "2026-05-01 10:00:00")] == hour, (often, found)
        nothing = ["0", "0", "1", "0", "0", "None", "None", "None", "None", size]
        assert found[("H", "2026-05-01 11:00:00")] == nothing, (often, found)
        day = ["30000", "3", "1", "410", "1301", "30.000", "4.000000", "None", "None", size]
        assert found[("D", "2026-05-01 00:00:00")] == day, (often, found)
        rate = history.rows("roll_up_rate", "reads_per_s, read_stall_ms_per_read", "tier = 'D'")[0]
        assert [str(value) for value in rate] == ["13.667", "3.173171"], rate


def main():
    checks = [(name, check) for name, check in globals().items() if name.startswith("check_")]
    for name, check in checks:
        check()
    print(f"{len(checks)} checks of the views' arithmetic passed")


if __name__ == "__main__":
    sys.exit(main())
