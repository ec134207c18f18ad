"""Documents from seeded random logits, each finished within a given number of tokens.

A language model that knows nothing: logits are noise plus a preference for tokens that usual texts
have. Such a model seldom ends what it begins, so two things steer it. With probability
`finish_bias` a step takes the next token of the shortest completion; and a token is only taken
while the shortest completion after it still fits into the tokens that are left. A plan, the
shortest completion written as tokens, is kept as a checkpoint: when the budget runs out, the text
goes back to it and follows it, so that every document ends in time.
"""

from __future__ import annotations

import time
from typing import Dict, Iterator, List, Optional

import numpy

import grammask

from .inputs import BadInput

# Bytes to try first when looking for the next byte of the shortest completion: JSON's own.
_USUAL = b'"}],:0 {[tfn-123456789aeiorsl.eE+'
_BYTE_ORDER = bytes(dict.fromkeys(_USUAL + bytes(range(32, 127)) + bytes(range(256))))
_NOISE_ROWS = 4


class TokenTexts:
    """The text tokens of a tokenizer: by bytes, and how usual each one looks."""

    def __init__(self, tokenizer: grammask.TokenizerInfo) -> None:
        self.texts: List[bytes] = tokenizer.decoded_vocab
        self.stop_ids: List[int] = tokenizer.stop_token_ids
        never = set(tokenizer.special_token_ids) | set(self.stop_ids)
        self.ids: Dict[bytes, int] = {}
        for token, text in enumerate(self.texts):
            if text and token not in never:
                self.ids.setdefault(text, token)
        self.longest = max((len(text) for text in self.ids), default=0)
        self.usual = self._usual(never)
        # 7E981 is a fine JSON number, and so is 3.000, but few people would write them.
        self.after_digit = numpy.array(
            [token for text, token in self.ids.items() if text[:1] in b"eE."], dtype=numpy.int64
        )

    def _usual(self, never: "set[int]") -> "numpy.ndarray":
        """Log-probabilities: low ids (frequent in byte-pair vocabularies) and plain words win."""
        size = len(self.texts)
        usual = -numpy.log(numpy.arange(size, dtype=numpy.float32) + 200)
        for token, text in enumerate(self.texts):
            plain = text.strip(b" ")
            if b"\\" in text:  # escaped spellings of what could be written plainly
                usual[token] -= 16
            elif not (plain.isalnum() and plain.isascii()):
                usual[token] -= 4 if text.isascii() and text.strip() else 6
        return usual

    def longest_token(self, text: bytes) -> Optional[int]:
        """The longest token that `text` begins with."""
        for length in range(min(self.longest, len(text)), 0, -1):
            token = self.ids.get(text[:length])
            if token is not None:
                return token
        return None


def shortest_completion(matcher: grammask.GrammarMatcher, limit: Optional[int] = None) -> bytes:
    """A shortest text that completes what the matcher has seen, or its first bytes."""
    fork = matcher.fork()
    text = bytearray()
    left = fork.shortest_completion_bytes()
    while left > 0 and (limit is None or len(text) < limit):
        forced = fork.find_jump_forward_string().encode()
        if forced and fork.accept_string(forced):
            after = fork.shortest_completion_bytes()
            if after == left - len(forced):
                text += forced
                left = after
                continue
            fork.rollback(1)
        for value in _BYTE_ORDER:
            byte = bytes((value,))
            if not fork.accept_string(byte):
                continue
            if fork.shortest_completion_bytes() == left - 1:
                text += byte
                left -= 1
                break
            fork.rollback(1)
        else:
            raise AssertionError("no byte shortens the shortest completion")
    return bytes(text)


def plan_tokens(texts: TokenTexts, text: bytes) -> List[int]:
    """A text as tokens, longest first. Raises BadInput where the tokenizer cannot write it."""
    tokens = []
    at = 0
    while at < len(text):
        token = texts.longest_token(text[at : at + texts.longest])
        if token is None:
            raise BadInput(
                f"the tokenizer has no token for {text[at : at + 8]!r}, which the shortest "
                "document needs"
            )
        tokens.append(token)
        at += len(texts.texts[token])
    return tokens


class Document:
    """One generated document and what was learned on the way."""

    def __init__(self) -> None:
        self.tokens: List[int] = []  # without the stop token
        self.forced: List[bool] = []  # of each token: the mask allowed no other
        self.text = b""
        self.jump_bytes = 0  # bytes that jump-forward could have written without the model
        self.steered_from: Optional[int] = None  # index of the first token that the budget forced
        self.mask_seconds: List[float] = []
        self.mask_counts: List[int] = []  # allowed tokens at each step


class Sampler:
    """Writes documents of one compiled grammar. The same seed gives the same documents."""

    def __init__(
        self,
        compiled: grammask.CompiledGrammar,
        texts: TokenTexts,
        *,
        max_tokens: int,
        seed: int,
        finish_bias: float,
    ) -> None:
        self._compiled = compiled
        self._texts = texts
        self._max_tokens = max_tokens
        self._finish_bias = finish_bias
        self._random = numpy.random.default_rng(seed)
        size = len(texts.texts)
        # Drawing a row of noise costs more than a mask, so a few rows are drawn once and begin at
        # another place each time.
        self._noise = self._random.gumbel(size=(_NOISE_ROWS, size)).astype(numpy.float32)
        self._logits = numpy.empty(size, dtype=numpy.float32)
        self._mask = numpy.full(grammask.get_bitmask_shape(1, size), -1, dtype=numpy.int32)

    def documents(self, count: int) -> Iterator[Document]:
        for _ in range(count):
            yield _Run(self).write()

    def random_logits(self, last_byte: bytes) -> "numpy.ndarray":
        noise = self._noise[int(self._random.integers(_NOISE_ROWS))]
        start = int(self._random.integers(len(noise)))
        self._logits[: len(noise) - start] = noise[start:]
        self._logits[len(noise) - start :] = noise[:start]
        self._logits += self._texts.usual
        if last_byte.isdigit():
            self._logits[self._texts.after_digit] -= 10
        return self._logits


class _Run:
    """The writing of one document."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.texts = sampler._texts
        self.matcher = grammask.GrammarMatcher(sampler._compiled)
        self.document = Document()
        self.plan: List[int] = []  # tokens that complete the text from step `plan_at` on
        self.plan_at = 0
        self.plan_bytes = 0
        self.jump_end = 0  # place in the text up to which jump-forward was counted

    def write(self) -> Document:
        sampler = self.sampler
        self._keep_plan(plan_tokens(self.texts, shortest_completion(self.matcher)))
        if len(self.plan) + 1 > sampler._max_tokens:
            raise BadInput(
                f"the shortest document takes {len(self.plan) + 1} tokens, stop token included; "
                f"--max-tokens is {sampler._max_tokens}"
            )
        while True:
            allowed = self._fill()
            if allowed == 0:
                raise BadInput(
                    f"no token of this tokenizer can follow {bytes(self.document.text[-40:])!r}"
                )
            token = self._choose()
            if token in self.matcher.stop_token_ids:
                break
            if not self._affordable(token):
                self._follow_plan()
                break
            self._accept(token, allowed == 1)
        if not self.matcher.is_completed():
            raise AssertionError("the document is not complete")
        return self.document

    def _keep_plan(self, tokens: List[int]) -> None:
        self.plan = tokens
        self.plan_at = len(self.document.tokens)
        self.plan_bytes = sum(len(self.texts.texts[token]) for token in tokens)

    def _fill(self) -> int:
        """Computes the mask; returns how many tokens it allows."""
        mask = self.sampler._mask
        start = time.perf_counter_ns()
        self.matcher.fill_next_token_bitmask(mask, 0)
        self.document.mask_seconds.append((time.perf_counter_ns() - start) * 1e-9)
        allowed = int(numpy.unpackbits(mask.view(numpy.uint8)).sum())
        self.document.mask_counts.append(allowed)
        return allowed

    def _choose(self) -> int:
        if float(self.sampler._random.random()) < self.sampler._finish_bias:
            text = shortest_completion(self.matcher, limit=self.texts.longest)
            token = self.texts.longest_token(text) if text else self.matcher.stop_token_ids[0]
            if token is not None:
                return token
        logits = self.sampler.random_logits(self.document.text[-1:])
        grammask.apply_token_bitmask_inplace(logits, self.sampler._mask)
        return int(numpy.argmax(logits))

    def _affordable(self, token: int) -> bool:
        """Whether the text can still be completed in time after `token`. Looks closely, and renews
        the checkpoint, only when cheap bounds do not decide."""
        left = self.sampler._max_tokens - len(self.document.tokens) - 2  # the token, and the stop
        after = self.matcher.shortest_completion_after(token)
        if after is None:
            raise AssertionError(f"token {token} is in the mask but refused")
        if after <= left:  # at most one token per byte
            return True
        if len(self.plan) + max(0, after - self.plan_bytes) + 8 <= left:  # likely: see _follow_plan
            return True
        fork = self.matcher.fork()
        fork.accept_token(token)
        plan = plan_tokens(self.texts, shortest_completion(fork))
        if len(plan) > left:
            return False
        self._keep_plan(plan)
        self.plan_at += 1
        return True

    def _accept(self, token: int, forced: bool) -> None:
        document = self.document
        if len(document.text) >= self.jump_end:
            jump = len(self.matcher.find_jump_forward_string().encode())
            document.jump_bytes += jump
            self.jump_end = len(document.text) + jump
        if not self.matcher.accept_token(token):
            raise AssertionError(f"token {token} is in the mask but refused")
        document.tokens.append(token)
        document.forced.append(forced)
        document.text += self.texts.texts[token]

    def _follow_plan(self) -> None:
        """Ends the text: by the shortest completion from here, or back from the checkpoint."""
        document = self.document
        plan = plan_tokens(self.texts, shortest_completion(self.matcher))
        if len(document.tokens) + len(plan) + 1 > self.sampler._max_tokens:
            plan = self.plan
            self.matcher.rollback(len(document.tokens) - self.plan_at)
            del document.tokens[self.plan_at :]
            del document.forced[self.plan_at :]
            document.text = b"".join(self.texts.texts[token] for token in document.tokens)
        document.steered_from = len(document.tokens)
        self.jump_end = 0
        for token in plan:
            self._accept(token, self._fill() == 1)
