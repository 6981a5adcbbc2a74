#!/usr/bin/env bash
# crdb-dump 0.6.1 (PyPI) writes an empty text and NULL alike in its CSV files, the default format, and its own `load` reads both as NULL (COPY
# WITH CSV). An array of one empty text is written as the empty array, and the text NULL in an array as {NULL}, which is NULL. The sums of the
# files are right, so all looks well. Its format sql has '' and NULL. Here it reads a table of SQLite, which needs no server. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check crdb-dump==0.6.1 psycopg2-binary==2.9.13 sqlalchemy==2.0.58 \
  sqlalchemy-cockroachdb==2.0.4
cat >export.py <<'END'
import logging
import re

from crdb_dump.export.data import export_table_data
from crdb_dump.utils.common import to_csv_literal
from sqlalchemy import create_engine, event, text
from sqlalchemy.pool import StaticPool

engine = create_engine("sqlite://", poolclass=StaticPool)


@event.listens_for(engine, "before_cursor_execute", retval=True)
def shorten(connection, cursor, statement, parameters, context, many):
    statement = re.sub(r"OFFSET (\d+) LIMIT (\d+)", r"LIMIT \2 OFFSET \1", statement)
    return statement.replace('"defaultdb"."public".', ""), parameters


with engine.begin() as connection:
    connection.execute(text("ATTACH ':memory:' AS information_schema"))
    connection.execute(text("CREATE TABLE information_schema.columns (table_schema, table_name, column_name, data_type, ordinal_position)"))
    connection.execute(text("INSERT INTO columns VALUES ('public', 'notes', 'id', 'INT8', 1), ('public', 'notes', 'note', 'STRING', 2)"))
    connection.execute(text("CREATE TABLE notes (id INT, note TEXT)"))
    connection.execute(text("INSERT INTO notes VALUES (1, ''), (2, NULL)"))
table = "defaultdb.public.notes"
for form in "csv", "sql":
    export_table_data(engine, table, ".", form, False, None, False, "id", False, 1000, True, logging.getLogger(), {}, 1, 0, {})
    print(open(f"{table}_001.{form}").read(), end="")
for array in [""], [], ["NULL"]:
    print(array, to_csv_literal(array, "ARRAY"))
END
seen=$(python/bin/python export.py)
echo "$seen"
[ "$seen" = 'id,note
1,
2,
INSERT INTO "defaultdb"."public"."notes" ("id", "note") VALUES (1, '"''"');
INSERT INTO "defaultdb"."public"."notes" ("id", "note") VALUES (2, NULL);
['"''"'] {}
[] {}
['"'NULL'"'] {NULL}' ]
