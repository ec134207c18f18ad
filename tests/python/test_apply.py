"""apply_token_bitmask_inplace: against a plain loop, over all kinds of arrays."""

import warnings

import numpy
import pytest

import grammask
from grammask import apply_token_bitmask_inplace as apply

INF = float("-inf")


def reference(logits, mask, columns, rows):
    result = logits.copy()
    for row in rows:
        for column in range(columns):
            if not int(mask[row, column >> 5]) >> (column & 31) & 1:
                result[row, column] = INF
    return result


def random_case(seed, rows=4, columns=77):
    generator = numpy.random.default_rng(seed)
    words = -(-columns // 32)
    mask = generator.integers(-(2**31), 2**31, size=(rows, words), dtype=numpy.int64)
    return generator.standard_normal((rows, columns)), mask.astype(numpy.int32)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("indices", [None, [2], [3, 0], (1,), numpy.array([1, 2]), []])
@pytest.mark.parametrize("vocab_size", [None, 0, 1, 33, 77])
def test_numpy(dtype, indices, vocab_size):
    logits, mask = random_case(1)
    logits = logits.astype(dtype)
    rows = range(4) if indices is None else indices
    expected = reference(logits, mask, 77 if vocab_size is None else vocab_size, rows)
    assert apply(logits, mask, vocab_size=vocab_size, indices=indices) is None
    numpy.testing.assert_array_equal(logits, expected)


@pytest.mark.parametrize("backend", ["auto", "cpu", "torch_native", "torch_compile"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("indices", [None, [2], [3, 0], "tensor", "tensor64", []])
@pytest.mark.parametrize("vocab_size", [None, 33])
def test_torch(backend, dtype, indices, vocab_size):
    torch = pytest.importorskip("torch")
    values, mask = random_case(2)
    logits = torch.from_numpy(values).to(getattr(torch, dtype))
    rows = range(4) if indices is None else indices
    if isinstance(indices, str):
        rows = [3, 1]
        indices = torch.tensor(rows, dtype=torch.int32 if indices == "tensor" else torch.int64)
    expected = reference(logits.double().numpy(), mask, vocab_size or 77, rows)
    apply(logits, torch.from_numpy(mask), vocab_size=vocab_size, indices=indices, backend=backend)
    numpy.testing.assert_array_equal(logits.double().numpy(), expected)


@pytest.mark.parametrize("backend", ["auto", "torch_native"])
@pytest.mark.parametrize("start, stop", [(0, 77), (1, 40), (31, 33), (32, 77), (45, 77), (70, 70)])
@pytest.mark.parametrize("indices", [None, [2, 0]])
def test_shards(backend, start, stop, indices):
    values, mask = random_case(5)
    whole = reference(values, mask, 77, range(4) if indices is None else indices)
    if backend == "auto":
        shard = values[:, start:stop].copy()
        apply(shard, mask, vocab_offset=start, indices=indices)
    else:
        torch = pytest.importorskip("torch")
        shard = torch.from_numpy(values)[:, start:stop].clone()
        apply(shard, torch.from_numpy(mask), vocab_offset=start, indices=indices, backend=backend)
        shard = shard.numpy()
    numpy.testing.assert_array_equal(shard, whole[:, start:stop])


def test_a_shard_past_the_mask_keeps_its_values():
    logits, mask = numpy.zeros((1, 40), numpy.float32), numpy.zeros((1, 1), numpy.int32)
    with pytest.warns(UserWarning, match="from token 20 on; columns from 12 on"):
        apply(logits, mask, vocab_offset=20)
    assert (logits[0, :12] == INF).all() and (logits[0, 12:] == 0).all()
    with pytest.warns(UserWarning, match="columns from 0 on"):
        apply(logits[:, 12:], mask, vocab_offset=1000)
    assert (logits[0, 12:] == 0).all()


def test_torch_and_numpy_mix():
    torch = pytest.importorskip("torch")
    logits, mask = torch.zeros(1, 5), numpy.array([[0b101]], dtype=numpy.int32)
    apply(logits, mask)
    assert logits.tolist() == [[0, INF, 0, INF, INF]]


def test_one_dimension():
    mask = numpy.array([[0b101], [0b010]], dtype=numpy.int32)
    logits = numpy.zeros(5, dtype=numpy.float32)
    apply(logits, mask[0])
    assert logits.tolist() == [0, INF, 0, INF, INF]
    apply(numpy.zeros((1, 5), dtype=numpy.float32), mask[0])
    apply(numpy.zeros(5, dtype=numpy.float32), mask[:1])
    with pytest.raises(RuntimeError):
        apply(numpy.zeros(5, dtype=numpy.float32), mask)


def test_strided_rows():
    base = numpy.zeros((4, 12), dtype=numpy.float32)
    mask = numpy.array([[0b101], [7], [0b010], [7]], dtype=numpy.int32)
    apply(base[::2, 3:8], mask[::2])
    assert base[0].tolist() == [0, 0, 0, 0, INF, 0, INF, INF, 0, 0, 0, 0]
    assert base[2].tolist() == [0, 0, 0, INF, 0, INF, INF, INF, 0, 0, 0, 0]
    assert not base[1].any() and not base[3].any()


def test_short_mask_warns_and_leaves_the_rest():
    logits, mask = numpy.zeros((1, 40), dtype=numpy.float32), numpy.zeros((1, 1), numpy.int32)
    with pytest.warns(UserWarning, match="covers 32 tokens"):
        apply(logits, mask)
    assert (logits[0, :32] == INF).all() and (logits[0, 32:] == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apply(logits, mask, vocab_size=32)
        apply(numpy.zeros((1, 20), dtype=numpy.float32), mask)


@pytest.mark.parametrize(
    "change",
    [
        {"logits": numpy.zeros((3, 5), numpy.float32)},
        {"vocab_size": 6},
        {"vocab_size": -1},
        {"vocab_offset": -1},
        {"vocab_offset": 28, "vocab_size": 5},
        {"indices": [2]},
        {"indices": [0, -1]},
        {"backend": "x"},
        {"backend": "triton"},
        {"logits": numpy.zeros((2, 5), numpy.int32)},
        {"bitmask": numpy.zeros((2, 1), numpy.int64)},
        {"logits": numpy.zeros((5, 2), numpy.float32).T},
        {"logits": numpy.zeros((1, 2, 5), numpy.float32)},
    ],
)
def test_refusals_write_nothing(change):
    arguments = {
        "logits": numpy.zeros((2, 5), numpy.float32),
        "bitmask": numpy.zeros((2, 1), numpy.int32),
        **change,
    }
    logits, mask = arguments.pop("logits"), arguments.pop("bitmask")
    with pytest.raises(ValueError) as caught:
        apply(logits, mask, **arguments)
    assert isinstance(caught.value, RuntimeError)
    assert not logits.any()


def test_read_only_logits():
    logits = numpy.zeros((1, 5), numpy.float32)
    logits.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        apply(logits, numpy.zeros((1, 1), numpy.int32))


def test_lists_are_no_logits():
    with pytest.raises((TypeError, AttributeError)):
        apply([1.0], numpy.zeros((1, 1), numpy.int32))


@pytest.mark.parametrize("backend", ["torch_native", "cuda", "triton"])
def test_torch_backend_refusals(backend):
    torch = pytest.importorskip("torch")
    logits, mask = torch.zeros(2, 5), torch.zeros(2, 1, dtype=torch.int32)
    for arguments in ({"vocab_size": 6}, {"indices": [2]}, {"vocab_offset": -1}):
        with pytest.raises(ValueError):
            apply(logits, mask, backend=backend, **arguments)
    with pytest.raises(ValueError):
        apply(logits, mask.long(), backend=backend)
    assert not logits.any()


def test_cuda():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    values, mask = random_case(3)
    for indices in (None, [1, 3], torch.tensor([2], dtype=torch.int32, device="cuda")):
        logits = torch.from_numpy(values).float().cuda()
        rows = range(4) if indices is None else [int(i) for i in indices]
        expected = reference(values.astype(numpy.float32), mask, 77, rows)
        apply(logits, torch.from_numpy(mask).cuda(), indices=indices)
        numpy.testing.assert_array_equal(logits.cpu().numpy(), expected)
        with pytest.raises(ValueError, match="same device"):
            apply(logits, torch.from_numpy(mask))


def test_masks_of_a_matcher(matcher_of, tokens):
    matcher = matcher_of("root ::= [0-9]+")
    mask = grammask.allocate_token_bitmask(1, len(tokens))
    matcher.fill_next_token_bitmask(mask)
    logits = numpy.zeros((1, len(tokens)), dtype=numpy.float32)
    apply(logits, mask)
    finite = numpy.flatnonzero(numpy.isfinite(logits[0])).tolist()
    assert finite == [*range(ord("0"), ord("9") + 1), tokens.index(b"12")]
