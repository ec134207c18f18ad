#!/usr/bin/env bash
# Formatting and static checks of the C++ files that changed since a commit:
#
#   bash scripts/lint.sh [commit]        what changed since `commit`, uncommitted changes included
#   bash scripts/lint.sh --all           all files
#   bash scripts/lint.sh --fix [...]     formats instead of complaining
#
# Without a commit it is the one before the last, or all files where there is none. clang-format and
# clang-tidy come from PyPI, pinned, so that everyone gets the same answer. clang-tidy takes the
# flags of each file from build/lint, a build that is configured and not made.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
cd "$root"

fix=no
base=
for argument in "$@"; do
  case $argument in
    --fix) fix=yes ;;
    *) base=$argument ;;
  esac
done
if [ -z "$base" ]; then
  base=$(git rev-parse -q --verify HEAD~1 || echo --all)
fi

if [ "$base" = --all ]; then
  listing=$(git ls-files --cached --others --exclude-standard)
else
  listing=$(git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard)
fi
mapfile -t files < <(printf '%s\n' "$listing" | sort -u | grep -E '\.(h|cc|cu|cuh)$' |
  grep -Ev '^3rdparty/|(unicode|idna)_tables\.cc$' || true)
if [ ${#files[@]} = 0 ]; then
  echo "lint: no C++ file changed"
  exit 0
fi

tools=$build/lint-tools
if ! "$tools/bin/clang-tidy" --version >/dev/null 2>&1; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install -q clang-format==18.1.8 clang-tidy==18.1.8
fi

if [ $fix = yes ]; then
  "$tools/bin/clang-format" -i "${files[@]}"
  echo "lint: formatted ${#files[@]} files"
  exit 0
fi

status=0
say "clang-format on ${#files[@]} files"
"$tools/bin/clang-format" --dry-run --Werror "${files[@]}" || {
  echo "lint: to mend the formatting, run: bash scripts/lint.sh --fix" >&2
  status=1
}

# Headers are checked where they are included. A file that is not part of the build has no flags.
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '^cpp/.*\.cc$' |
  grep -v '^cpp/python/' || true)
if [ ${#sources[@]} -gt 0 ]; then
  say "clang-tidy on ${#sources[@]} files"
  cmake -S "$root" -B "$build/lint" -G Ninja >"$build/lint.configure.log" ||
    { cat "$build/lint.configure.log"; exit 1; }
  printf '%s\n' "${sources[@]}" |
    xargs -P "$jobs" -n 1 "$tools/bin/clang-tidy" --quiet --warnings-as-errors='*' \
      -p "$build/lint" 2>"$build/clang-tidy.log" || status=1
  grep -v -E 'warnings (generated|treated)|^Suppressed|^Use -' "$build/clang-tidy.log" >&2 || true
fi
[ $status = 0 ] && echo "lint: clean"
exit $status
