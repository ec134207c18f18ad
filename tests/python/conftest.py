"""Small vocabularies and helpers that the tests share."""

import numpy
import pytest

import grammask

# Every byte, a few longer tokens, an empty entry, and a stop token.
WORDS = ["true", "false", "null", "ab", "abc", '{"', '":', '"}', ", ", " name", "12", "é", "\n\n"]


def make_tokens():
    return [bytes([value]) for value in range(256)] + [w.encode() for w in WORDS] + [b"", b"</s>"]


@pytest.fixture(scope="session")
def tokens():
    return make_tokens()


@pytest.fixture(scope="session")
def stop(tokens):
    return len(tokens) - 1


@pytest.fixture(scope="session")
def tokenizer_info(tokens, stop):
    return grammask.TokenizerInfo(tokens, stop_token_ids=[stop])


@pytest.fixture
def compiler(tokenizer_info):
    return grammask.GrammarCompiler(tokenizer_info)


@pytest.fixture
def matcher_of(compiler):
    """matcher_of(ebnf, **options): a matcher of an EBNF grammar."""

    def make(ebnf, **options):
        return grammask.GrammarMatcher(compiler.compile_grammar(ebnf), **options)

    return make


def allowed_ids(matcher, vocab_size):
    """The tokens that the mask allows."""
    mask = numpy.full(grammask.get_bitmask_shape(1, vocab_size), 0x55555555, dtype=numpy.int32)
    matcher.fill_next_token_bitmask(mask)
    bits = numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[:vocab_size]
    return {int(token) for token in numpy.flatnonzero(bits)}


def ids_by_trial(matcher, vocab_size):
    """The same, by trying each token."""
    found = set()
    for token in range(vocab_size):
        if matcher.accept_token(token):
            matcher.rollback(1)
            found.add(token)
    return found
