#!/usr/bin/env bash
# Judges the T-SQL without a SQL Server: style by sqlfluff, grammar (2008 R2 and 2019) and names by Microsoft's own parser
# and model, the BACKUP statements that iostall writes, and what samples, views and roll-ups do by running their statements. Tools come from PyPI, into the target directory.
#
# Exit 0: nothing found. 1: something is wrong. 3: the tools cannot be had here, nothing was judged.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=${CARGO_TARGET_DIR:-target}
home=$target/tsql-lint
mkdir -p "$home"
home=$(cd "$home" && pwd)
log=$home/install.log

install_tools() {
    python3 -m venv "$home/venv"
    "$home/venv/bin/pip" install --quiet --disable-pip-version-check -r tsql/lint/requirements.txt
    # Only files are wanted of these two: the parser, and the OpenSSL 1.1 that its runtime was made for.
    "$home/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$home" mssql-cli==1.0.0
    "$home/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$home" --only-binary=:all: \
        --python-version 3.9 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 psycopg2-binary==2.9.3
    local wheel
    for wheel in "$home"/*.whl; do
        "$home/venv/bin/python" -m zipfile -e "$wheel" "$home/unpacked"
    done
    rm -f "$home"/*.whl
    mkdir -p "$home/openssl"
    ln -sf "$home"/unpacked/psycopg2_binary.libs/libssl-*.so.1.1 "$home/openssl/libssl.so.1.1"
    ln -sf "$home"/unpacked/psycopg2_binary.libs/libcrypto-*.so.1.1 "$home/openssl/libcrypto.so.1.1"
    cp tsql/lint/requirements.txt "$home/installed"
}

if ! cmp -s tsql/lint/requirements.txt "$home/installed"; then
    rm -rf "${home:?}"/*
    # In the background, because a function that is a condition goes on after its errors.
    install_tools >"$log" 2>&1 &
    if ! wait $!; then
        tail -n 5 "$log" >&2
        exit 3
    fi
fi

# The runtime is older than the machine's ICU and has to be told its number; without one, names cannot be bound.
icu=$(find /lib /usr/lib -name 'libicuuc.so.[0-9]*' 2>/dev/null | sed -n 's/.*\.so\.\([0-9]*\)$/\1/p' | sort -n | tail -n 1)
if [ -n "$icu" ]; then
    export CLR_ICU_VERSION_OVERRIDE=$icu
    export LD_LIBRARY_PATH="$home/openssl:$home/unpacked/psycopg2_binary.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
else
    printf '\n*** no ICU library here: the names in the T-SQL are not bound, only its grammar is checked ***\n' >&2
    export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1
fi

folders=(tsql crates/collect/src/sqlserver/sql crates/session/src/backup/sqlserver/sql)
mapfile -t scripts < <(find "${folders[@]}" -name '*.sql' | LC_ALL=C sort)
status=0
"$home/venv/bin/sqlfluff" lint --disable-progress-bar --nocolor "${folders[@]}" || status=1
"$home/venv/bin/python" tsql/lint/parse.py "$home/unpacked" "${scripts[@]}" || status=1
"$home/venv/bin/python" -B tsql/lint/backup.py "$home/unpacked" tsql/lint/backup_statements.txt || status=1
"$home/venv/bin/python" -B tsql/lint/arithmetic.py || status=1
"$home/venv/bin/python" -B tsql/lint/sampling.py || status=1
exit "$status"
