"""Version 1: documents, the results in them, and the figures of the results.

A migration is history and never changes: it names its tables and types itself and does not follow `tables.py`.
"""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "s3bench_documents",
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
        sa.Column("s3bench", sa.Text(), nullable=False),
        sa.Column("git_commit", sa.Text()),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("clients", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "s3bench_results",
        sa.Column("document", _KEY, sa.ForeignKey("s3bench_documents.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("place", sa.Integer(), primary_key=True),
        sa.Column("cell", sa.String(32), nullable=False, index=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("doubtful", sa.Integer(), nullable=False),
        sa.Column("benchmark", sa.Text(), nullable=False),
        sa.Column("dimensions", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("client_version", sa.Text(), nullable=False),
        sa.Column("client_label", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "s3bench_figures",
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
