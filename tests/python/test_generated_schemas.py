"""Schemas as generators emit them: pydantic, msgspec, FastAPI, zod, schemars, OpenAPI tools.

Each must compile without a warning, accept its valid instances and refuse the others. See
tests/data/generated_schemas/README.md for the form of the data.
"""

import json
import pathlib
import random

import pytest

import grammask as gm

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "generated_schemas"
DIALECTS = {"draft-04": "Draft4Validator", "draft2019-09": "Draft201909Validator"}


def load():
    cases = []
    for path in sorted(DATA.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            case = json.loads(line)
            case["id"] = f"{path.stem}: {case['name']}"
            cases.append(case)
    return cases


CASES = load()


def shuffled(value, rng):
    """The value with the keys of all objects in another order."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    if isinstance(value, list):
        return [shuffled(item, rng) for item in value]
    return value


def accepts(compiled, value):
    matcher = gm.GrammarMatcher(compiled)
    return matcher.accept_string(json.dumps(value, ensure_ascii=False)) and matcher.is_completed()


def check(compiled, case, order=lambda value: value):
    assert not getattr(compiled, "warnings", None)
    for value in case["valid"]:
        assert accepts(compiled, order(value)), f"valid, but refused: {json.dumps(order(value))}"
    for value in case["invalid"]:
        assert not accepts(compiled, order(value)), f"invalid, but taken: {json.dumps(order(value))}"


def test_there_are_enough_of_them():
    assert len(CASES) >= 100
    assert len({case["id"] + case["generator"] for case in CASES}) == len(CASES)
    for case in CASES:
        assert len(case["valid"]) >= 2, case["id"]
        assert len(case["invalid"]) >= 2 or case.get("any_value"), case["id"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_labels(case):
    """The labels are those of the jsonschema package."""
    jsonschema = pytest.importorskip("jsonschema")
    if "dialect" in case:
        cls = getattr(jsonschema, DIALECTS[case["dialect"]])
    else:
        cls = jsonschema.validators.validator_for(case["schema"], jsonschema.Draft202012Validator)
    formats = jsonschema.Draft202012Validator.FORMAT_CHECKER
    validator = cls(case["schema"], format_checker=formats)
    for value in case["valid"]:
        assert validator.is_valid(value), value
    for value in case["invalid"]:
        assert not validator.is_valid(value), value


@pytest.mark.parametrize("any_order", [False, True], ids=["schema order", "any order"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_generated_schema(compiler, case, any_order):
    options = {"strict_mode": False, **case.get("options", {})}
    text = json.dumps(case["schema"], ensure_ascii=False)
    if any_order:
        try:
            compiler.compile_json_schema("true", any_order=True)
        except gm.GrammaskError as error:
            pytest.skip(str(error))
    expect = case.get("expect", "")
    if expect.startswith("error"):
        with pytest.raises(gm.SchemaError, match=expect.split()[1]):
            compiler.compile_json_schema(text, any_order=any_order, **options)
        return
    try:
        compiled = compiler.compile_json_schema(text, any_order=any_order, **options)
    except gm.SchemaError as error:
        if case.get("may_refuse", "\0") not in str(error):
            raise
        pytest.skip(str(error))
    if any_order:
        rng = random.Random(case["id"])
        check(compiled, case, lambda value: shuffled(value, rng))
    else:
        check(compiled, case)
