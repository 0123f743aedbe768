"""A plug-in of aws-cli of the size that users have: it reads a model, makes rules of it, and notes each request.

AWS's frozen aws-cli has no source files that could be changed, but it loads this. It works on both sides alike; causes
are planted into the candidate's copy of it.
"""

from typing import Any

from s3_extension.notes import note_request, open_notes
from s3_extension.rules import check_rules, read_rules
from s3_extension.tables import read_model, table_names


def awscli_initialize(event_hooks: Any) -> None:
    """Register the hooks; the CLI calls this."""
    event_hooks.register("building-command-table.main", on_commands)
    event_hooks.register("before-call", on_call)


def on_commands(command_table: Any, session: Any, **_: Any) -> None:
    """Make the rules, once."""
    names = table_names(command_table)
    model = read_model(session)
    rules = read_rules(model, names)
    check_rules(rules)
    open_notes(rules)


def on_call(params: Any, **_: Any) -> None:
    """Note a request."""
    note_request(params["method"], params["url"])
