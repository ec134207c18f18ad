"""What may come next, in words: the continuations of a matcher over single bytes.

The mask over a vocabulary of bytes is the exact set of next bytes. Where they are few, each is
followed to the end of the word or string that it begins (`"na` becomes `"name"`); where they are
many, they are named as kinds of characters. JSON text gets JSON's words: a string, a number.
"""

from __future__ import annotations

from typing import Callable, List, Optional, Set

import numpy

import grammask

from .display import show_bytes

_WHITESPACE = frozenset(b" \t\n\r")
_DIGITS = frozenset(b"0123456789")
_LETTERS = frozenset(range(0x41, 0x5B)) | frozenset(range(0x61, 0x7B))
_QUOTE, _BACKSLASH = 0x22, 0x5C
_MOST = 16  # continuations listed one by one
_BUDGET = 600  # accepted texts spent on looking ahead
_LONGEST = 48  # bytes of one continuation
_MANY = 24  # so many different next bytes are a class, not a list


def allowed_bytes(matcher: grammask.GrammarMatcher) -> Set[int]:
    """The bytes that may come next. The matcher's vocabulary must be tokenizers.byte_tokenizer."""
    if matcher.is_terminated():
        return set()
    mask = numpy.zeros(grammask.get_bitmask_shape(1, 257), dtype=numpy.int32)
    matcher.fill_next_token_bitmask(mask, 0)
    bits = numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[:256]
    return {int(value) for value in numpy.flatnonzero(bits)}


def describe_next(matcher: grammask.GrammarMatcher, text: Optional[bytes] = None) -> List[str]:
    """Each way in which the text may go on, for people. text: what the matcher has seen, where that
    is JSON; None for other languages."""
    following = allowed_bytes(matcher)
    ways = ["the end of the text"] if matcher.is_completed() else []
    if text is None:
        ways += _plain_ways(matcher, following)
    elif _open_string(text):
        ways += _string_ways(matcher, following, text)
    else:
        ways += _json_ways(matcher, following, text)
    return ways


# --- any language ---


def _plain_ways(matcher: grammask.GrammarMatcher, following: Set[int]) -> List[str]:
    first = following - _WHITESPACE
    if not first or len(first) >= _MANY or _DIGITS <= first:
        return _classes(following)
    texts = _follow(matcher, first, _ends_word)
    if texts is None or not all(_whole_characters(text) for text in texts):
        return _classes(following)
    return [show_bytes(text) for text in texts] + _whitespace_way(following)


def _ends_word(text: bytes, choice: Set[int]) -> bool:
    return not text[-1:].isalpha() or not choice <= _LETTERS


def _whole_characters(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- JSON ---


def _open_string(text: bytes) -> bytes:
    """The string, from its quote on, that a JSON text ends inside of; empty where in none."""
    start = None
    escaped = False
    for place, value in enumerate(text):
        if escaped:
            escaped = False
        elif value == _BACKSLASH:
            escaped = start is not None
        elif value == _QUOTE:
            start = place if start is None else None
    return b"" if start is None else text[start:]


def _closed_at(text: bytes) -> Optional[int]:
    """Where a string ends that `text` goes on inside of: the place after its quote."""
    escaped = False
    for place, value in enumerate(text):
        if not escaped and value == _QUOTE:
            return place + 1
        escaped = not escaped and value == _BACKSLASH
    return None


def _string_ways(matcher: grammask.GrammarMatcher, following: Set[int], seen: bytes) -> List[str]:
    """Inside a string: the strings that it can become, or kinds of characters."""
    if len(following) < _MANY:
        texts = _follow(
            matcher, _plain_spelling(following), lambda text, _: _closed_at(text) is not None
        )
        if texts is not None and all(_closed_at(text) is not None for text in texts):
            begun = _open_string(seen)
            strings = {begun + text[: _closed_at(text)] for text in texts}
            return [text.decode("utf-8", errors="backslashreplace") for text in sorted(strings)]
    ways = ["the closing quote"] if _QUOTE in following else []
    ways += _classes(following - {_QUOTE, _BACKSLASH}, besides={_QUOTE, _BACKSLASH})
    return ways + ["an escape (\\)"] if _BACKSLASH in following else ways


def _plain_spelling(following: Set[int]) -> Set[int]:
    """Without the escaped spelling of what can be written plainly."""
    plain = following - {_BACKSLASH}
    return plain or following


def _json_ways(matcher: grammask.GrammarMatcher, following: Set[int], text: bytes) -> List[str]:
    """Between tokens, or inside a number or word."""
    ways: List[str] = []
    in_number = text[-1:].isdigit() or text[-1:] in (b"-", b".", b"+")
    numeric = following & (_DIGITS | {ord("-")})
    if not in_number and numeric:
        ways.append("a number")
    elif numeric >= _DIGITS:
        ways.append("a digit")
    else:
        ways += [show_bytes(bytes((value,))) for value in sorted(numeric)]
    if in_number and following & set(b"eE"):
        ways.append("an exponent (e)")
    for value in sorted(following - numeric - _WHITESPACE):
        byte = bytes((value,))
        if value == _QUOTE:
            ways += _begun_strings(matcher)
        elif value in _LETTERS and not (in_number and byte in b"eE"):
            texts = _follow(matcher, {value}, _ends_word) or [byte]
            ways += [show_bytes(_word(word)) for word in texts]
        elif byte in b"{[":
            ways.append("an object ({)" if byte == b"{" else "an array ([)")
        elif not (in_number and byte in b"eE"):
            ways.append(show_bytes(byte))
    return ways + _whitespace_way(following)


def _word(text: bytes) -> bytes:
    end = next((i for i, value in enumerate(text) if value not in _LETTERS), len(text))
    return text[: max(end, 1)]


def _begun_strings(matcher: grammask.GrammarMatcher) -> List[str]:
    """The strings that may begin here, where they are few."""
    texts = _follow(matcher, {_QUOTE}, lambda text, _: _closed_at(text[1:]) is not None)
    if texts is None or any(_closed_at(text[1:]) is None for text in texts):
        return ["a string"]
    closed = {text[: 1 + (_closed_at(text[1:]) or 0)] for text in texts}
    return [text.decode("utf-8", errors="backslashreplace") for text in sorted(closed)]


# --- both ---


def _follow(
    matcher: grammask.GrammarMatcher,
    first: Set[int],
    ends: Callable[[bytes, Set[int]], bool],
) -> Optional[List[bytes]]:
    """Follows each byte of `first` while the choices are few: the texts found, or None where they
    are too many. ends(text, next bytes) says where a text is long enough."""
    done: Set[bytes] = set()
    waiting = [bytes((value,)) for value in sorted(first)]
    budget = _BUDGET
    while waiting:
        text = waiting.pop(0)
        budget -= 1
        fork = matcher.fork()
        if not fork.accept_string(text):
            continue
        forced = fork.find_jump_forward_string().encode() if not fork.is_terminated() else b""
        if forced and fork.accept_string(forced):
            text += forced
        choice = _plain_spelling(allowed_bytes(fork) - _WHITESPACE)
        long_enough = len(text) >= _LONGEST or ends(text, choice)
        if long_enough or fork.is_completed() or not choice or len(choice) >= _MANY:
            done.add(text[:_LONGEST])
        else:
            waiting += [text + bytes((value,)) for value in sorted(choice)]
        if len(done) + len(waiting) > _MOST or budget < 0:
            return None
    return sorted(done)


def _classes(following: Set[int], besides: Optional[Set[int]] = None) -> List[str]:
    """Bytes as kinds of characters. besides: bytes that are spoken of elsewhere."""
    besides = besides or set()
    printable = {value for value in following if 0x21 <= value <= 0x7E}
    ways = []
    refused = set(range(0x21, 0x7F)) - printable - besides
    if len(refused) <= 8 and len(printable) > 80:
        but = ", ".join(show_bytes(bytes((value,))) for value in sorted(refused))
        ways.append("any printable character" + (f" but {but}" if but else ""))
        printable = set()
    for values, name in (
        (_DIGITS, "a digit"),
        (frozenset(range(0x41, 0x5B)), "an upper-case letter"),
        (frozenset(range(0x61, 0x7B)), "a lower-case letter"),
    ):
        if values <= printable:
            ways.append(name)
            printable -= values
    if len(printable) > _MOST:
        ways.append("one of " + bytes(sorted(printable)).decode())
    else:
        ways += [show_bytes(bytes((value,))) for value in sorted(printable)]
    ways += _whitespace_way(following)
    if any(value >= 0x80 for value in following):
        ways.append("a non-ASCII character")
    if any((value < 0x20 and value not in _WHITESPACE) or value == 0x7F for value in following):
        ways.append("a control character")
    return ways


def _whitespace_way(following: Set[int]) -> List[str]:
    found = following & _WHITESPACE
    if not found:
        return []
    return ["a space"] if found == {0x20} else ["whitespace"]
