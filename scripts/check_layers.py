#!/usr/bin/env python3
"""Refuses includes and files that the architecture does not allow.

    python3 scripts/check_layers.py [repository root]

Prints one line for each fault, "path:line: what, and what would be right", and exits 1 when there
are any. The rules are the tables below: which stage may include which, which libraries a stage may
use, and what may lie at the top level. cpp/README.md explains the stages.
"""

import re
import subprocess
import sys
from pathlib import Path

# Stage -> the stages whose headers it may include, besides its own.
STAGES = {
    "base": set(),
    "vocab": {"base"},
    "grammar": {"base"},
    "automaton": {"base", "grammar"},
    "parser": {"base", "automaton"},
    "mask": {"base", "vocab", "automaton", "parser"},
    "kernels": {"base"},
    "matcher": {"base", "vocab", "grammar", "automaton", "parser", "mask", "kernels"},
    "python": {"base", "vocab", "grammar", "automaton", "parser", "mask", "kernels", "matcher"},
}

# First part of a library's include path -> the stages that may use it.
LIBRARIES = {
    "absl": set(STAGES) - {"kernels"},
    "nlohmann": {"vocab", "grammar", "matcher"},
    "pybind11": {"python"},
}

# Public headers that are no more than vocabulary types; every stage may include them. The rest of
# the public interface is what `matcher` implements and `python` binds.
SHARED_PUBLIC_HEADERS = {"grammask/device.cuh", "grammask/limits.h", "grammask/schema_warning.h",
                         "grammask/status.h", "grammask/vocab_type.h"}
PUBLIC_INTERFACE_STAGES = {"matcher", "python"}

# Headers of the C library and of Python that come without a folder or a C++ name.
C_HEADERS = {"Python.h"}

TOP_LEVEL = {
    "CMakeLists.txt", "cpp", "include", "python", "tests", "bench", "3rdparty", "docs", "examples",
    "scripts", "README.md", "pyproject.toml", "LICENSE",
}
CPP_TOP_LEVEL = set(STAGES) | {"CMakeLists.txt", "README.md", "grammaskConfig.cmake.in"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cc", ".cu", ".cuh", ".inc"}


def repository_files(root):
    """Paths, relative to `root`, of all files that git tracks or would track."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True)
    if listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
        return sorted(Path(name) for name in names if name and (root / name).is_file())
    ignored = {"build", "dist", ".git"}
    return sorted(path.relative_to(root) for path in root.rglob("*")
                  if path.is_file() and not ignored & set(path.relative_to(root).parts))


def includes(path):
    """(line number, quote or angle, included path) for each include of a file."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def fault_of_public_include(bracket, target):
    if target.startswith("grammask/"):
        return None
    if bracket == "<" and "/" not in target and not target.endswith(".h"):
        return None  # the standard library
    return (f'a public header includes "{target}"; only the C++ standard library and '
            '"grammask/..." may be included there')


def fault_of_stage_include(stage, bracket, target):
    head = target.split("/")[0]
    if ".." in target.split("/"):
        return f'"{target}" is a relative path; write it from cpp/ on, as in "base/utf8.h"'
    if head in ("oracle", "tests", "exhaustive", "fuzz", "gtest", "benchmark", "re2"):
        return f'"{target}" is for tests only; the library must not include it'
    if head == "grammask":
        if target in SHARED_PUBLIC_HEADERS or stage in PUBLIC_INTERFACE_STAGES:
            return None
        return (f'stage {stage} may not include "{target}"; of the public headers it may use '
                + ", ".join(sorted(SHARED_PUBLIC_HEADERS)))
    if head in STAGES and "/" in target:
        if head == stage or head in STAGES[stage]:
            return None
        allowed = ", ".join(sorted(STAGES[stage])) or "no other stage"
        return f'stage {stage} may not include "{target}"; it may include {allowed}'
    if head in LIBRARIES:
        if stage in LIBRARIES[head]:
            return None
        return (f'stage {stage} may not use {head} ("{target}"); '
                f'{", ".join(sorted(LIBRARIES[head]))} may')
    if bracket == '"':
        return f'"{target}" begins with no stage; write the path from cpp/ on, as in "base/utf8.h"'
    if "/" in target and not target.startswith("sys/"):
        return f"<{target}> belongs to no library in the table of scripts/check_layers.py"
    return None


def check(root):
    """All faults of the repository at `root`, as lines to show."""
    faults = []
    files = repository_files(root)
    for top in sorted({path.parts[0] for path in files}):
        if top not in TOP_LEVEL and not top.startswith("."):
            faults.append(f"{top}:1: not allowed at the top level, which holds "
                          + " ".join(sorted(TOP_LEVEL)) + " and dot files")
    for path in files:
        parts = path.parts
        if parts[0] == "cpp" and len(parts) > 1 and parts[1] not in CPP_TOP_LEVEL:
            faults.append(f"{path}:1: cpp/{parts[1]} is no stage; cpp/ holds "
                          + " ".join(sorted(CPP_TOP_LEVEL)))
            continue
        if path.suffix not in SOURCES:
            continue
        if parts[0] == "cpp" and len(parts) > 2:
            for number, bracket, target in includes(root / path):
                if bracket == "<" and target in C_HEADERS:
                    continue
                fault = fault_of_stage_include(parts[1], bracket, target)
                if fault:
                    faults.append(f"{path}:{number}: {fault}")
        elif parts[0] == "include":
            for number, bracket, target in includes(root / path):
                fault = fault_of_public_include(bracket, target)
                if fault:
                    faults.append(f"{path}:{number}: {fault}")
        elif parts[0] == "cpp":
            faults.append(f"{path}:1: sources belong into a stage's folder, cpp/<stage>/")
    return faults


def main():
    if len(sys.argv) > 2:
        sys.exit("usage: check_layers.py [repository root]")
    root = Path(sys.argv[1]) if len(sys.argv) == 2 else Path(__file__).resolve().parent.parent
    if not (root / "cpp").is_dir():
        sys.exit(f"check_layers.py: {root} has no folder cpp; name the root of the repository")
    faults = check(root)
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"check_layers.py: {len(faults)} fault(s)")
    print("check_layers.py: every include and top-level file is allowed")


if __name__ == "__main__":
    main()
