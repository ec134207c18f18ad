"""The errors of grammask: one hierarchy.

Every error derives from both RuntimeError and ValueError, so that code written for either catches
it. `code` says what kind of error it is:

    invalid_argument     malformed input, or an unsuitable argument
    unsupported          well-formed input that asks for what cannot be done exactly
    unsatisfiable        a grammar or schema that no text satisfies
    resource_exhausted   a bound was hit (always a LimitError)
    out_of_range         an index or count outside its range
    failed_precondition  the object is in the wrong state for the call
    internal             a bug in grammask

The first line of a message stands alone; further lines may show the place in the input.
"""

from __future__ import annotations


class GrammaskError(RuntimeError, ValueError):
    """Any error of grammask. Also raised itself, for unsuitable arguments."""

    code: str

    def __init__(self, message: str = "", *, code: str = "invalid_argument") -> None:
        super().__init__(message)
        self.code = code


class GrammarError(GrammaskError):
    """A grammar was refused."""


class RegexError(GrammarError):
    """A regular expression was refused."""


class SchemaError(GrammarError):
    """A JSON Schema was refused."""


class TokenizerError(GrammaskError):
    """A tokenizer or vocabulary was refused."""


class DeserializeFormatError(GrammaskError):
    """What was to be loaded is no saved object of this kind, is damaged, or is of another
    vocabulary."""


class DeserializeVersionError(GrammaskError):
    """What was to be loaded was saved in another version of the format."""


class InvalidJSONError(GrammaskError):
    """What was to be loaded is no JSON text."""


class LimitError(GrammarError):
    """A bound on time or memory was hit; the message names it."""


__all__ = [
    "DeserializeFormatError",
    "DeserializeVersionError",
    "GrammarError",
    "GrammaskError",
    "InvalidJSONError",
    "LimitError",
    "RegexError",
    "SchemaError",
    "TokenizerError",
]
