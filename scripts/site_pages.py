"""Adds pages to the site that are not files in docs/: the README as home page, the changelog, the command reference.

A hook of MkDocs, named in mkdocs.yml.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from s3bench.cli.main import s3bench_command

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages; links between them and docs/ lead to where each page is on the site."""
    pages = {"index.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
    for name, source in pages.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_on_site(text, ".", config)))
    files.append(File.generated(config, "commands.md", content=_commands()))
    return files


def on_page_markdown(markdown: str, *, config: MkDocsConfig, **_: object) -> str:
    """Lead links out of docs/ to the repository."""
    return _on_site(markdown, "docs", config)


def _commands() -> str:
    """The command reference: the help of every command, as `--help` prints it."""
    context = click.Context(s3bench_command, info_name="s3bench", max_content_width=80, terminal_width=80)
    return "\n\n".join(("# Commands", *_helps(s3bench_command, context)))


def _helps(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            settings = child.context_settings | {"max_content_width": 80, "terminal_width": 80}
            yield from _helps(child, click.Context(child, info_name=name, parent=context, **settings))


def _on_site(text: str, directory: str, config: MkDocsConfig) -> str:
    """Change links relative to `directory` of the repository to links on the site, or into the repository."""

    def changed(match: re.Match[str]) -> str:
        path, mark, anchor = match[1].partition("#")
        target = posixpath.normpath(posixpath.join(directory, path))
        if target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif target == "README.md":
            target = "index.md"
        elif target not in {"CHANGELOG.md", "CONTRIBUTING.md"}:
            target = f"{config.repo_url}/blob/main/{target}" if config.repo_url else target
        return f"]({target}{mark}{anchor})"

    return _LINK.sub(changed, text)
