"""What may come next, in words: the continuations of a matcher over single bytes."""

from __future__ import annotations

from typing import List, Set

import numpy

import grammask

from .display import show_bytes

_WHITESPACE = frozenset(b" \t\n\r")
_DIGITS = frozenset(b"0123456789")
_MOST = 12  # continuations listed one by one
_BUDGET = 400  # accepted texts spent on looking ahead
_LONGEST = 40  # bytes of one continuation
_MANY = 24  # so many different next bytes are a class, not a list


def allowed_bytes(matcher: grammask.GrammarMatcher) -> Set[int]:
    """The bytes that may come next. The matcher's vocabulary must be tokenizers.byte_tokenizer."""
    if matcher.is_terminated():
        return set()
    mask = numpy.zeros(grammask.get_bitmask_shape(1, 257), dtype=numpy.int32)
    matcher.fill_next_token_bitmask(mask, 0)
    bits = numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[:256]
    return {int(value) for value in numpy.flatnonzero(bits)}


def describe_next(matcher: grammask.GrammarMatcher) -> List[str]:
    """Each way in which the text may go on, for people: literal texts where the grammar fixes them,
    else kinds of characters."""
    ways: List[str] = []
    if matcher.is_completed():
        ways.append("the end of the text")
    following = allowed_bytes(matcher)
    ways += [show_bytes(text) for text in _literals(matcher, following)]
    if not ways or (following and len(ways) == (1 if matcher.is_completed() else 0)):
        ways += _classes(following)
    elif following & _WHITESPACE:
        ways.append("whitespace")
    return ways


def _literals(matcher: grammask.GrammarMatcher, following: Set[int]) -> List[bytes]:
    """Continuations as literal texts, or none where there are too many."""
    first = following - _WHITESPACE
    if not first or len(first) >= _MANY or _DIGITS <= first:
        return []
    done: List[bytes] = []
    open_texts = [bytes((value,)) for value in sorted(first)]
    budget = _BUDGET
    while open_texts and budget > 0:
        text = open_texts.pop(0)
        budget -= 1
        fork = matcher.fork()
        if not fork.accept_string(text):
            continue
        if len(text) < _LONGEST:
            text += fork.find_jump_forward_string().encode() if not fork.is_terminated() else b""
            fork = matcher.fork()
            fork.accept_string(text)
        # A choice among few bytes inside a name or word is followed; anything else ends here.
        choice = allowed_bytes(fork) - _WHITESPACE
        inside = bool(text) and (text[-1:].isalnum() or text.count(b'"') % 2 == 1)
        if fork.is_completed() or not inside or len(choice) >= _MANY or len(text) >= _LONGEST:
            done.append(text)
        elif len(done) + len(open_texts) + len(choice) > _MOST:
            done.append(text)
        else:
            open_texts += [text + bytes((value,)) for value in sorted(choice)]
    texts = sorted(set(done + open_texts))
    return texts if len(texts) <= 2 * _MOST else []


def _classes(following: Set[int]) -> List[str]:
    printable = {value for value in following if 0x21 <= value <= 0x7E}
    ways = []
    refused = set(range(0x21, 0x7F)) - printable
    if len(refused) <= 8 and len(printable) > 80:
        but = ", ".join(show_bytes(bytes((value,))) for value in sorted(refused))
        ways.append("any printable character" + (f" but {but}" if but else ""))
        printable = set()
    for values, name in (
        (set(_DIGITS), "a digit"),
        (set(range(0x41, 0x5B)), "an upper-case letter"),
        (set(range(0x61, 0x7B)), "a lower-case letter"),
    ):
        if values <= printable:
            ways.append(name)
            printable -= values
    ways += [show_bytes(bytes((value,))) for value in sorted(printable)]
    if following & _WHITESPACE:
        ways.append("whitespace" if following >= _WHITESPACE else "a space or line break")
    if any(value >= 0x80 for value in following):
        ways.append("a non-ASCII character")
    if any(value < 0x20 and value not in _WHITESPACE or value == 0x7F for value in following):
        ways.append("a control character")
    return ways
