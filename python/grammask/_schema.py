"""JSON Schemas in the forms that Python programs have them -> JSON text."""

from __future__ import annotations

import json
from typing import Any

from .exception import SchemaError


def schema_text(schema: Any) -> str:
    """The JSON text of a schema given as str, dict, bool or pydantic model class (1 or 2)."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, (dict, bool)):
        return _dump(schema)
    if isinstance(schema, type):
        model: Any = schema
        if callable(getattr(model, "model_json_schema", None)):  # pydantic 2
            return _dump(model.model_json_schema())
        if callable(getattr(model, "schema_json", None)):  # pydantic 1
            return str(model.schema_json())
    raise SchemaError(
        "the schema must be JSON text, a dict, or a pydantic model class, not "
        f"{type(schema).__name__}"
    )


def _dump(schema: Any) -> str:
    try:
        return json.dumps(schema)
    except RecursionError:
        raise SchemaError(
            "the schema dict is nested too deeply for Python's json module, or contains itself; "
            "give it as JSON text",
            code="resource_exhausted",
        ) from None
