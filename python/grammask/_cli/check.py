"""grammask check: does a document belong to a grammar, and if not, where does it stop?"""

from __future__ import annotations

import argparse
from typing import List

import grammask

from . import display, inputs, tokenizers
from .expectation import describe_next

HELP = "does a document match; if not, where it stops and what could have come next"
DESCRIPTION = """\
Checks a document against a grammar. Exit code 0: it matches; 1: it does not, and the place, the
line and what could have come next are shown; 2: bad input. Whitespace at the ends of the document
is left out unless --exact is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_grammar_arguments(parser)
    parser.add_argument(
        "document", nargs="?", default="-", help="a file, or - for standard input (the default)"
    )
    parser.add_argument("--text", metavar="TEXT", help="the document itself, instead of a file")
    parser.add_argument(
        "--exact", action="store_true", help="keep whitespace at the ends of the document"
    )


def run(arguments: argparse.Namespace) -> int:
    grammar = inputs.load_grammar(arguments, whitespace="any")
    name = inputs.grammar_name(arguments)
    compiled = inputs.compile_grammar(tokenizers.byte_tokenizer(), grammar, name)
    if arguments.text is not None:
        source, document = "text", arguments.text.encode("utf-8", errors="surrogateescape")
    else:
        source = "stdin" if arguments.document == "-" else arguments.document
        document = inputs.read_bytes(arguments.document, "document")
    matcher = grammask.GrammarMatcher(compiled)
    with display.Progress("checking"):
        matched, complete, skipped = _match(matcher, document, arguments.exact)
    if complete:
        print(f"{source}: matches")
        return 0
    is_json = arguments.schema is not None or arguments.json
    seen = document[skipped : skipped + matched] if is_json else None
    ways = describe_next(matcher, seen)
    print(_explain(ways, source, document, skipped + matched))
    return 1


def _match(
    matcher: grammask.GrammarMatcher, document: bytes, exact: bool
) -> "tuple[int, bool, int]":
    """(bytes accepted, whether the document matches, bytes skipped before them); leaves the matcher
    after the bytes accepted."""
    skipped = 0
    text = document
    if not exact:
        text = document.strip(b" \t\r\n")
        skipped = len(document) - len(document.lstrip(b" \t\r\n")) if text else 0
    matched = matcher.matching_prefix(text)
    # Not in the middle of a character.
    while 0 < matched < len(text) and (text[matched] & 0xC0) == 0x80:
        matched -= 1
    matcher.accept_string(text[:matched])
    return matched, matched == len(text) and matcher.is_completed(), skipped


def _character(data: bytes) -> str:
    """The first character of `data`, or the first byte where it begins no character."""
    for length in range(1, len(data) + 1):
        try:
            return display.show_bytes(data[:length].decode("utf-8").encode())
        except UnicodeDecodeError:
            continue
    return f"byte 0x{data[0]:02x}"


def _explain(ways: List[str], source: str, document: bytes, offset: int) -> str:
    line, column, shown, caret = display.place(document, offset)
    if document[offset:].strip():
        found = f"{_character(document[offset : offset + 4])} may not come here"
    else:
        found = "the document ends too early"
    parts = [f"{source}:{line}:{column}: {found}", f"  {shown}", f"  {caret}"]
    if len(ways) == 1:
        parts.append(f"expected {ways[0]}")
    elif ways:
        parts.append("expected one of:")
        parts += [f"  {way}" for way in ways]
    return "\n".join(parts)
