"""The current tables of a history; `migrations` has their past versions.

All names start with `s3bench_`, so that a team's database may have other tables too. Times are milliseconds since 1970,
UTC. Lists and objects are JSON. Long columns are last, since SQLite reads a row only as far as needed
(https://www.sqlite.org/fileformat2.html, "Cell Payload Overflow Pages").
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

VERSION = "2"
VERSION_TABLE = "s3bench_version"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Words(TypeDecorator[str]):
    r"""Any text. PostgreSQL cannot store NUL in texts, so it is escaped as `\0`, and a backslash as `\\`."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:  # noqa: ARG002 (SQLAlchemy's)
        """Escape."""
        return None if value is None else value.replace("\\", "\\\\").replace("\0", "\\0")

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:  # noqa: ARG002 (SQLAlchemy's)
        """Unescape."""
        return None if value is None else "\\".join(part.replace("\\0", "\0") for part in value.split("\\\\"))


METADATA = sa.MetaData()

DOCUMENTS = sa.Table(
    "s3bench_documents",
    METADATA,
    sa.Column("number", _KEY, primary_key=True, autoincrement=True),
    sa.Column("identity", sa.String(64), nullable=False, unique=True),
    sa.Column("started_ms", sa.BigInteger(), nullable=False),
    sa.Column("ended_ms", sa.BigInteger()),
    sa.Column("added_ms", sa.BigInteger(), nullable=False),
    sa.Column("machine", sa.String(16), nullable=False),
    sa.Column("results", sa.Integer(), nullable=False),
    sa.Column("measurements", sa.Integer(), nullable=False),
    sa.Column("failures", sa.Integer(), nullable=False),
    sa.Column("size_bytes", sa.BigInteger(), nullable=False),
    sa.Column("s3bench", Words(), nullable=False),
    sa.Column("git_commit", Words()),
    sa.Column("facts", Words(), nullable=False),
    sa.Column("clients", Words(), nullable=False),
    sa.Column("body", sa.LargeBinary(), nullable=False),
)

RESULTS = sa.Table(
    "s3bench_results",
    METADATA,
    sa.Column("document", _KEY, sa.ForeignKey("s3bench_documents.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("place", sa.Integer(), primary_key=True),
    sa.Column("cell", sa.String(32), nullable=False, index=True),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("doubtful", sa.Integer(), nullable=False),
    sa.Column("benchmark", Words(), nullable=False),
    sa.Column("dimensions", Words(), nullable=False),
    sa.Column("tags", Words(), nullable=False),
    sa.Column("client", Words(), nullable=False),
    sa.Column("client_version", Words(), nullable=False),
    sa.Column("client_label", Words(), nullable=False),
    sqlite_with_rowid=False,
)

FIGURES = sa.Table(
    "s3bench_figures",
    METADATA,
    sa.Column("document", _KEY, primary_key=True),
    sa.Column("place", sa.Integer(), primary_key=True),
    sa.Column("metric", sa.String(64), primary_key=True),
    sa.Column("median", sa.Double(), nullable=False),
    sa.Column("n", sa.Integer(), nullable=False),
    sa.ForeignKeyConstraint(
        ["document", "place"], ["s3bench_results.document", "s3bench_results.place"], ondelete="CASCADE"
    ),
    sqlite_with_rowid=False,
)

LOAD_OPTIONS = sa.Table(
    "s3bench_load_options",
    METADATA,
    sa.Column("document", _KEY, sa.ForeignKey("s3bench_documents.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("options", Words(), nullable=False),
)
"""The options of documents of load runs, which describe what was measured."""
