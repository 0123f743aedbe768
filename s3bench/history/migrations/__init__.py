"""Migrations from an empty database to the current tables, run by alembic; forward only."""
