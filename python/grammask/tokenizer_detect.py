"""Tokenizer objects -> plain data, or a TokenizerInfo.

Known are: Hugging Face tokenizers, fast (any object with a `tokenizers.Tokenizer` behind it, and
that itself) and slow (around tiktoken or SentencePiece, or with a byte-level vocabulary),
`tiktoken.Encoding`, `sentencepiece.SentencePieceProcessor`, and mistral-common's tokenizers (tekken
and SentencePiece, bare or wrapped). They are told apart by what they can do, so none of those
packages is imported here.

    data = read_tokenizer(transformers.AutoTokenizer.from_pretrained(path))
    data.vocab_type, data.special_token_ids

Which tokens count as special, and why, is set out in docs/tokenizers.md.
"""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

if TYPE_CHECKING:
    from . import TokenizerInfo

__all__ = ["TokenizerData", "from_huggingface", "is_control_marker", "read_tokenizer"]


@dataclass(frozen=True)
class TokenizerData:
    """What TokenizerInfo needs to know of a tokenizer.

    vocab: str or bytes by id, "" or b"" for an id that is not in use. Empty where `tokenizer_json`
        is given.
    vocab_type: name of a VocabType: "RAW", "BYTE_FALLBACK" or "BYTE_LEVEL".
    add_prefix_space: whether the tokenizer puts a space before the text that it encodes.
    stop_token_ids: None where the tokenizer names none; then they are found by well-known texts.
    special_token_ids: ids that are never text, ascending.
    tokenizer_json: the text of a tokenizer.json. TokenizerInfo.from_tokenizer_json reads from it
        everything but `stop_token_ids`; `special_token_ids` are in addition to those it finds.
    """

    vocab: List[Union[str, bytes]] = field(default_factory=list)
    vocab_type: str = "RAW"
    add_prefix_space: bool = False
    stop_token_ids: Optional[List[int]] = None
    special_token_ids: List[int] = field(default_factory=list)
    tokenizer_json: Optional[str] = None


def read_tokenizer(
    tokenizer: Any,
    vocab_size: Optional[int] = None,
    stop_token_ids: Optional[Union[int, Sequence[int]]] = None,
) -> TokenizerData:
    """Reads a tokenizer object.

    vocab_size: the model's; ids beyond it are left out of `special_token_ids`, and of the stop
        tokens that the tokenizer names itself. `vocab` is neither padded nor trimmed.
    stop_token_ids: an id or several, in place of the tokenizer's own.

    Raises TokenizerError for an object of no known kind.
    """
    if vocab_size is not None and vocab_size < 0:
        raise _error(f"vocab_size is {vocab_size}; it must be 0 or more")
    added = _added_tokens(tokenizer)
    special = _special_ids(tokenizer, added)
    tokenizer_json = _tokenizer_json(tokenizer)
    if tokenizer_json is not None:
        texts: Dict[int, Union[str, bytes]] = {}
        vocab_type, prefix_space = "RAW", False
        kind: Any = tokenizer
    else:
        kind, read = _find_known(tokenizer)
        if read is None:
            read = _read_vocabulary_dict
        texts, vocab_type, prefix_space = read(kind, tokenizer, special)
        is_bytes = any(isinstance(text, bytes) for text in texts.values())
        for token_id, (text, _) in added.items():
            texts[token_id] = text.encode("utf-8", "surrogatepass") if is_bytes else text

    if stop_token_ids is None:
        stops = _own_stop_ids(tokenizer, kind, vocab_size)
    elif hasattr(stop_token_ids, "__index__"):  # int, or NumPy's
        stops = [operator.index(stop_token_ids)]
    else:
        stops = [int(token_id) for token_id in stop_token_ids]
    return TokenizerData(
        vocab=_by_id(texts),
        vocab_type=vocab_type,
        add_prefix_space=prefix_space,
        stop_token_ids=stops,
        special_token_ids=sorted(i for i in special if vocab_size is None or i < vocab_size),
        tokenizer_json=tokenizer_json,
    )


def from_huggingface(
    tokenizer: Any,
    *,
    vocab_size: Optional[int] = None,
    stop_token_ids: Optional[Union[int, Sequence[int]]] = None,
) -> "TokenizerInfo":
    """The TokenizerInfo of a tokenizer object; see `read_tokenizer`.

    vocab_size: the model's, where it is not the tokenizer's: larger pads with ids that are never
        allowed, smaller trims.
    """
    from . import TokenizerInfo, VocabType

    data = read_tokenizer(tokenizer, vocab_size, stop_token_ids)
    if data.tokenizer_json is None:
        return TokenizerInfo(
            data.vocab,
            VocabType[data.vocab_type],
            vocab_size=vocab_size,
            stop_token_ids=data.stop_token_ids,
            add_prefix_space=data.add_prefix_space,
            special_token_ids=data.special_token_ids,
        )
    info = TokenizerInfo.from_tokenizer_json(
        data.tokenizer_json, vocab_size=vocab_size, stop_token_ids=data.stop_token_ids
    )
    known = set(info.special_token_ids)
    further = [i for i in data.special_token_ids if i < info.vocab_size and i not in known]
    if not further:
        return info
    # The Python object calls special what its own file does not: make it again with those.
    metadata = json.loads(info.dump_metadata())
    metadata["special_token_ids"] = sorted({*metadata.get("special_token_ids", ()), *further})
    vocab = _by_id({i: text for text, i in tokenizer.get_vocab().items()})
    if info.vocab_type is VocabType.RAW:
        vocab = list(info.decoded_vocab)
    return TokenizerInfo.from_vocab_and_metadata(vocab, json.dumps(metadata))


# The HTML tags that vocabularies hold as text.
_HTML_ELEMENTS = frozenset(
    "a b blockquote body br caption code dd del div dl dt em h1 h2 h3 h4 h5 h6 head hr html i li "
    "ol p pre s span strong sub sup table tbody td tfoot th thead tr u ul".split()
)
_BAR = "\uff5c"  # the fullwidth bar of DeepSeek's markers


def is_control_marker(text: str) -> bool:
    """Whether an added token of this text is a control marker although nobody flags it special.

    The same rule as for a tokenizer.json: "<think>", "<|fim_hole|>" and "[INST]" are, "<table>"
    and "\\n\\n" are not.
    """

    def between(start: str, end: str) -> bool:
        return (
            len(text) > len(start) + len(end) and text.startswith(start) and text.endswith(end)
        )

    if not any(c != _BAR and (c >= "\x80" or c.isalnum()) for c in text):
        return False
    if between("<", ">"):
        name = text[1:-1]
        if name.startswith("/"):
            name = name[1:]
        elif name.endswith("/"):
            name = name[:-2] if name.endswith(" /") else name[:-1]
        return name not in _HTML_ELEMENTS
    if text.startswith(("<|", "<" + _BAR)):
        return True
    if between("|", "|") or between(_BAR, _BAR) or between("[|", "|]"):
        return True
    if len(text) < 4 or not between("[", "]"):
        return False
    capitals = sum("A" <= c <= "Z" for c in text)
    return capitals >= 2 and all("A" <= c <= "Z" or c in "0123456789_/-" for c in text[1:-1])


def _error(message: str) -> Exception:
    from .exception import TokenizerError

    return TokenizerError(message)


def _by_id(texts: Dict[int, Union[str, bytes]]) -> List[Union[str, bytes]]:
    size = max(texts, default=-1) + 1
    if size > 2 * len(texts) + (1 << 20):
        raise _error(f"token id {size - 1} in a vocabulary of only {len(texts)} tokens")
    empty: Union[str, bytes] = ""
    vocab = [empty] * size
    for token_id, text in texts.items():
        vocab[token_id] = text
    return vocab


def _can(obj: Any, *methods: str) -> bool:
    return all(callable(getattr(obj, method, None)) for method in methods)


def _value(obj: Any, name: str) -> Any:
    """obj.name, or what obj.name() returns; None where there is neither."""
    try:
        value = getattr(obj, name, None)
        return value() if callable(value) else value
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):
        return None


# --- what every Hugging Face tokenizer tells ---


def _added_tokens(tokenizer: Any) -> Dict[int, Tuple[str, bool]]:
    """id -> (text, is special) of the tokens added to the model's own."""
    decoder = _value(tokenizer, "added_tokens_decoder")
    if not isinstance(decoder, dict):
        return {}
    return {
        int(token_id): (
            str(getattr(token, "content", token)),
            bool(getattr(token, "special", False)),
        )
        for token_id, token in decoder.items()
    }


def _special_ids(tokenizer: Any, added: Dict[int, Tuple[str, bool]]) -> Set[int]:
    special = {i for i, (text, flag) in added.items() if flag or is_control_marker(text)}
    named = _value(tokenizer, "all_special_ids")
    if isinstance(named, (list, tuple, set)):
        special.update(i for i in named if isinstance(i, int) and i >= 0)
    return special


def _own_stop_ids(tokenizer: Any, kind: Any, vocab_size: Optional[int]) -> Optional[List[int]]:
    for obj in (tokenizer, kind):
        for name in ("eos_token_id", "eos_id"):
            found = _value(obj, name)
            ids = [found] if isinstance(found, int) else found
            if not isinstance(ids, (list, tuple)):
                continue
            ids = [i for i in ids if isinstance(i, int) and 0 <= i]
            ids = [i for i in ids if vocab_size is None or i < vocab_size]
            if ids:
                return ids
    return None


def _tokenizer_json(tokenizer: Any) -> Optional[str]:
    for obj in (getattr(tokenizer, "backend_tokenizer", None), tokenizer):
        if obj is not None and _can(obj, "to_str", "get_vocab", "id_to_token"):
            return obj.to_str()
    return None


# --- the kinds that are no Hugging Face fast tokenizer ---

# Where wrappers keep what they wrap.
_WRAPPED = (
    "sp_model",
    "sp_processor",
    "sp_tokenizer",
    "instruct_tokenizer",
    "tokenizer",
    "_tokenizer",
    "model",
    "_model",
    "tok",
    "instruct",
    "mistral",
)

_Read = Tuple[Dict[int, Union[str, bytes]], str, bool]


def _inside(tokenizer: Any) -> Iterator[Any]:
    """The object itself and what it wraps, nearest first."""
    level, seen = [tokenizer], {id(tokenizer)}
    for _ in range(5):
        yield from level
        following = []
        for obj in level:
            for name in _WRAPPED:
                try:
                    inner = getattr(obj, name, None)
                except Exception:  # a property of a foreign class may raise anything
                    inner = None
                is_object = inner is not None and not isinstance(inner, (str, bytes, int, float))
                if is_object and not callable(inner) and id(inner) not in seen:
                    seen.add(id(inner))
                    following.append(inner)
        level = following


def _find_known(tokenizer: Any) -> Tuple[Any, Any]:
    """The first known kind inside, and how to read it; the object and None where there is none."""
    for obj in _inside(tokenizer):
        if _can(obj, "id_to_byte_piece", "is_special") and hasattr(obj, "n_words"):
            return obj, _read_tekken
        if _can(obj, "decode_single_token_bytes", "encode_single_token"):
            return obj, _read_tiktoken
        if _can(obj, "id_to_piece", "get_piece_size", "is_control"):
            return obj, _read_sentencepiece
    return tokenizer, None


def _read_tekken(tekken: Any, tokenizer: Any, special: Set[int]) -> _Read:
    # Its tokens are those of a tiktoken encoding, after the special ones.
    count = _value(tekken, "num_special_tokens")
    inner = _ranks(getattr(tekken, "_model", None))
    texts: Dict[int, Union[str, bytes]] = {}
    if inner and isinstance(count, int):
        texts = {token_id + count: text for token_id, text in inner.items()}
        probes = (count, (count + tekken.n_words) // 2, tekken.n_words - 1)
        if any(texts.get(i) != tekken.id_to_byte_piece(i) for i in probes):
            texts = {}
    for token_id in range(count if texts else tekken.n_words):
        if tekken.is_special(token_id):
            special.add(token_id)
            texts[token_id] = tekken.id_to_piece(token_id).encode()
        else:
            texts[token_id] = tekken.id_to_byte_piece(token_id)
    return texts, "RAW", False


def _ranks(encoding: Any) -> Dict[int, bytes]:
    """The tokens of a tiktoken encoding by id, but for special ones; empty where it does not say.

    Asking for them one by one takes ten times as long.
    """
    ranks = getattr(encoding, "_mergeable_ranks", None)
    if not isinstance(ranks, dict) or not ranks:
        return {}
    texts = {token_id: text for text, token_id in ranks.items()}
    for token_id in (min(texts), len(texts) // 2, max(texts)):
        if texts.get(token_id) != encoding.decode_single_token_bytes(token_id):
            return {}
    return texts


def _read_tiktoken(encoding: Any, tokenizer: Any, special: Set[int]) -> _Read:
    texts: Dict[int, Union[str, bytes]] = dict(_ranks(encoding))
    for token_id in range(encoding.n_vocab):
        if token_id in texts:
            continue
        try:
            texts[token_id] = encoding.decode_single_token_bytes(token_id)
        except KeyError:
            pass  # not every id below n_vocab is in use
    special.update(encoding.encode_single_token(name) for name in encoding.special_tokens_set)
    return texts, "RAW", False


def _read_sentencepiece(model: Any, tokenizer: Any, special: Set[int]) -> _Read:
    count = model.get_piece_size()
    pieces = [model.id_to_piece(i) for i in range(count)]
    special_pieces = set()
    for i, piece in enumerate(pieces):
        if model.is_control(i) or model.is_unknown(i) or model.is_unused(i):
            special_pieces.add(piece)
        # Score 0 tells the pieces that a user defined from those that training made.
        elif not model.is_byte(i) and model.get_score(i) == 0 and is_control_marker(piece):
            special_pieces.add(piece)
    # A Hugging Face tokenizer may number the pieces in its own way.
    vocab = tokenizer.get_vocab() if _can(tokenizer, "get_vocab") else None
    if isinstance(vocab, dict) and vocab:
        texts: Dict[int, Union[str, bytes]] = {i: text for text, i in vocab.items()}
    else:
        texts = dict(enumerate(pieces))
    special.update(i for i, text in texts.items() if text in special_pieces)
    first = model.encode("a", out_type=str)[:1]
    return texts, "BYTE_FALLBACK", bool(first) and first[0].startswith("\u2581")


def _read_vocabulary_dict(kind: Any, tokenizer: Any, special: Set[int]) -> _Read:
    """A tokenizer in plain Python that gives its vocabulary as a dict."""
    vocab = tokenizer.get_vocab() if _can(tokenizer, "get_vocab") else None
    if isinstance(vocab, dict) and vocab:
        texts: Dict[int, Union[str, bytes]] = {i: text for text, i in vocab.items()}
        if all(isinstance(text, bytes) for text in vocab):
            return texts, "RAW", False
        # "\u0120" and "\u010a" write the space and the line feed in GPT-2's alphabet.
        if hasattr(tokenizer, "byte_encoder") or {"\u0120", "\u010a"} <= vocab.keys():
            return texts, "BYTE_LEVEL", bool(_value(tokenizer, "add_prefix_space"))
        if "<0x0A>" in vocab:
            return texts, "BYTE_FALLBACK", bool(_value(tokenizer, "add_prefix_space"))
    raise _error(
        f"cannot tell how {type(tokenizer).__module__}.{type(tokenizer).__qualname__} writes the "
        "bytes of its tokens; pass the vocabulary itself to TokenizerInfo"
    )
