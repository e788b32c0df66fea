#!/usr/bin/env python3
"""Reads every script with Microsoft's own parser, in the grammar of 2008 R2 and in that of 2019, and binds its names.

    parse.py TOOLS FILE...

TOOLS is a directory with the unpacked mssql-cli package of PyPI, which brings ScriptDom (the parser) and DacFx (the
model that binds names to objects). The Python packages pythonnet and dotnetcore2 run them. Nothing of it is part of
iostall. Binding needs ICU and OpenSSL 1.1, which the machine may lack: then only the grammar is checked, and it says so.
"""

import json
import os
import pathlib
import sys
import tempfile

import clr_loader
import dotnetcore2
import pythonnet

# System objects are not in the model: references to them stay open.
SYSTEM = ("[sys].", "[msdb].")


def load(tools):
    """Starts the runtime and gives the two libraries; None for DacFx where it cannot run."""
    runtime = pathlib.Path(dotnetcore2.__file__).parent / "bin"
    (runtime / "dotnet").chmod(0o755)
    framework = {"name": "Microsoft.NETCore.App", "version": "3.1.0"}
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump({"runtimeOptions": {"tfm": "netcoreapp3.1", "framework": framework}}, file)
    pythonnet.load(clr_loader.get_coreclr(runtime_config=file.name, dotnet_root=str(runtime)))
    os.unlink(file.name)
    import clr

    libraries = next(tools.rglob("Microsoft.SqlServer.TransactSql.ScriptDom.dll")).parent
    sys.path.append(str(libraries))
    clr.AddReference("Microsoft.SqlServer.TransactSql.ScriptDom")
    import Microsoft.SqlServer.TransactSql.ScriptDom as dom

    if os.environ.get("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT") == "1":
        return dom, None
    clr.AddReference("Microsoft.SqlServer.Dac.Extensions")
    import Microsoft.SqlServer.Dac.Model as model

    return dom, model


def parse(parser, text):
    """The script and its errors."""
    from System.IO import StringReader

    script, errors = parser(True).Parse(StringReader(text), None)
    return script, [(error.Line, error.Message) for error in errors]


def statements(batch):
    """Every statement of a batch, those inside IF, BEGIN and procedures included."""
    waiting = list(batch)
    while waiting:
        statement = waiting.pop(0)
        yield statement
        for part in ("ThenStatement", "ElseStatement"):
            inner = getattr(statement, part, None)
            if inner is not None:
                waiting.append(inner)
        inner = getattr(statement, "StatementList", None)
        if inner is not None:
            waiting.extend(inner.Statements)


def definitions(script, text):
    """The tables, views and procedures that a script leaves behind, as CREATE statements."""
    for batch in script.Batches:
        for statement in statements(batch.Statements):
            kind = type(statement).__name__
            written = text[statement.StartOffset : statement.StartOffset + statement.FragmentLength]
            if kind in ("CreateTableStatement", "CreateIndexStatement", "CreateRoleStatement"):
                yield written
            elif kind in ("AlterViewStatement", "AlterProcedureStatement"):
                yield written.replace("ALTER", "CREATE", 1)


def without_temporary(definition):
    """The same with temporary tables as lasting ones: the model knows no others, and their columns matter too."""
    return definition.replace("#", "iostall.temporary_")


def bind(model, texts):
    """What DacFx cannot find, in the model of SQL Server 2008."""
    database = model.TSqlModel(model.SqlServerVersion.Sql100, model.TSqlModelOptions())
    database.AddObjects("CREATE SCHEMA iostall AUTHORIZATION dbo")
    for text in texts:
        database.AddObjects(text)
    for message in database.Validate():
        if not any(name in message.Message for name in SYSTEM):
            yield f"{message.Number}: {message.Message}"


def main():
    tools, files = pathlib.Path(sys.argv[1]), sys.argv[2:]
    dom, model = load(tools)
    faults, installed = [], []
    for path in files:
        text = pathlib.Path(path).read_text(encoding="utf-8").replace("\r\n", "\n")
        for version, parser in (("2008 R2", dom.TSql100Parser), ("2019", dom.TSql150Parser)):
            script, errors = parse(parser, text)
            faults += [f"{path}:{line}: {message} [grammar of {version}]" for line, message in errors]
        if pathlib.Path(path).stem.startswith("history_"):
            # What iostall reads of the tables, bound like a procedure of theirs.
            parameters = "@P1 BIGINT, @P2 BIGINT, @P3 NVARCHAR(450)"
            installed.append(f"CREATE PROCEDURE iostall.{pathlib.Path(path).stem} {parameters} AS {text}")
        if "/install/" in path and not errors:
            installed += map(without_temporary, definitions(script, text))
    if model is not None:
        faults += bind(model, installed)
    print("\n".join(faults), end="\n" if faults else "")
    how = "parsed" if model is None else f"parsed, {len(installed)} definitions bound"
    print(f"{len(files)} scripts {how}, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
