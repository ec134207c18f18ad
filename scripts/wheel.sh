#!/usr/bin/env bash
# Builds a wheel that carries its shared libraries and runs without libabsl-dev:
#
#   bash scripts/wheel.sh
#
# Its path is printed at the end. The wheel is then tried in an empty virtual environment.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

# shellcheck disable=SC2086
need_packages $packages_to_build
use_venv
say "building the wheel (with GCC the library twice: the second time with a profile)"
build_wheel

say "trying it in an empty environment"
rm -rf "$build/wheel/venv"
python3 -m venv "$build/wheel/venv"
"$build/wheel/venv/bin/pip" install -q "$wheel"
cd "$build/wheel"  # away from the source tree
"$build/wheel/venv/bin/python" - <<'PYTHON'
import sys

import grammask as g

heavy = {"torch", "transformers"} & set(sys.modules)
assert not heavy, f"import grammask loaded {heavy}"
tokenizer = g.TokenizerInfo(["a", "b", "ab", "</s>"], stop_token_ids=[3])
matcher = g.GrammarMatcher(g.GrammarCompiler(tokenizer).compile_grammar('root ::= "ab"'))
mask = g.allocate_token_bitmask(1, tokenizer.vocab_size)
matcher.fill_next_token_bitmask(mask)
assert int(mask[0, 0]) & 0xF == 0b0101, mask

with open("/proc/self/maps") as maps:
    outside = sorted({line.split()[-1] for line in maps
                      if "absl" in line and "grammask.libs" not in line})
assert not outside, f"libraries from outside the wheel: {outside}"
print("imports, compiles and fills a mask; no library from outside the wheel")
PYTHON
printf '%s\n' "$wheel"
