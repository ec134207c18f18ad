"""scripts/check_layers.py: what it must refuse and what it must allow."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"


def run(root):
    return subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)


def write(root, path, text=""):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def tree(tmp_path):
    """A small repository in which everything is allowed."""
    write(tmp_path, "README.md")
    write(tmp_path, ".clang-format")
    write(tmp_path, "cpp/CMakeLists.txt")
    write(tmp_path, "cpp/base/utf8.h", "#include <string>\n#include \"grammask/status.h\"\n")
    write(tmp_path, "cpp/vocab/vocab.cc",
          '#include "vocab/vocab.h"\n#include <nlohmann/json.hpp>\n#include "base/utf8.h"\n')
    write(tmp_path, "cpp/automaton/build.cc",
          '#include "absl/container/flat_hash_map.h"\n#include "grammar/ast.h"\n')
    write(tmp_path, "cpp/matcher/api.cc",
          '#include "grammask/grammask.h"\n#include "mask/fill.h"\n#include "kernels/apply_cpu.h"\n')
    write(tmp_path, "cpp/kernels/apply_cpu.cc", '#include "base/check.h"\n#include <immintrin.h>\n')
    write(tmp_path, "cpp/python/bind.cc",
          '#include <pybind11/pybind11.h>\n#include <Python.h>\n#include "grammask/grammask.h"\n')
    write(tmp_path, "include/grammask/grammask.h",
          '#include <span>\n#include "grammask/status.h"\n')
    write(tmp_path, "tests/oracle/recognizer.cc", '#include "oracle/recognizer.h"\n')
    return tmp_path


def test_this_repository_passes():
    result = run(SCRIPT.parent.parent)
    assert result.returncode == 0, result.stdout + result.stderr


def test_allowed_tree_passes(tree):
    result = run(tree)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("path, line, part", [
    ("cpp/base/a.cc", '#include "vocab/vocab.h"', 'stage base may not include "vocab/vocab.h"'),
    ("cpp/vocab/a.cc", '#include "grammar/ast.h"', "stage vocab may not include"),
    ("cpp/grammar/sub/a.h", '#include "automaton/build.h"', "stage grammar may not include"),
    ("cpp/parser/a.cc", '#include "mask/fill.h"', "it may include automaton, base"),
    ("cpp/mask/a.cc", '#  include "matcher/compiler.h"', "stage mask may not include"),
    ("cpp/kernels/a.cc", '#include "absl/base/config.h"', "stage kernels may not use absl"),
    ("cpp/kernels/a.cc", '#include "vocab/vocab.h"', "stage kernels may not include"),
    ("cpp/mask/a.cc", "#include <nlohmann/json.hpp>", "stage mask may not use nlohmann"),
    ("cpp/matcher/a.cc", "#include <pybind11/pybind11.h>", "may not use pybind11"),
    ("cpp/grammar/a.cc", '#include "oracle/recognizer.h"', "for tests only"),
    ("cpp/grammar/a.cc", "#include <re2/re2.h>", "for tests only"),
    ("cpp/grammar/a.cc", '#include "../base/utf8.h"', "relative path"),
    ("cpp/grammar/a.cc", '#include "ast.h"', "begins with no stage"),
    ("cpp/mask/a.cc", '#include "grammask/grammask.h"', "of the public headers it may use"),
    ("cpp/mask/a.cc", "#include <boost/regex.hpp>", "belongs to no library"),
    ("include/grammask/a.h", '#include "base/utf8.h"', "a public header includes"),
    ("include/grammask/a.h", "#include <absl/strings/str_cat.h>", "a public header includes"),
])
def test_refused_include(tree, path, line, part):
    write(tree, path, "// comment\n" + line + "\n")
    result = run(tree)
    assert result.returncode == 1
    assert result.stdout.startswith(path + ":2: "), result.stdout
    assert part in result.stdout
    assert len(result.stdout.splitlines()) == 1


@pytest.mark.parametrize("path, part", [
    ("notes.txt", "not allowed at the top level"),
    ("cmake/helpers.cmake", "not allowed at the top level"),
    ("cpp/misc/a.cc", "cpp/misc is no stage"),
    ("cpp/a.cc", "cpp/a.cc is no stage"),
])
def test_refused_place(tree, path, part):
    write(tree, path)
    result = run(tree)
    assert result.returncode == 1
    assert part in result.stdout


def test_wrong_root_is_an_error(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 1
    assert "has no folder cpp" in result.stderr
