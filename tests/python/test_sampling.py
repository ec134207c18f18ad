"""masked_argmax, masked_sample and merge_argmax: against the plain sequence in NumPy."""

import os
import subprocess
import sys
import textwrap

import numpy
import pytest

import grammask
from grammask import _core, masked_argmax, masked_sample, merge_argmax

INF = float("inf")


def pack(allowed):
    """Bools (rows, tokens) to a bitmask."""
    rows, columns = allowed.shape
    padded = numpy.zeros((rows, -(-columns // 32) * 32), bool)
    padded[:, :columns] = allowed
    return numpy.packbits(padded, axis=1, bitorder="little").view(numpy.int32)


def random_case(seed, rows=5, columns=300, share=0.3):
    generator = numpy.random.default_rng(seed)
    allowed = generator.random((rows, columns)) < share
    return (2 * generator.standard_normal((rows, columns))).astype(numpy.float32), allowed


def plain_argmax(logits, allowed):
    possible = allowed & ~numpy.isnan(logits)
    masked = numpy.where(possible, logits, -INF)
    return numpy.where(possible.any(1), masked.argmax(1), -1)


def plain_probabilities(logits, allowed, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0):
    """One row's distribution: apply, temperature, top-k, softmax, top-p, min-p, softmax."""
    x = numpy.where(allowed, logits.astype(float), -INF) / temperature
    if top_k:
        x[x < numpy.sort(x)[-top_k]] = -INF
    p = numpy.exp(x - x.max())
    p /= p.sum()
    order = numpy.argsort(-p, kind="stable")
    count = int((numpy.cumsum(p[order]) < top_p).sum()) + 1
    if count < len(p):
        p[p < p[order[count - 1]]] = 0
    p[p < min_p * p.max()] = 0
    return p / p.sum()


def philox(counter, key):
    """Philox4x32-10, from its paper."""
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (b >> 32) ^ counter[1] ^ key[0],
            b & 0xFFFFFFFF,
            (a >> 32) ^ counter[3] ^ key[1],
            a & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def plain_uniform(seed, offset, row):
    words = philox(
        [offset & 0xFFFFFFFF, offset >> 32, row, 0], [seed & 0xFFFFFFFF, seed >> 32]
    )
    return ((words[0] >> 5) * 2**26 + (words[1] >> 6)) / 2**53


# --- argmax ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("indices", [None, [3, 0, 3], (1,), numpy.array([2, 4]), []])
@pytest.mark.parametrize("vocab_size", [None, 0, 1, 100])
def test_argmax(dtype, indices, vocab_size):
    logits, allowed = random_case(1)
    logits = logits.astype(dtype)
    logits[1, ::3] = numpy.nan
    allowed[4] = False
    before = logits.copy()
    tokens, values = masked_argmax(
        logits, pack(allowed), vocab_size=vocab_size, indices=indices, return_values=True
    )
    rows = list(range(5)) if indices is None else list(indices)
    columns = 300 if vocab_size is None else vocab_size
    expected = (
        plain_argmax(logits[rows, :columns], allowed[rows, :columns])
        if columns
        else numpy.full(len(rows), -1)
    )
    assert tokens.dtype == numpy.int64 and values.dtype == numpy.float32
    assert tokens.tolist() == expected.tolist()
    for row, token, value in zip(rows, tokens, values):
        assert value == (numpy.float32(logits[row, token]) if token >= 0 else -INF)
    numpy.testing.assert_array_equal(logits, before)
    only = masked_argmax(logits, pack(allowed), vocab_size=vocab_size, indices=indices)
    assert only.tolist() == tokens.tolist()


def test_argmax_of_ties_and_infinities():
    logits = numpy.array([[1, 7, 7, -INF], [-INF] * 4, [numpy.nan] * 4], numpy.float32)
    mask = numpy.array([[0b1110], [0b1100], [0b1111]], numpy.int32)
    tokens, values = masked_argmax(logits, mask, return_values=True)
    assert tokens.tolist() == [1, 2, -1] and values.tolist() == [7, -INF, -INF]


@pytest.mark.parametrize("cuts", [(0, 300), (0, 100, 300), (0, 31, 33, 64, 257, 300, 340)])
@pytest.mark.parametrize("torch_arrays", [False, True])
def test_argmax_of_shards(cuts, torch_arrays):
    logits, allowed = random_case(2, rows=20, share=0.02)
    logits = numpy.round(logits)  # ties across shards
    logits = numpy.pad(logits, ((0, 0), (0, 40)))  # past the vocabulary, as padded shards have it
    mask = pack(allowed)
    expected = plain_argmax(logits[:, :300], allowed)
    whole = logits.copy()
    if torch_arrays:
        torch = pytest.importorskip("torch")
        logits, mask = torch.from_numpy(logits), torch.from_numpy(mask)
    parts = [
        masked_argmax(logits[:, a:b], mask, vocab_offset=a, return_values=True)
        for a, b in zip(cuts, cuts[1:])
    ]
    stack = sys.modules["torch"].stack if torch_arrays else numpy.stack
    merged = merge_argmax(stack([v for _, v in parts]), stack([t for t, _ in parts]))
    assert type(merged) is type(logits)
    assert merged.tolist() == expected.tolist()
    numpy.testing.assert_array_equal(logits, whole)


def test_merge_argmax():
    values = numpy.array([[-INF, 1, 2, -INF], [-INF, 1, 3, -INF]], numpy.float32)
    tokens = numpy.array([[-1, 9, 0, -1], [17, 12, 40, -1]])
    assert merge_argmax(values, tokens).tolist() == [17, 9, 40, -1]
    for bad in ((values[0], tokens[0]), (values, tokens[:1]), (values[:0], tokens[:0])):
        with pytest.raises(ValueError, match="shard"):
            merge_argmax(*bad)


# Two processes, each with half of the vocabulary, as under tensor parallelism.
GLOO = """
import sys
import numpy, torch, torch.distributed as dist
import grammask

rank, port = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
generator = numpy.random.default_rng(5)
logits = torch.from_numpy(numpy.round(generator.standard_normal((16, 1003)) * 3)).bfloat16()
bits = generator.integers(-(2**31), 2**31, (16, 32)).astype(numpy.int32)
bits[3] = 0
mask = torch.from_numpy(bits)
start, stop = [(0, 517), (517, 1003)][rank]
shard = logits[:, start:stop].clone()
tokens, values = grammask.masked_argmax(shard, mask, vocab_offset=start, return_values=True)
all_values = [torch.empty_like(values) for _ in range(2)]
all_tokens = [torch.empty_like(tokens) for _ in range(2)]
dist.all_gather(all_values, values)
dist.all_gather(all_tokens, tokens)
merged = grammask.merge_argmax(torch.stack(all_values), torch.stack(all_tokens))

whole = logits.clone()
grammask.apply_token_bitmask_inplace(whole, mask)
expected = whole.float().argmax(1)
expected[3] = -1
assert merged.tolist() == expected.tolist(), (merged, expected)
grammask.apply_token_bitmask_inplace(shard, mask, vocab_offset=start)
assert torch.equal(shard, whole[:, start:stop])
dist.barrier()
dist.destroy_process_group()
print("merged")
"""


def test_two_processes_merge_over_gloo(tmp_path):
    torch = pytest.importorskip("torch")
    if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
        pytest.skip("torch has no gloo")
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = tmp_path / "rank.py"
    script.write_text(textwrap.dedent(GLOO))
    package = os.path.dirname(os.path.dirname(grammask.__file__))
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        for rank in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=120)[0] for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert [process.returncode for process in ranks] == [0, 0], "\n".join(outputs)
    assert all("merged" in output for output in outputs)


# --- sampling -------------------------------------------------------------------------------------

PARAMETERS = [
    {},
    {"temperature": 0.5},
    {"temperature": 3.0, "top_k": 7},
    {"top_p": 0.8},
    {"min_p": 0.2},
    {"top_k": 20, "top_p": 0.7},
    {"temperature": 1.5, "top_k": 30, "top_p": 0.9, "min_p": 0.05},
    {"top_k": 1},
    {"temperature": 0.0},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_each_draw_is_the_inverse_of_the_distribution(parameters):
    logits, allowed = random_case(3, rows=1)
    mask = pack(allowed)
    draws = 500
    tokens = masked_sample(
        numpy.repeat(logits, draws, 0),
        numpy.repeat(mask, draws, 0),
        seed=7,
        offset=2**33 + 1,
        **parameters,
    )
    if parameters.get("temperature") == 0 or parameters.get("top_k") == 1:
        assert set(tokens.tolist()) == set(plain_argmax(logits, allowed).tolist())
        return
    p = plain_probabilities(logits[0], allowed[0], **parameters)
    ends = numpy.cumsum(p)
    for row, token in enumerate(tokens):
        u = plain_uniform(7, 2**33 + 1, row)
        assert p[token] > 0
        assert ends[token] - p[token] - 1e-5 < u < ends[token] + 1e-5


# The 1 - 1e-6 quantile of chi-square with n degrees of freedom (Wilson and Hilferty): seeds are
# fixed, so this fails on a change of the distribution and not by chance.
def chi_square_bound(n):
    return n * (1 - 2 / (9 * n) + 4.75 * (2 / (9 * n)) ** 0.5) ** 3


@pytest.mark.parametrize("parameters", PARAMETERS[:-2], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_chi_square(parameters, dtype):
    logits, allowed = random_case(4, rows=1, columns=90)
    logits = logits.astype(dtype)
    draws, rounds = 2000, 30
    counts = numpy.zeros(90)
    many, masks = numpy.repeat(logits, draws, 0), numpy.repeat(pack(allowed), draws, 0)
    for step in range(rounds):
        tokens = masked_sample(many, masks, seed=11, offset=step, **parameters)
        counts += numpy.bincount(tokens, minlength=90)
    expected = plain_probabilities(logits[0], allowed[0], **parameters) * draws * rounds
    kept = expected > 0
    assert not counts[~kept].any()
    rare = kept & (expected < 5)
    observed = numpy.append(counts[kept & ~rare], counts[rare].sum())
    wanted = numpy.append(expected[kept & ~rare], expected[rare].sum())
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    statistic = ((observed - wanted) ** 2 / wanted).sum()
    assert len(wanted) > 2
    assert statistic < chi_square_bound(len(wanted) - 1)
    # It would notice a temperature that is off by half.
    other = dict(parameters, temperature=1.5 * parameters.get("temperature", 1.0))
    wrong = plain_probabilities(logits[0], allowed[0], **other) * draws * rounds
    wrong = numpy.append(wrong[kept & ~rare], wrong[rare].sum())
    wrong = numpy.maximum(wrong[: len(observed)], 1e-9)
    assert ((observed - wrong) ** 2 / wrong).sum() > chi_square_bound(len(wanted) - 1)


def test_uniforms():
    seeds, offsets, rows = [0, 1, 2**64 - 1], [5, 0, 2**63], [0, 70000, 3]
    got = _core.sampling_uniforms(seeds, offsets, rows)
    assert got.tolist() == [plain_uniform(*c) for c in zip(seeds, offsets, rows)]


def test_rows_have_parameters_of_their_own():
    logits, allowed = random_case(6)
    mask = pack(allowed)
    each = {
        "seed": [1, 2, 3, 4, 5],
        "offset": numpy.arange(5),
        "temperature": [0.0, 1.0, 0.5, 2.0, 1.0],
        "top_k": (0, 3, 0, 10, 1),
        "top_p": numpy.array([1.0, 1.0, 0.5, 0.9, 1.0]),
        "min_p": [0.0, 0.0, 0.0, 0.1, 0.0],
    }
    together = masked_sample(logits, mask, **each)
    for row in range(5):
        one = {name: values[row] for name, values in each.items()}
        assert masked_sample(logits, mask, indices=[row], **one).tolist() == [together[row]]
    backwards = {name: list(values)[::-1] for name, values in each.items()}
    order = [4, 3, 2, 1, 0]
    assert masked_sample(logits, mask, indices=order, **backwards).tolist() == [*together[::-1]]
    assert masked_sample(logits, mask, indices=[], seed=[]).tolist() == []


def test_a_draw_depends_on_seed_offset_and_row_only():
    logits, allowed = random_case(7, rows=1, columns=5000, share=1)
    many, masks = numpy.repeat(logits, 64, 0), numpy.repeat(pack(allowed), 64, 0)
    first = masked_sample(many, masks, seed=1)
    assert (first == masked_sample(many, masks, seed=1)).all()
    assert len(set(first.tolist())) > 30
    assert (first != masked_sample(many, masks, seed=2)).any()
    assert (first != masked_sample(many, masks, seed=1, offset=1)).any()
    assert first[9] == masked_sample(many, masks, seed=1, indices=[9])[0]


def test_nothing_to_draw():
    logits = numpy.array([[1, 2, 3], [-INF, -INF, 5], [numpy.nan, 1, INF]], numpy.float32)
    mask = numpy.array([[0], [0b011], [0b111]], numpy.int32)
    assert masked_sample(logits, mask, seed=0).tolist() == [-1, -1, 2]
    assert masked_sample(logits, mask, seed=0, temperature=0).tolist() == [-1, 0, 2]
    assert masked_sample(logits, mask, seed=0, vocab_size=0).tolist() == [-1, -1, -1]
    assert masked_sample(logits[0], mask[2], seed=0, top_k=1).tolist() == [2]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_torch_operations_agree_with_the_kernel(dtype, parameters):
    torch = pytest.importorskip("torch")
    from grammask import sampling

    values, allowed = random_case(8, rows=40, columns=2000, share=0.5)
    allowed[3] = False
    values[5, ::2] = numpy.nan
    values[6, 7] = INF
    logits = torch.from_numpy(values).to(getattr(torch, dtype))
    mask = torch.from_numpy(pack(allowed))
    assert masked_argmax(logits, mask).tolist() == plain_argmax(
        logits.double().numpy(), allowed
    ).tolist()
    for indices in (None, [4, 39, 4]):
        tokens = masked_sample(logits, mask, seed=3, offset=4, indices=indices, **parameters)
        assert tokens.dtype == torch.int64
        whole = {"seed": 3, "offset": 4, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
        other = sampling._sample_torch(logits, mask, None, indices, {**whole, **parameters})
        assert (tokens != other).sum() <= 1  # u may fall between two roundings of a sum
        best, value = masked_argmax(logits, mask, indices=indices, return_values=True)
        best2, value2 = sampling._argmax_torch(logits, mask, None, 0, indices)
        assert torch.equal(best, best2) and torch.equal(value, value2)


def test_every_instruction_set_draws_the_same(tmp_path):
    script = tmp_path / "draw.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy, grammask
            generator = numpy.random.default_rng(1)
            logits = generator.standard_normal((8, 5003)).astype(numpy.float32)
            mask = generator.integers(-(2**31), 2**31, (8, 157)).astype(numpy.int32)
            for p in ({}, {"top_p": 0.9}, {"top_k": 40, "temperature": 0.7}, {"min_p": 0.01}):
                print(grammask.masked_sample(logits, mask, seed=5, **p).tolist())
            grammask.apply_token_bitmask_inplace(logits, mask)
            print(hash(logits.tobytes()))
            """
        )
    )
    package = os.path.dirname(os.path.dirname(grammask.__file__))

    def draw(isa):
        environment = {
            **os.environ,
            "PYTHONPATH": package,
            "PYTHONHASHSEED": "0",
            "GRAMMASK_CPU_ISA": isa,
        }
        return subprocess.run(
            [sys.executable, str(script)], env=environment, capture_output=True, text=True
        )

    outputs = {isa: draw(isa) for isa in ("", "scalar", "avx2", "avx512", "neon", "sse9")}
    assert "must be scalar, avx2, avx512 or neon" in outputs["sse9"].stderr
    assert outputs[""].returncode == 0 and outputs["scalar"].returncode == 0
    for isa, output in outputs.items():
        if output.returncode == 0:
            assert output.stdout == outputs[""].stdout, isa
        else:
            assert "GrammaskError: GRAMMASK_CPU_ISA is" in output.stderr, isa
    assert _core.cpu_isa() in outputs


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "seed is 18446744073709551616"),
        ({"seed": [1, -2]}, "seed is -2"),
        ({"seed": [1, 2, 3]}, "seed has 3 entries for 2 rows"),
        ({"offset": -1}, "offset is -1"),
        ({"temperature": -0.5}, "temperature is -0.5"),
        ({"temperature": [1.0, float("nan")]}, "temperature of row 1 is nan"),
        ({"temperature": INF}, "temperature is inf"),
        ({"top_k": -1}, "top_k is -1"),
        ({"top_p": 0.0}, "top_p is 0"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"min_p": -0.1}, "min_p is -0.1"),
        ({"min_p": 1.1}, "min_p is 1.1"),
        ({"vocab_size": 6}, "vocab_size is 6"),
        ({"indices": [2]}, "indices"),
        ({"indices": [-1]}, "indices"),
        ({"logits": numpy.zeros((2, 5), numpy.int32)}, "float32"),
        ({"bitmask": numpy.zeros((2, 1), numpy.int64)}, "int32"),
        ({"bitmask": numpy.zeros((3, 1), numpy.int32)}, "rows"),
    ],
)
def test_refusals(change, message):
    arguments = {
        "logits": numpy.zeros((2, 5), numpy.float32),
        "bitmask": numpy.zeros((2, 1), numpy.int32),
        "seed": 1,
        **change,
    }
    with pytest.raises(grammask.GrammaskError, match=message):
        masked_sample(arguments.pop("logits"), arguments.pop("bitmask"), **arguments)
    if not {"vocab_size", "indices", "logits", "bitmask"} & set(change):
        with pytest.raises(grammask.GrammaskError, match=message):
            _core.sampling_parameters(2, **{"seed": 1, **change})


def test_refusals_of_types():
    logits, mask = numpy.zeros((1, 5), numpy.float32), numpy.zeros((1, 1), numpy.int32)
    for change in ({"seed": 1.5}, {"seed": "1"}, {"temperature": "hot"}, {"top_k": 2.0}):
        with pytest.raises(TypeError, match=next(iter(change))):
            masked_sample(logits, mask, **{"seed": 1, **change})
    with pytest.raises(TypeError):
        masked_sample(logits, mask)
    with pytest.raises(grammask.GrammaskError, match="vocab_offset is -1"):
        masked_argmax(logits, mask, vocab_offset=-1)


def test_read_only_logits_and_strides():
    base = numpy.zeros((4, 12), numpy.float32)
    base[::2, 3:8] = [[1, 9, 2, 8, 3], [5, 4, 3, 2, 1]]
    base.flags.writeable = False
    mask = numpy.array([[0b11101], [-1], [0b11110], [-1]], numpy.int32)
    assert masked_argmax(base[::2, 3:8], mask[::2]).tolist() == [3, 1]
    assert masked_sample(base[::2, 3:8], mask[::2], seed=0, top_k=1).tolist() == [3, 1]
