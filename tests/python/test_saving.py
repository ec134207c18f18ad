"""Compiled grammars and grammars saved and loaded: bytes, files, JSON, other processes."""

import json
import pickle
import subprocess
import sys

import numpy
import pytest

import grammask
from grammask import CompiledGrammar, Grammar, GrammarCompiler

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"enum": [1, "x"]}},
    },
    "required": ["name"],
}


@pytest.fixture(scope="module")
def info():
    tokens = [bytes([i]) for i in range(256)] + [b'{"', b'":', b'",', b"name", b'"}', b"</s>"]
    return grammask.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])


@pytest.fixture(scope="module")
def compiled(info):
    return GrammarCompiler(info).compile_json_schema(SCHEMA)


def masks(compiled, text):
    matcher = grammask.GrammarMatcher(compiled)
    row = numpy.zeros((1, (compiled.tokenizer_info.vocab_size + 31) // 32), dtype=numpy.int32)
    rows = []
    for byte in text:
        matcher.fill_next_token_bitmask(row)
        rows.append(row.copy())
        assert matcher.accept_string(bytes([byte]))
    return numpy.concatenate(rows).tolist()


TEXT = b'{"name": "a\\n", "tags": [1, "x"]}'


def test_bytes(info, compiled):
    expected = masks(compiled, TEXT)
    data = compiled.to_bytes()
    assert isinstance(data, bytes)
    assert len(compiled.to_bytes(masks=False)) < len(data)
    compiler = GrammarCompiler(info)
    for target in info, compiler:
        for trusted in False, True:
            for form in data, bytearray(data), memoryview(data):
                loaded = CompiledGrammar.from_bytes(form, target, trusted=trusted)
                assert masks(loaded, TEXT) == expected
                assert loaded.tokenizer_info == info
    assert str(loaded.grammar).startswith("root ::=")


def test_masks_come_with_trusted_files(info, compiled):
    compiled.precompute()
    data = compiled.to_bytes()
    assert CompiledGrammar.from_bytes(data, info).stats()["masks"] == 1  # made when it is loaded
    assert CompiledGrammar.from_bytes(data, info, trusted=True).stats()["masks"] > 5


def test_file_and_another_process(info, compiled, tmp_path):
    path = tmp_path / "schema.grammask"
    compiled.save(path)
    assert masks(CompiledGrammar.load(path, info), TEXT) == masks(compiled, TEXT)
    vocabulary = tmp_path / "vocabulary"
    vocabulary.write_bytes(pickle.dumps(info.decoded_vocab))
    program = f"""
import pickle, grammask
tokens = pickle.load(open({str(vocabulary)!r}, "rb"))
info = grammask.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
compiled = grammask.CompiledGrammar.load({str(path)!r}, info, trusted=True)
matcher = grammask.GrammarMatcher(compiled)
assert matcher.accept_string({TEXT!r}) and matcher.is_completed()
assert not grammask.GrammarMatcher(compiled).accept_string(b"[")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    with pytest.raises(FileNotFoundError):
        CompiledGrammar.load(tmp_path / "none", info)


def test_refusals(info, compiled):
    data = compiled.to_bytes()
    other = grammask.TokenizerInfo([b"a", b"b"])
    for bad, target, says in [
        (b"", info, "no saved grammar"),
        (b"{}", info, "no saved grammar"),
        (data[:-1], info, "damaged at byte"),
        (data[:-1] + bytes([data[-1] ^ 1]), info, "checksum"),
        (data, other, "another vocabulary"),
    ]:
        with pytest.raises(grammask.DeserializeFormatError, match=says):
            CompiledGrammar.from_bytes(bad, target)
    with pytest.raises(grammask.DeserializeVersionError, match="version 99"):
        CompiledGrammar.from_bytes(data[:8] + b"\x63" + data[9:], info)
    with pytest.raises(TypeError):
        CompiledGrammar.from_bytes("text", info)
    with pytest.raises(TypeError):
        CompiledGrammar.from_bytes(data, None)
    assert issubclass(grammask.DeserializeFormatError, RuntimeError)


def test_json(info, compiled):
    text = compiled.serialize_json()
    assert json.loads(text)["__VERSION__"] == grammask.get_serialization_version()
    loaded = CompiledGrammar.deserialize_json(text, info)
    assert masks(loaded, TEXT) == masks(compiled, TEXT)
    with pytest.raises(grammask.DeserializeFormatError, match="another vocabulary"):
        CompiledGrammar.deserialize_json(text, grammask.TokenizerInfo([b"a"]))
    for change in {"data": "!"}, {"data": 1}, {"type": "Grammar"}, {"__VERSION__": None}:
        with pytest.raises(grammask.DeserializeFormatError):
            CompiledGrammar.deserialize_json(json.dumps({**json.loads(text), **change}), info)
    with pytest.raises(grammask.DeserializeVersionError):
        CompiledGrammar.deserialize_json(
            json.dumps({**json.loads(text), "__VERSION__": "v16"}), info
        )
    for bad in "", "{", "[" * 100_000:
        with pytest.raises(grammask.InvalidJSONError):
            CompiledGrammar.deserialize_json(bad, info)
    for bad in "[]", "1", "{}":
        with pytest.raises(grammask.DeserializeFormatError):
            CompiledGrammar.deserialize_json(bad, info)


def test_grammar_json(info):
    widened = Grammar.from_json_schema(
        {"type": "array", "not": {"uniqueItems": True}},
        on_unsupported="widen",
    )
    for grammar in Grammar.from_ebnf('root ::= "a" [b-d]* Token(3)'), widened:
        loaded = Grammar.deserialize_json(grammar.serialize_json())
        assert str(loaded) == str(grammar) or grammar is widened
        assert loaded.warnings == grammar.warnings
    assert widened.warnings
    with pytest.raises(grammask.InvalidJSONError):
        Grammar.deserialize_json("root")
    broken = json.loads(widened.serialize_json())
    broken["grammar"]["ebnf"] = 'root ::= "'
    with pytest.raises(grammask.DeserializeFormatError):
        Grammar.deserialize_json(json.dumps(broken))


def test_tokenizer_json(info, compiled):
    tokenizer = grammask.TokenizerInfo
    special = tokenizer(
        ["\u0120a", "<s>", "", "</s>"],
        grammask.VocabType.BYTE_LEVEL,
        vocab_size=6,
        add_prefix_space=True,
        special_token_ids=[1],
    )
    for written in info, special, tokenizer([]):
        text = written.serialize_json()
        assert json.loads(text)["__VERSION__"] == grammask.get_serialization_version()
        read = tokenizer.deserialize_json(text)
        assert read.decoded_vocab == written.decoded_vocab
        assert read.dump_metadata() == written.dump_metadata()
        assert read.special_token_ids == written.special_token_ids
        assert read.serialize_json() == text
    loaded = CompiledGrammar.from_bytes(
        compiled.to_bytes(), tokenizer.deserialize_json(info.serialize_json())
    )
    assert masks(loaded, TEXT) == masks(compiled, TEXT)
    fields = json.loads(special.serialize_json())
    damaged = fields["data"][:200] + ("A" if fields["data"][200] != "A" else "B")
    for change in {"data": "!"}, {"data": ""}, {"data": damaged}, {"type": "Grammar"}:
        with pytest.raises(grammask.DeserializeFormatError):
            tokenizer.deserialize_json(json.dumps({**fields, **change}))
    with pytest.raises(grammask.DeserializeVersionError):
        tokenizer.deserialize_json(json.dumps({**fields, "__VERSION__": "v16"}))
    for bad in "", "{", "[" * 100_000:
        with pytest.raises(grammask.InvalidJSONError):
            tokenizer.deserialize_json(bad)
    with pytest.raises(TypeError):
        tokenizer.deserialize_json(None)
