"""What was left out when a JSON Schema was widened."""

from typing import NamedTuple


class SchemaWarning(NamedTuple):
    """A place where a grammar admits more than its schema, because of on_unsupported="widen".

    pointer: the JSON pointer of the schema, such as "#/properties/a".
    keyword: what is not enforced there, wholly or in part.
    reason: why it has no exact form.
    """

    pointer: str
    keyword: str
    reason: str


SchemaWarning.__module__ = "grammask"
