"""The grammars of examples/grammars: their samples are taken, and what is no such text is refused."""

import os

import pytest

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "grammars")

SAMPLES = {"c_subset": "c", "sql_select": "sql", "python_expr": "py"}

GOOD = {
    "c_subset": [
        "int x;",
        "int main(void) { return 0; }",
        "static const unsigned char *names[4] = {0, \"a\" \"b\", 'c',};",
        "struct point { int x, *y; }; struct point p;",
        "void f(int a, char *b[3]) { if (a < 1) b++; else if (a) { --a; } else f(a, b); }",
        "int g(void) { for (int i = 0; i < 9; ++i) { continue; } do { x >>= 1; } while (x ? 1 : 0x1F); }",
        "int h(void) { return (int)*p->next.value[2](1, 2)++ + sizeof(struct point) - sizeof x; }",
        "int /* a comment */ x = 1.5e-3f; // and another\n",
    ],
    "sql_select": [
        "SELECT 1",
        "select distinct a, b.* from t where a is not null and b not like '%x''y' order by a desc limit 5;",
        "SELECT COUNT(*) FROM a LEFT JOIN b USING (id) GROUP BY x HAVING COUNT(*) > 1.5e3",
        "WITH t AS (SELECT 1) SELECT * FROM t UNION ALL SELECT (SELECT MAX(x) FROM u)",
        "SELECT CASE x WHEN 1 THEN 'a' ELSE 'b' END FROM t WHERE x BETWEEN 1 AND 2 AND NOT y IN (1, 2)",
        "SELECT CAST(\"a b\" AS decimal(10, 2)) FROM t",
    ],
    "python_expr": [
        "x",
        "1_000 + 0x_fF * -2 ** ~y // 3.5e-3j",
        "a if b else lambda x, *y, z=1, **k: (x, *y)",
        "[x for x in range(3) if x % 2 if x]",
        "{1: 2, **d}",
        "f(*a, **b)[1:2, ::3].c(x=1)(y for y in z)",
        "not a is not b not in c <= d",
        "rb'\\'' \"text\"",
        "(yield), ()",
        "(n := 3) == n,",
    ],
}

BAD = {
    "c_subset": [
        "int;",
        "int x",
        "int main() { return 0 }",
        "void f(void) { x = ; }",
        "void f(void) { if x return; }",
        "int f(int a,) { }",
        "char *s = \"a\nb\";",
        "int x = 'ab';",
        "x = 1;",
        "int x; /* no end",
    ],
    "sql_select": [
        "SELECT",
        "SELECT a FROM (",
        "SELECT a,",
        "SELECT a FROM t WHERE = 1",
        "UPDATE t SET a = 1",
        "SELECT a FROM t ORDER a",
        "SELECT 'a",
        "SELECT a FROM (SELECT b",
        "SELECT a IN () FROM t",
        "SELECT 1; SELECT 2",
    ],
    "python_expr": [
        "",
        "x +",
        "x = 1",
        "(x",
        "[x for in y]",
        "lambda: ",
        "f(x",
        "{1: 2, 3}",
        "1__0",
        "a if b",
        "'a",
        "x\ny",
        "not <",
        "a ** ",
    ],
}


@pytest.fixture(scope="module")
def grammars(tokenizer_info):
    import grammask

    compiler = grammask.GrammarCompiler(tokenizer_info)
    compiled = {}
    for name in SAMPLES:
        with open(os.path.join(FOLDER, name + ".ebnf"), encoding="utf-8") as f:
            compiled[name] = compiler.compile_grammar(f.read())
    return compiled


def accepts(compiled, text):
    import grammask

    matcher = grammask.GrammarMatcher(compiled)
    return (not text or matcher.accept_string(text)) and matcher.is_completed()


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_taken(grammars, name):
    with open(os.path.join(FOLDER, f"{name}.sample.{SAMPLES[name]}"), encoding="utf-8") as f:
        sample = f.read().rstrip("\n")
    assert accepts(grammars[name], sample)
    assert not accepts(grammars[name], sample[:-1] + "\x00")


@pytest.mark.parametrize("name, text", [(name, text) for name, texts in GOOD.items() for text in texts])
def test_good_texts(grammars, name, text):
    assert accepts(grammars[name], text)


@pytest.mark.parametrize("name, text", [(name, text) for name, texts in BAD.items() for text in texts])
def test_bad_texts(grammars, name, text):
    assert not accepts(grammars[name], text)


@pytest.mark.parametrize("name", SAMPLES)
def test_masks_along_the_sample_allow_it(grammars, name, tokenizer_info):
    """Byte by byte: the mask allows each byte of the sample, and is what trying each token says."""
    import grammask
    import numpy

    from conftest import allowed_ids, ids_by_trial

    with open(os.path.join(FOLDER, f"{name}.sample.{SAMPLES[name]}"), encoding="utf-8") as f:
        sample = f.read().rstrip("\n").encode()
    matcher = grammask.GrammarMatcher(grammars[name])
    mask = grammask.allocate_token_bitmask(1, tokenizer_info.vocab_size)
    for i, byte in enumerate(sample):
        if i % 100 == 0:
            assert allowed_ids(matcher, tokenizer_info.vocab_size) == ids_by_trial(
                matcher, tokenizer_info.vocab_size)
        matcher.fill_next_token_bitmask(mask)
        row = numpy.asarray(mask)[0]
        assert int(row[byte >> 5]) >> (byte & 31) & 1
        assert matcher.accept_token(byte)
