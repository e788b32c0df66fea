#!/usr/bin/env python3
"""Runs the statements of iostall.take_sample, translated to DuckDB, on made-up system tables, and looks at what they keep.

The procedure's control flow, locks and permissions are not part of it: those need a SQL Server.
"""

import re
import sys

from translation import INSTALL, database, insert, translated

TEXT = (INSTALL / "05_create_sample_procedure.sql").read_text(encoding="utf-8")


def statement(begin):
    """The statement of the procedure that begins so."""
    found = re.search(re.escape(begin) + r".*?;", TEXT, re.S)
    return found.group(0)


class Server:
    """Files with their counters, as the server's own views would show them."""

    def __init__(self):
        self.connection = database()
        self.ticks_ms = 100_000
        self.files = {}
        run = self.connection.execute
        run("CREATE SCHEMA sys")
        run("CREATE TABLE sys.databases (database_id INT, name VARCHAR, create_date TIMESTAMP, service_broker_guid VARCHAR)")
        run("CREATE TABLE sys.master_files (database_id INT, file_id INT, name VARCHAR, physical_name VARCHAR, "
            "type_desc VARCHAR, file_guid VARCHAR)")
        run("CREATE TABLE sys.dm_io_pending_io_requests (io_type VARCHAR, io_pending_ms_ticks BIGINT)")
        run("CREATE TABLE sys.volumes (database_id INT, file_id INT, volume_mount_point VARCHAR)")

    def database(self, number, name, created="2026-01-01 00:00:00"):
        self.connection.execute("DELETE FROM sys.databases WHERE database_id = ?", [number])
        self.connection.execute("INSERT INTO sys.databases VALUES (?, ?, ?, ?)", [number, name, created, f"b{number}"])

    def file(self, database, number, path, guid=None, listed=True):
        run = self.connection.execute
        run("DELETE FROM sys.master_files WHERE database_id = ? AND file_id = ?", [database, number])
        run("DELETE FROM sys.volumes WHERE database_id = ? AND file_id = ?", [database, number])
        if listed:
            run("INSERT INTO sys.master_files VALUES (?, ?, ?, ?, 'ROWS', ?)", [database, number, path, path, guid])
            run("INSERT INTO sys.volumes VALUES (?, ?, ?)", [database, number, path[:3]])
        self.files.setdefault((database, number), [0] * 6)

    def work(self, database, number, reads):
        self.files[(database, number)][0] += reads

    def sample(self, database=None, file=None):
        """What take_sample does after it has read the counters."""
        run = self.connection.execute
        self.ticks_ms += 10_000
        run("CREATE OR REPLACE TEMP TABLE counter (database_id INT, file_id INT, utc TIMESTAMP, ticks_ms BIGINT, "
            "start_ticks_ms BIGINT, reads BIGINT, read_bytes BIGINT, read_stall_ms BIGINT, writes BIGINT, "
            "write_bytes BIGINT, write_stall_ms BIGINT, queued_read_stall_ms BIGINT, queued_write_stall_ms BIGINT, "
            "size_bytes BIGINT, handle BIGINT)")
        for (number, part), counters in self.files.items():
            run("INSERT INTO counter VALUES (?, ?, '2026-05-01 10:00:00', ?, 1000, ?, ?, ?, ?, ?, ?, 0, 0, 4096, ?)",
                [number, part, self.ticks_ms, *counters, number * 100 + part])
        run("CREATE OR REPLACE TEMP TABLE seen (database_id INT, file_id INT, identity_text VARCHAR PRIMARY KEY, "
            "database_name VARCHAR, logical_name VARCHAR, physical_name VARCHAR, type_name VARCHAR, age_ms BIGINT)")
        if not self.rows("epoch", "epoch_id"):
            insert(self.connection, "epoch", instance_name="SQL19/", version=15, start_ticks_ms=1000,
                   first_seen_utc="2026-05-01 10:00:00")
        values = {"@database": database, "@file": file, "@run_id": 1, "@epoch_id": 1}
        self.insert("INSERT INTO #seen (", values)
        self.insert("INSERT INTO iostall.sample (", values)
        values["@sample_id"] = run("SELECT MAX(sample_id) FROM iostall.sample").fetchone()[0]
        self.insert("INSERT INTO iostall.data_file (", values)
        self.update("UPDATE k\n        SET\n            database_name", values)
        self.insert("INSERT INTO iostall.file_sample (", values)
        self.update("UPDATE k\n        SET last_sample_id", values)
        self.update("UPDATE k\n        SET volume", values)
        return values["@sample_id"]

    def insert(self, begin, values):
        found = re.match(r"(INSERT INTO) (\S+) \((.*?)\)\s*(SELECT.*);", self.prepared(begin, values), re.S)
        self.connection.execute(f"{found.group(1)} {found.group(2)} ({found.group(3)}) {translated(found.group(4))}")

    def update(self, begin, values):
        """T-SQL names the table that it changes by its alias and joins the rest; DuckDB joins in WHERE."""
        found = re.match(r"UPDATE k\s+SET(.*?)FROM iostall\.data_file AS k\s+INNER JOIN seen AS n ON (.*?)\n"
                         r"(\s+OUTER APPLY.*? AS v\n)?(?:\s+WHERE(.*))?;?$", self.prepared(begin, values).rstrip(";") + "\n", re.S)
        changes, join, _, where = (part and part.replace("v.volume_mount_point", "n.volume_mount_point")
                                   for part in found.groups())
        rest = f" AND ({where})" if where else ""
        files = "(SELECT s.*, v.volume_mount_point FROM seen AS s LEFT JOIN sys.volumes AS v USING (database_id, file_id)) AS n"
        text = f"UPDATE iostall.data_file AS k SET {changes} FROM {files} WHERE {join}{rest}"
        self.connection.execute(text.replace("ISNULL(", "COALESCE(").replace("N'", "'"))

    def prepared(self, begin, values):
        """A statement with the procedure's variables as they would be, and made-up functions as tables."""
        text = statement(begin).replace("#seen", "seen").replace("#counter", "counter")
        text = text.replace("COLLATE DATABASE_DEFAULT", "").replace("WITH (READUNCOMMITTED)", "").replace("GETDATE()", "CONVERT(DATETIME2(3), '2026-05-01 10:00:00')")
        text = re.sub(r"OUTER APPLY sys\.dm_os_volume_stats\(n\.database_id, n\.file_id\) AS v",
                      "OUTER APPLY (SELECT q.volume_mount_point FROM sys.volumes AS q "
                      "WHERE q.database_id = n.database_id AND q.file_id = n.file_id) AS v", text)
        # Every sum in these statements is one of texts.
        text = re.sub(r"\+(?=\s)", "||", text)
        for name, value in values.items():
            literal = "CONVERT(NVARCHAR(200), NULL)" if value is None else f"N'{value}'" if isinstance(value, str) else str(value)
            text = re.sub(re.escape(name) + r"\b", lambda _: literal, text)
        return text

    def rows(self, table, columns, where="TRUE"):
        query = f"SELECT {columns} FROM iostall.{table} WHERE {where} ORDER BY ALL"
        return self.connection.execute(query).fetchall()


def shop():
    server = Server()
    server.database(5, "shop")
    server.file(5, 1, "E:\\shop.mdf", guid="g1")
    server.file(5, 2, "L:\\shop.ldf", guid="g2")
    server.sample()
    return server


def deltas(server, sample):
    return server.rows("file_rate", "physical_name, reads, reset_reason", f"sample_id = {sample}")


def check_a_file_made_later_is_recorded_and_one_that_master_does_not_list_too():
    server = shop()
    server.file(5, 3, "E:\\more.ndf", guid="g3")
    server.file(5, 65537, "", listed=False)
    server.work(5, 1, 70)
    found = deltas(server, server.sample())
    assert found == [("E:\\more.ndf", None, "baseline"), ("E:\\shop.mdf", 70, None), ("L:\\shop.ldf", 0, None),
                     ("file 65537", None, "baseline")], found


def check_a_sample_of_some_files_leaves_the_intervals_of_the_others_whole():
    server = shop()
    server.work(5, 1, 10)
    first = server.sample(file="L:%")
    assert deltas(server, first) == [("L:\\shop.ldf", 0, None)]
    server.work(5, 1, 5)
    second = server.sample()
    found = server.rows("file_rate", "physical_name, reads, interval_ms", f"sample_id = {second}")
    assert found == [("E:\\shop.mdf", 15, 20_000), ("L:\\shop.ldf", 0, 10_000)], found
    found = server.rows("sample", "files, filter_text")
    assert found == [(1, "file LIKE L:%"), (2, None), (2, None)], found


def check_a_moved_file_keeps_its_history_under_its_new_name():
    server = shop()
    server.file(5, 1, "F:\\shop.mdf", guid="g1")
    server.work(5, 1, 9)
    assert deltas(server, server.sample())[0] == ("F:\\shop.mdf", 9, None)
    assert server.rows("data_file", "volume", "file_id = 1") == [("F:\\",)]


def check_a_volume_that_did_not_answer_at_first_is_known_later_and_one_without_a_name_is_none():
    server = shop()
    server.connection.execute("DELETE FROM sys.volumes")
    server.file(5, 3, "M:\\late.ndf", guid="g3")
    server.connection.execute("UPDATE sys.volumes SET volume_mount_point = '' WHERE file_id = 3")
    server.sample()
    assert server.rows("data_file", "volume", "file_id = 3") == [(None,)]
    server.connection.execute("UPDATE sys.volumes SET volume_mount_point = 'M:\\' WHERE file_id = 3")
    server.sample()
    assert server.rows("data_file", "volume", "file_id = 3") == [("M:\\",)]


def check_a_database_dropped_and_made_again_is_another_one():
    server = shop()
    server.database(5, "shop", created="2026-05-01 09:59:55")
    server.file(5, 1, "E:\\shop.mdf", guid="g9")
    server.work(5, 1, 40)
    found = deltas(server, server.sample())
    assert found == [("E:\\shop.mdf", None, "identity-change"), ("L:\\shop.ldf", None, "identity-change")], found
    keys = server.rows("data_file", "first_sample_id, first_age_ms", "first_sample_id = 2")
    assert keys == [(2, 5_000), (2, 5_000)], keys


def main():
    checks = [check for name, check in globals().items() if name.startswith("check_")]
    for check in checks:
        check()
    print(f"{len(checks)} checks of what a sample keeps passed")


if __name__ == "__main__":
    sys.exit(main())
