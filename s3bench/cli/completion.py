"""`s3bench completion`: prints the script by which a shell completes commands, options, choices, clients and files."""

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_S3BENCH_COMPLETE"  # click looks for this one, by the name of the program


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS), metavar="bash|zsh|fish")
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    s3bench completion bash                                             print it
    eval "$(s3bench completion bash)"                                   in ~/.bashrc
    eval "$(s3bench completion zsh)"                                    in ~/.zshrc, after compinit
    s3bench completion fish > ~/.config/fish/completions/s3bench.fish   once

    It completes commands, options, their choices, files, and clients with their installed versions. Nothing is fetched.
    """
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(context.find_root().command, {}, "s3bench", _VARIABLE).source(), nl=False)
