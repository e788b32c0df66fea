"""Answers questions about the lake, one JSON line each: pyiceberg reads, and DuckDB computes.

Usage: reader.py URL PROPERTIES
"""
import json
import sys
import warnings

import duckdb
import psycopg2
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

warnings.simplefilter("ignore")
TABLES = ["samples", "hours", "stalls"]
url, properties = sys.argv[1], json.loads(sys.argv[2])
catalog = SqlCatalog("iostall", uri=url, init_catalog_tables="false", **properties)


def query(sql):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in TABLES:
        connection.register(name, catalog.load_table(("fleet", name)).scan().to_arrow())
    return [[str(value) for value in row] for row in connection.execute(sql).fetchall()]


def files():
    tables = [catalog.load_table(("fleet", name)) for name in TABLES]
    return sorted(task.file.file_path for table in tables for task in table.scan().plan_files())


def both():
    # A reader of both locks the repository first: a day that is dropped is not in its snapshot otherwise.
    database = psycopg2.connect(url.replace("+psycopg2", ""))
    database.set_session(isolation_level="REPEATABLE READ")
    cursor = database.cursor()
    cursor.execute("LOCK TABLE sample, sample_row, series, source IN ACCESS SHARE MODE")
    cursor.execute("SELECT metadata_location FROM iceberg_tables WHERE table_name = 'samples'")
    found = cursor.fetchone()
    cursor.execute(
        "SELECT s.id::text, r.number, (r.taken AT TIME ZONE 'UTC')::date::text"
        " FROM sample_row AS r JOIN series AS s ON s.number = r.series"
    )
    here = cursor.fetchall()
    database.rollback()
    database.close()
    there = []
    if found:
        fields = ("series_id", "sample_number", "taken")
        rows = StaticTable.from_metadata(found[0], properties).scan(selected_fields=fields).to_arrow()
        columns = [rows[name].to_pylist() for name in fields]
        there = [(series, number, str(taken.date())) for series, number, taken in zip(*columns)]
    days_here, days_there = {row[2] for row in here}, {row[2] for row in there}
    everything = here + there
    return [len(everything), len(set(everything)), len(days_here & days_there), len(days_here | days_there)]


for line in sys.stdin:
    question = json.loads(line)
    if "sql" in question:
        answer = query(question["sql"])
    elif "files" in question:
        answer = files()
    else:
        answer = both()
    print(json.dumps(answer), flush=True)
