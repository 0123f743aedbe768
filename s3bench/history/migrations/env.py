"""How alembic reaches the database: through the connection and the transaction that opened it.

The name and the form of this file are alembic's: https://alembic.sqlalchemy.org/en/latest/cookbook.html, "Sharing a
Connection across one or more programmatic migration commands". Run by `s3bench.history.database` alone.
"""

from alembic import context

from s3bench.history.tables import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
