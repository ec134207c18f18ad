"""TokenizerInfo."""

import json
import pickle

import pytest

import grammask
from grammask import TokenizerInfo, VocabType


def test_bytes_and_str_entries():
    assert TokenizerInfo(["a", b"\xff", "é", ""]).decoded_vocab == [
        b"a",
        b"\xff",
        "é".encode(),
        b"",
    ]
    assert TokenizerInfo(("a",)).decoded_vocab == [b"a"]
    assert TokenizerInfo([]).vocab_size == 0


def test_properties():
    info = TokenizerInfo(["a", "b", "</s>", ""], stop_token_ids=2, special_token_ids=[1])
    assert (info.vocab_type, info.vocab_size) == (VocabType.RAW, 4)
    assert info.stop_token_ids == [2]
    assert {1, 3} <= set(info.special_token_ids)
    assert info.add_prefix_space is False
    assert info.find_token("b") == 1 and info.find_token(b"zz") is None
    with pytest.deprecated_call():
        assert info.prepend_space_in_tokenization is False


def test_byte_writings():
    level = TokenizerInfo(["Ġa", "Ċ"], VocabType.BYTE_LEVEL)
    assert level.decoded_vocab == [b" a", b"\n"]
    fallback = TokenizerInfo(["▁a", "<0x0A>"], VocabType.BYTE_FALLBACK)
    assert fallback.decoded_vocab == [b" a", b"\n"]


def test_vocab_size_pads():
    info = TokenizerInfo(["a"], vocab_size=5)
    assert info.vocab_size == 5
    assert info.decoded_vocab == [b"a", b"", b"", b"", b""]
    assert set(info.special_token_ids) >= {1, 2, 3, 4}


def test_stop_tokens_are_detected():
    assert TokenizerInfo(["a", "</s>", "<|im_end|>"]).stop_token_ids == [1, 2]
    assert TokenizerInfo(["a", "</s>"], stop_token_ids=0).stop_token_ids == [0]


def test_metadata_round_trip():
    info = TokenizerInfo(["Ġa", "</s>"], VocabType.BYTE_LEVEL, vocab_size=4, add_prefix_space=True)
    metadata = json.loads(info.dump_metadata())
    assert metadata["vocab_type"] == 2 and metadata["vocab_size"] == 4
    assert metadata["add_prefix_space"] is True and metadata["stop_token_ids"] == [1]
    again = TokenizerInfo.from_vocab_and_metadata(["Ġa", "</s>"], info.dump_metadata())
    assert again.dump_metadata() == info.dump_metadata()
    assert again.decoded_vocab == info.decoded_vocab


def test_blanked_special_tokens():
    # Engines blank special tokens and keep the metadata: "" must never match.
    info = TokenizerInfo(["a", "<x>", "</s>"])
    blank = TokenizerInfo.from_vocab_and_metadata(["a", "", "</s>"], info.dump_metadata())
    matcher = grammask.GrammarMatcher(grammask.GrammarCompiler(blank).compile_regex("[a<>x]*"))
    assert not matcher.accept_token(1) and matcher.accept_token(0)


def test_detect_metadata():
    found = TokenizerInfo._detect_metadata_from_hf(
        json.dumps({"model": {"type": "BPE"}, "decoder": {"type": "ByteLevel"}})
    )
    assert found == {"vocab_type": VocabType.BYTE_LEVEL, "add_prefix_space": False}


def test_from_tokenizer_json():
    text = json.dumps(
        {
            "model": {"type": "BPE", "vocab": {"a": 0, "Ġb": 1}, "merges": []},
            "added_tokens": [{"id": 2, "content": "<|end|>", "special": True}],
            "decoder": {"type": "ByteLevel"},
        }
    )
    for source in (text, text.encode()):
        info = TokenizerInfo.from_tokenizer_json(source, vocab_size=4, stop_token_ids=[2])
        assert info.decoded_vocab[:2] == [b"a", b" b"]
        assert info.vocab_size == 4 and info.stop_token_ids == [2]
        assert 2 in info.special_token_ids


def test_save_and_load(tmp_path):
    info = TokenizerInfo(["Ġa", "</s>", "<x>", ""], VocabType.BYTE_LEVEL, special_token_ids=[2])
    info.save(tmp_path / "vocabulary")
    copies = [
        TokenizerInfo.load(tmp_path / "vocabulary"),
        TokenizerInfo.load(str(tmp_path / "vocabulary"), mapped=False),
        pickle.loads(pickle.dumps(info)),
    ]
    for copy in copies:
        assert copy.dump_metadata() == info.dump_metadata()
        assert copy.decoded_vocab == info.decoded_vocab == [b" a", b"</s>", b"<x>", b""]
        assert copy.find_token("<x>") == 2 and copy.special_token_ids == [2, 3]
        compiled = grammask.GrammarCompiler(copy).compile_regex("[ a]*")
        matcher = grammask.GrammarMatcher(compiled)
        assert matcher.accept_token(0) and not matcher.accept_token(2)


def test_save_and_load_errors(tmp_path):
    path = tmp_path / "vocabulary"
    with pytest.raises(grammask.TokenizerError, match="No such file"):
        TokenizerInfo.load(path)
    with pytest.raises(grammask.TokenizerError, match="cannot write"):
        TokenizerInfo(["a"]).save(tmp_path / "none" / "vocabulary")
    TokenizerInfo(["a", "bc"]).save(path)
    saved = path.read_bytes()
    for damaged, what in [(b"", "not a saved"), (saved[:-1], "bytes long"), (saved[::-1], "not a")]:
        path.write_bytes(damaged)
        with pytest.raises(grammask.TokenizerError, match=what):
            TokenizerInfo.load(path)
    for i in range(24, len(saved)):
        path.write_bytes(saved[:i] + bytes([saved[i] ^ 64]) + saved[i + 1 :])
        with pytest.raises(grammask.TokenizerError, match="damaged"):
            TokenizerInfo.load(path)


def test_equality():
    info = TokenizerInfo(["a"])
    compiled = grammask.GrammarCompiler(info).compile_regex("a")
    assert compiled.tokenizer_info == info and hash(compiled.tokenizer_info) == hash(info)
    assert info != TokenizerInfo(["a"]) and info != "a"
