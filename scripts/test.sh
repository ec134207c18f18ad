#!/usr/bin/env bash
# Builds everything and runs all tests:
#
#   bash scripts/test.sh [--werror] [--tsan]
#
# --tsan adds the tests that share state between threads, built with ThreadSanitizer, which finds
# races that no other test can: some ten minutes more.
#
# Installs the system packages it needs where it may, and says which where it may not. Builds go to
# build/. torch and transformers are never installed: tests that need them run where they are
# there, and the summary at the end says what was skipped and why. Exits 1 when anything failed.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

export werror=OFF  # scripts/wheel.sh reads it too
tsan=OFF
for argument in "$@"; do
  case $argument in
    --werror) werror=ON ;;
    --tsan) tsan=ON ;;
    *) die "unknown argument $argument; usage: bash scripts/test.sh [--werror] [--tsan]" ;;
  esac
done

results=()
failed=0
# step <name> <command>...: runs the command, notes how it ended, and goes on.
step() {
  local name=$1 began=$SECONDS
  shift
  say "$name"
  # In a subshell of its own, so that -e holds inside; `if` would switch it off.
  set +e
  (set -e; "$@")
  local status=$?
  set -e
  if [ $status = 0 ]; then
    results+=("passed  $name ($((SECONDS - began)) s)")
  else
    results+=("FAILED  $name ($((SECONDS - began)) s)")
    failed=1
  fi
}

configure() {  # configure <folder> <arguments>...
  local folder=$1
  shift
  cmake -S "$root" -B "$build/$folder" -G Ninja -DGRAMMASK_TESTS=ON -DGRAMMASK_UNITY=ON \
    -DGRAMMASK_WERROR="$werror" "$@" \
    >"$build/$folder.configure.log" || { cat "$build/$folder.configure.log"; return 1; }
}

release_tests() {
  configure test -DCMAKE_BUILD_TYPE=Release
  CCACHE_BASEDIR=$build/test cmake --build "$build/test" -j "$jobs"
  ctest --test-dir "$build/test" -j "$jobs" --output-on-failure --no-tests=error
}

# Abseil 20230125 and newer lay their hash tables out another way under AddressSanitizer, so that
# the distribution's library does not fit code built with it.
sanitizers() {
  local version
  version=$(sed -n 's/^#define ABSL_LTS_RELEASE_VERSION \([0-9]*\).*/\1/p' \
    /usr/include/absl/base/config.h 2>/dev/null || true)
  if [ "${version:-0}" -gt 20230000 ]; then
    echo undefined
  else
    echo address,undefined
  fi
}

sanitizer_tests() {
  configure sanitize -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
    -DGRAMMASK_SANITIZE="$(sanitizers)"
  cmake --build "$build/sanitize" -j "$jobs"
  ctest --test-dir "$build/sanitize" -j "$jobs" -L sanitize --output-on-failure --no-tests=error
}

thread_tests() {
  local tests=(base_block_reserve_test base_fork_safe_test base_huge_pages_test base_scratch_test
    base_tables_test base_thread_pool_test kernels_parallel_test mask_mask_test
    mask_slice_test matcher_batch_test matcher_budget_test matcher_compiler_test
    matcher_history_test matcher_overrun_test matcher_threads_test)
  configure tsan -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DGRAMMASK_CUDA=OFF \
    -DGRAMMASK_SANITIZE=thread
  cmake --build "$build/tsan" -j "$jobs" --target "${tests[@]}"
  ctest --test-dir "$build/tsan" -j "$jobs" -R "^($(IFS='|' && echo "${tests[*]}"))\$" \
    --output-on-failure --no-tests=error
}

python_tests() {
  wheel=$(ls "$build"/wheel/repaired/grammask-*.whl)
  "$python" -m pip install -q --force-reinstall --no-deps "$wheel"
  "$python" -m pip install -q "${wheel}[test]"
  # From another folder, so that the installed package is tested and not the sources.
  cd "$build"
  "$python" -m pytest -q -rs -p no:cacheprovider -c "$root/pyproject.toml" --rootdir "$root" \
    "$root/tests/python" "$root/tests/scripts" | tee "$build/pytest.log"
}

# shellcheck disable=SC2086
need_packages $packages_to_test
if [ "$(uname -m)" = x86_64 ] && may_be_root && command -v apt-get >/dev/null; then
  # shellcheck disable=SC2086
  need_packages $packages_to_cross
fi
use_ccache
mkdir -p "$build"
use_venv

step "layers and top-level files" python3 "$root/scripts/check_layers.py"
step "C++ tests, release" release_tests
step "C++ tests, sanitizers ($(sanitizers))" sanitizer_tests
if [ $tsan = ON ]; then
  step "C++ tests, threads (ThreadSanitizer)" thread_tests
fi
step "wheel, tried in an empty environment" bash "$root/scripts/wheel.sh"
step "Python tests against the installed wheel" python_tests

say "summary"
printf '%s\n' "${results[@]}"
if [ -f "$build/pytest.log" ]; then
  echo
  grep -E '^SKIPPED' "$build/pytest.log" || echo "no Python test was skipped"
  tail -n 1 "$build/pytest.log"
fi
if [ "$(sanitizers)" = undefined ]; then
  echo "skipped: AddressSanitizer, because this Abseil is not built for it"
fi
if [ $failed = 0 ]; then
  echo "all tests passed"
else
  echo "some tests failed"
fi
exit $failed
