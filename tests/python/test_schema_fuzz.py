"""A seeded part of schema_fuzz.py; the long run is its command line."""

import pytest

pytest.importorskip("jsonschema")

import schema_fuzz  # noqa: E402


@pytest.mark.parametrize("seed", range(4))
def test_random_schemas(seed):
    fuzzer = schema_fuzz.Fuzzer(seed)
    for _ in range(70):
        fuzzer.step()
    assert not fuzzer.differences, fuzzer.differences[0]
    assert fuzzer.documents > 2000
    for name in ("samples", "valid", "invalid"):
        assert fuzzer.counts[name] > 200, fuzzer.report()


@pytest.mark.parametrize(
    "schema, wrong, kind",
    [
        ('{"items": {"type": "integer"}, "maxItems": 2}', '{"maxItems": 2}', "takes invalid"),
        ('{"properties": {"a": {"maximum": 5}}}', '{"type": "object"}', "takes invalid"),
        ('{"type": ["object", "null"]}', '{"type": "object"}', "refuses valid"),
        ('{"type": "string", "maxLength": 3}', '{"type": "string", "maxLength": 2}', "refuses valid"),
    ],
)
def test_finds_planted_faults(schema, wrong, kind):
    """A compiler that takes another schema for this one is caught."""

    class Planted(schema_fuzz.Fuzzer):
        def make_schema(self):
            return schema_fuzz.json.loads(schema)

        def compile(self, text, **options):
            return super().compile(wrong, **options)

        def reduce(self, kind, text, document, verdict, options, seconds=0):
            return text, document

    fuzzer = Planted(1)
    fuzzer.step()
    assert kind in {difference[0] for difference in fuzzer.differences}
