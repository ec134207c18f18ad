"""What the commands read: grammars, documents, and how bad input is reported."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Dict, Optional

import grammask


class BadInput(Exception):
    """Input that cannot be used. The message is one line that says what is wrong, and where."""


def first_line(error: BaseException) -> str:
    text = str(error)
    return text.splitlines()[0] if text else type(error).__name__


def read_bytes(path: str, what: str) -> bytes:
    """The contents of a file, or of standard input for "-"."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadInput(f"{what} {path!r} cannot be read: {error.strerror}") from None


def read_text(path: str, what: str) -> str:
    data = read_bytes(path, what)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{what} {path!r} is not UTF-8 (line {line})") from None


def add_grammar_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "grammar",
        "one of these; a value is a file, '@file', '-' for standard input, or inline text",
    )
    kind = group.add_mutually_exclusive_group(required=True)
    kind.add_argument("--schema", metavar="SCHEMA", help="a JSON Schema")
    kind.add_argument("--ebnf", metavar="EBNF", help="an EBNF grammar, beginning at rule 'root'")
    kind.add_argument(
        "--regex", metavar="REGEX", help="a regular expression (inline; a file needs '@')"
    )
    kind.add_argument("--json", action="store_true", help="any JSON text")
    options = parser.add_argument_group("options of --schema")
    options.add_argument(
        "--whitespace",
        choices=("any", "compact"),
        help="whitespace between JSON tokens: any, or one space after ',' and ':' only",
    )
    options.add_argument(
        "--open",
        action="store_true",
        help="also allow properties and items that the schema does not name",
    )
    options.add_argument("--any-order", action="store_true", help="properties in any order")
    options.add_argument(
        "--on-unsupported",
        choices=("error", "widen"),
        default="error",
        help="what has no exact form: an error (the default), or a superset with warnings",
    )
    options.add_argument(
        "--registry",
        metavar="[URI=]FILE",
        action="append",
        default=[],
        help="a document that $ref may name, by its $id or by URI; may be repeated",
    )
    options.add_argument(
        "--format",
        metavar="NAME=REGEX",
        action="append",
        default=[],
        help="a format of your own, as a regular expression for the whole string; may be repeated",
    )


def grammar_name(arguments: argparse.Namespace) -> str:
    for kind in ("schema", "ebnf", "regex"):
        value = getattr(arguments, kind)
        if value is not None:
            return f"--{kind} {value if len(value) <= 40 else value[:37] + '...'}"
    return "--json"


def _source(value: str, kind: str, inline: bool) -> str:
    if value.startswith("@"):
        return read_text(value[1:], kind)
    if value == "-":
        return read_text(value, kind)
    if kind == "regex" or (inline and not os.path.isfile(value)):
        return value
    return read_text(value, kind)


def _registry(arguments: argparse.Namespace) -> Dict[str, str]:
    """The documents of --registry by URI: the one given, or that of the document itself."""
    registry = {}
    for value in arguments.registry:
        uri, equals, path = value.partition("=")
        if not equals or os.path.isfile(value):
            uri, path = "", value
        text = read_text(path, "--registry")
        if not uri:
            try:
                document: Any = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"--registry {path!r} is not JSON: {first_line(error)}") from None
            named = [document.get(key) for key in ("$id", "id")] if type(document) is dict else []
            uri = next((name for name in named if isinstance(name, str)), "")
        if not uri:
            raise BadInput(f"--registry {path!r} has no $id; give its URI: --registry URI={path}")
        registry[uri] = text
    return registry


def _formats(arguments: argparse.Namespace) -> Dict[str, str]:
    formats = {}
    for value in arguments.format:
        name, equals, regex = value.partition("=")
        if not equals or not name:
            raise BadInput(f"--format is {value!r}; it must be NAME=REGEX")
        formats[name] = regex
    return formats


def load_grammar(arguments: argparse.Namespace, whitespace: str) -> grammask.Grammar:
    """The grammar that the arguments name; `whitespace` is the default of --whitespace."""
    name = grammar_name(arguments)
    try:
        if arguments.schema is not None:
            text = arguments.schema
            inline = text.lstrip().startswith("{") or text.strip() in ("true", "false")
            grammar = grammask.Grammar.from_json_schema(
                _source(text, "schema", inline),
                any_whitespace=(arguments.whitespace or whitespace) == "any",
                strict_mode=not arguments.open,
                any_order=arguments.any_order,
                registry=_registry(arguments),
                formats=_formats(arguments),
                on_unsupported=arguments.on_unsupported,
            )
            for warning in grammar.warnings:
                place = f"{warning.pointer}/{warning.keyword}"
                print(f"warning: {place}: widened: {warning.reason}", file=sys.stderr)
            return grammar
        if arguments.ebnf is not None:
            inline = "::=" in arguments.ebnf
            return grammask.Grammar.from_ebnf(_source(arguments.ebnf, "grammar", inline))
        if arguments.regex is not None:
            return grammask.Grammar.from_regex(_source(arguments.regex, "regex", True))
        return grammask.Grammar.builtin_json_grammar()
    except grammask.GrammaskError as error:
        raise BadInput(f"{name}: {first_line(error)}") from None


def compile_grammar(
    tokenizer: grammask.TokenizerInfo, grammar: grammask.Grammar, name: Optional[str] = None
) -> grammask.CompiledGrammar:
    try:
        return grammask.GrammarCompiler(tokenizer, cache_enabled=False).compile_grammar(grammar)
    except grammask.GrammaskError as error:
        raise BadInput(f"{name or 'grammar'}: {first_line(error)}") from None
