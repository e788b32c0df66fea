"""The tables and views of install/ in DuckDB, by a mechanical translation of their text."""

import pathlib
import re

import duckdb
import sqlglot
from sqlglot import exp

INSTALL = pathlib.Path(__file__).parent.parent / "install"
VIEWS = ("03_create_delta_views.sql", "04_create_rate_views.sql")


def translated(text):
    """A query of T-SQL in DuckDB's words."""
    query = sqlglot.parse_one(text.strip().rstrip(";"), read="tsql")
    for division in query.find_all(exp.Div):
        if not any("." in literal.this for literal in division.this.find_all(exp.Literal) if not literal.is_string):
            raise SystemExit(f"a division of whole numbers: {division.sql('tsql')}")
    # APPLY is a lateral join. The lists behind CROSS APPLY here are never empty, so both kinds are left joins.
    for join in query.find_all(exp.Join):
        if isinstance(join.this, exp.Lateral):
            join.this.set("cross_apply", None)
            join.set("side", "LEFT")
            join.set("on", exp.true())
    return query.sql("duckdb")


def database():
    """The tables and views of install/, empty."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA iostall")
    tables = (INSTALL / "02_create_tables.sql").read_text(encoding="utf-8")
    for found in re.finditer(r"CREATE TABLE (iostall\.\w+) \(.*?\n    \);", tables, re.S):
        table = sqlglot.parse_one(found.group(0).rstrip(";"), read="tsql")
        columns = []
        for column in table.find_all(exp.ColumnDef):
            number = ""
            if column.find(exp.GeneratedAsIdentityColumnConstraint):
                connection.execute(f"CREATE SEQUENCE {found.group(1)}_number")
                number = f" DEFAULT nextval('{found.group(1)}_number')"
            columns.append(f"{column.name} {column.kind.sql('duckdb')}{number}")
        connection.execute(f"CREATE TABLE {found.group(1)} ({', '.join(columns)})")
    for name in VIEWS:
        views = (INSTALL / name).read_text(encoding="utf-8")
        for found in re.finditer(r"ALTER VIEW (iostall\.\w+) AS\n(.*?)\nGO", views, re.S):
            connection.execute(f"CREATE VIEW {found.group(1)} AS {translated(found.group(2))}")
    return connection


def insert(connection, table, **row):
    names = ", ".join(row)
    places = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO iostall.{table} ({names}) VALUES ({places})", list(row.values()))
