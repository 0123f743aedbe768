"""What rules are made of: the CLI's commands, and a service's operations."""

from typing import Any


def table_names(command_table: Any) -> list[str]:
    """The names of the commands."""
    return sorted(name for name in command_table if not name.startswith("_"))


def read_model(session: Any) -> Any:
    """The model of S3, which the CLI itself reads later."""
    description = session.get_service_data("s3")
    return {"name": "s3", **description}
