"""Runs alembic in the connection and the transaction that `s3bench.history.database` opened.

Its name and form are given by alembic: https://alembic.sqlalchemy.org/en/latest/cookbook.html, "Sharing a Connection
across one or more programmatic migration commands".
"""

from alembic import context

from s3bench.history.tables import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
