"""Version 2: the options of load runs, so that runs of different workloads are different series.

A migration is history and never changes: it names its tables and types itself and does not follow `tables.py`.
"""

import json
import zlib

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_DOCUMENTS = sa.table("s3bench_documents", sa.column("number"), sa.column("body", sa.LargeBinary()))
_FIGURES = sa.table("s3bench_figures", sa.column("document"), sa.column("metric"))


def upgrade() -> None:
    """Create the table, and fill it from the stored documents."""
    options = op.create_table(
        "s3bench_load_options",
        sa.Column("document", _KEY, sa.ForeignKey("s3bench_documents.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("options", sa.Text(), nullable=False),
    )
    connection = op.get_bind()
    loads = sa.select(_FIGURES.c.document).where(_FIGURES.c.metric.like("load.%")).distinct()
    for number in connection.execute(loads).scalars().all():
        body = connection.execute(sa.select(_DOCUMENTS.c.body).where(_DOCUMENTS.c.number == number)).scalar_one()
        connection.execute(sa.insert(options).values(document=number, options=_options(body)))


def _options(body: bytes) -> str:
    """The options of a document, with the escapes of `Words`; none if it is damaged, which is reported elsewhere."""
    try:
        options = json.loads(zlib.decompress(body)).get("options", {})
    except (zlib.error, ValueError):
        options = {}
    return json.dumps(options).replace("\\", "\\\\")
