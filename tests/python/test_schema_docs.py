"""The table of keywords and drafts in docs/json_schema.md says what the compiler does."""

import re
from pathlib import Path

import pytest

import grammask
from grammask import Grammar
from grammask.testing import _is_grammar_accept_string as accepts

ROOT = Path(__file__).parents[2]
DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "none": None,
}
NULL = {"type": "null"}

# Keyword -> schema, a text that is valid under it, and one that is not but would be without it.
EXAMPLES = {
    "type": ({"type": "integer"}, "1", "true"),
    "enum": ({"enum": [1, "a"]}, "1.0", "2"),
    "const": ({"const": {"a": 1}}, '{"a": 1}', "1"),
    "minimum": ({"minimum": 2}, "2", "1.9"),
    "maximum": ({"maximum": 2}, "2", "2.1"),
    "exclusiveMinimum": ({"exclusiveMinimum": 2}, "2.1", "2"),
    "exclusiveMaximum": ({"exclusiveMaximum": 2}, "1.9", "2"),
    "multipleOf": ({"multipleOf": 0.5}, "1.5", "1.4"),
    "minLength": ({"minLength": 2}, '"ab"', '"a"'),
    "maxLength": ({"maxLength": 2}, '"ab"', '"abc"'),
    "pattern": ({"pattern": "^a"}, '"ab"', '"ba"'),
    "format": ({"format": "ipv4"}, '"1.2.3.4"', '"1.2.3"'),
    "prefixItems": ({"prefixItems": [NULL]}, "[null]", "[1]"),
    "items": ({"items": NULL}, "[null, null]", "[null, 1]"),
    "additionalItems": ({"items": [{}], "additionalItems": NULL}, "[1, null]", "[1, 1]"),
    "minItems": ({"minItems": 2}, "[1, 2]", "[1]"),
    "maxItems": ({"maxItems": 2}, "[1, 2]", "[1, 2, 3]"),
    "uniqueItems": ({"items": {"enum": [1, 2]}, "uniqueItems": True}, "[1, 2]", "[1, 1]"),
    "contains": ({"contains": NULL}, "[1, null]", "[1]"),
    "minContains": ({"contains": NULL, "minContains": 2}, "[null, 1, null]", "[null]"),
    "maxContains": ({"contains": NULL, "maxContains": 1}, "[null, 1]", "[null, null]"),
    "properties": ({"properties": {"a": NULL}}, '{"a": null}', '{"a": 1}'),
    "patternProperties": ({"patternProperties": {"^a": NULL}}, '{"ab": null}', '{"ab": 1}'),
    "additionalProperties": ({"additionalProperties": NULL}, '{"a": null}', '{"a": 1}'),
    "propertyNames": ({"propertyNames": {"maxLength": 1}}, '{"a": 1}', '{"ab": 1}'),
    "required": ({"required": ["a"]}, '{"a": 1}', "{}"),
    "minProperties": ({"minProperties": 1}, '{"a": 1}', "{}"),
    "maxProperties": ({"maxProperties": 1}, '{"a": 1}', '{"a": 1, "b": 1}'),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, '{"b": 1}', '{"a": 1}'),
    "dependentSchemas": ({"dependentSchemas": {"a": {"maxProperties": 1}}}, '{"a": 1}',
                         '{"a": 1, "b": 1}'),
    "dependencies": ({"dependencies": {"a": ["b"]}}, '{"b": 1}', '{"a": 1}'),
    "$ref": ({"$ref": "#/definitions/x", "definitions": {"x": NULL}}, "null", "1"),
    "$dynamicRef": ({"$dynamicRef": "#a", "$defs": {"x": {"$dynamicAnchor": "a", **NULL}}},
                    "null", "1"),
    "$recursiveRef": ({"type": "object", "properties": {"a": {"$recursiveRef": "#"}}},
                      '{"a": {"a": {}}}', '{"a": 1}'),
    "allOf": ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, "1", "3"),
    "anyOf": ({"anyOf": [{"maximum": 1}, {"minimum": 5}]}, "5", "3"),
    "oneOf": ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, "3", "2"),
    "not": ({"not": NULL}, "1", "null"),
    "if": ({"if": {"type": "array"}, "then": {"minItems": 1}}, "[1]", "[]"),
    "then": ({"if": {"type": "array"}, "then": {"minItems": 1}}, "1", "[]"),
    "else": ({"if": {"type": "array"}, "else": {"minimum": 1}}, "1", "0"),
    "unevaluatedItems": ({"unevaluatedItems": NULL}, "[null]", "[1]"),
    "unevaluatedProperties": ({"unevaluatedProperties": NULL}, '{"a": null}', '{"a": 1}'),
    "disallow": ({"disallow": "null"}, "1", "null"),
    "divisibleBy": ({"divisibleBy": 2}, "2", "1"),
    "extends": ({"extends": NULL}, "null", "1"),
}  # fmt: skip
# Where a draft writes it in another way.
EXAMPLES_OF_DRAFT = {
    ("exclusiveMinimum", "4"): {"minimum": 2, "exclusiveMinimum": True},
    ("exclusiveMaximum", "4"): {"maximum": 2, "exclusiveMaximum": True},
}


def rows():
    """(keyword, draft, cell) of the table."""
    lines = iter((ROOT / "docs" / "json_schema.md").read_text().splitlines())
    header = next(line for line in lines if line.startswith("| keywords |"))
    drafts = [cell.strip() for cell in header.split("|")[2:-2]]
    assert drafts == list(DRAFTS)
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        for keyword in re.findall("`([^`]+)`", cells[0]):
            found += [(keyword, draft, cell) for draft, cell in zip(drafts, cells[1:])]
    return found


@pytest.mark.parametrize("keyword, draft, cell", rows())
def test_row(keyword, draft, cell):
    schema, valid, invalid = EXAMPLES[keyword]
    schema = dict(EXAMPLES_OF_DRAFT.get((keyword, draft), schema))
    if DRAFTS[draft] is not None:
        schema["$schema"] = DRAFTS[draft]
    if cell == "refused":
        with pytest.raises(grammask.SchemaError) as caught:
            Grammar.from_json_schema(schema, strict_mode=False)
        assert caught.value.code == "unsupported"
        widened = Grammar.from_json_schema(schema, strict_mode=False, on_unsupported="widen")
        assert widened.warnings and accepts(widened, valid)
        return
    assert cell in ("yes", "ignored")
    grammar = Grammar.from_json_schema(schema, strict_mode=False)
    assert accepts(grammar, valid)
    assert accepts(grammar, invalid) == (cell == "ignored")


def test_every_keyword_has_a_row():
    source = (ROOT / "cpp" / "grammar" / "json_schema" / "schema_tree.cc").read_text()
    keywords = re.findall(r'\{"([^"]+)", Shape::', source)
    assert len(keywords) > 40
    described = [keyword for keyword, draft, _ in rows() if draft == "none"]
    assert sorted(described) == sorted(keywords)
