#!/usr/bin/env python3
"""Writes cpp/grammar/unicode_tables.cc: character properties and case folding for regexes.

Usage:  pip install regex==2026.5.9 unicodedata2==17.0.0
        python3 scripts/make_unicode_tables.py cpp/grammar/unicode_tables.cc

Everything written is a fact of the Unicode Character Database, version 17.0.0. The package `regex`
carries most of it (general categories, scripts, script extensions, binary properties, simple case
folding); `unicodedata2` gives the normal forms that Changes_When_NFKC_Casefolded needs.
`tests/data/regex/check_unicode_tables.mjs` compares the result with the ICU inside Node.js.
"""

import sys

import regex
import regex._regex as data
import unicodedata2

UNICODE_VERSION = "17.0.0"
SURROGATES = range(0xD800, 0xE000)
SCALARS = [c for c in range(0x110000) if c not in SURROGATES]
IGNORE_CASE = regex.IGNORECASE | regex.UNICODE
FULL_CASE = IGNORE_CASE | regex.FULLCASE

# Long name and aliases of ECMA-262's binary properties (table 69), in the spelling of the standard.
BINARY = """
ASCII_Hex_Digit AHex, Alphabetic Alpha, Bidi_Control Bidi_C, Bidi_Mirrored Bidi_M,
Case_Ignorable CI, Cased, Changes_When_Casefolded CWCF, Changes_When_Casemapped CWCM,
Changes_When_Lowercased CWL, Changes_When_Titlecased CWT, Changes_When_Uppercased CWU, Dash,
Default_Ignorable_Code_Point DI, Deprecated Dep, Diacritic Dia, Emoji, Emoji_Component EComp,
Emoji_Modifier EMod, Emoji_Modifier_Base EBase, Emoji_Presentation EPres,
Extended_Pictographic ExtPict, Extender Ext, Grapheme_Base Gr_Base, Grapheme_Extend Gr_Ext,
Hex_Digit Hex, IDS_Binary_Operator IDSB, IDS_Trinary_Operator IDST, ID_Continue IDC, ID_Start IDS,
Ideographic Ideo, Join_Control Join_C, Logical_Order_Exception LOE, Lowercase Lower, Math,
Noncharacter_Code_Point NChar, Pattern_Syntax Pat_Syn, Pattern_White_Space Pat_WS,
Quotation_Mark QMark, Radical, Regional_Indicator RI, Sentence_Terminal STerm, Soft_Dotted SD,
Terminal_Punctuation Term, Unified_Ideograph UIdeo, Uppercase Upper, Variation_Selector VS,
White_Space space, XID_Continue XIDC, XID_Start XIDS
"""


def loose(name):
    """The key that a name is found under: case, `_`, `-` and spaces do not count (UAX 44, LM3)."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def ranges_of(members):
    """Sorted code points -> [(lo, hi)], both included."""
    ranges = []
    for c in members:
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    return [tuple(r) for r in ranges]


def members_of(property_id, value_id):
    key = property_id << 16 | value_id
    return [c for c in SCALARS if data.has_property_value(key, c)]


class Tables:
    """Distinct lists of ranges, one after another."""

    def __init__(self):
        self.ranges = []
        self.slices = []
        self.index = {}

    def add(self, members):
        ranges = tuple(ranges_of(members))
        if ranges not in self.index:
            self.index[ranges] = len(self.slices)
            self.slices.append((len(self.ranges), len(ranges)))
            self.ranges.extend(ranges)
        return self.index[ranges]


def categories(tables):
    names = {}
    property_id, values = data.get_properties()["GC"]
    skip = {"ASSIGNED"}
    for name, value in values.items():
        if name in skip or name.endswith("&"):
            continue
        names[loose(name)] = tables.add(members_of(property_id, value))
    return names


def changes_when_nfkc_casefolded():
    ignorable = set(members_of(data.get_properties()["DEFAULTIGNORABLECODEPOINT"][0], 1))

    def fold(text):
        while True:
            step = data.fold_case(FULL_CASE, text)
            # `regex` leaves I and its dotted sister alone, for Turkic; here entries C and F count.
            step = step.replace("I", "i").replace("\u0130", "i\u0307")
            step = "".join(c for c in step if ord(c) not in ignorable)
            step = unicodedata2.normalize("NFKC", step)
            if step == text:
                return text
            text = step

    return [c for c in SCALARS if fold(chr(c)) != chr(c)]


def binaries(tables):
    properties = data.get_properties()
    names = {}
    for entry in BINARY.replace("\n", " ").split(","):
        aliases = entry.split()
        index = tables.add(members_of(properties[loose(aliases[0]).upper()][0], 1))
        for alias in aliases:
            names[loose(alias)] = index
    unassigned = set(members_of(properties["GC"][0], 0))
    names["assigned"] = tables.add([c for c in SCALARS if c not in unassigned])
    names["any"] = tables.add(SCALARS)
    names["ascii"] = tables.add(range(0x80))
    nfkc = tables.add(changes_when_nfkc_casefolded())
    names[loose("Changes_When_NFKC_Casefolded")] = names["cwkcf"] = nfkc
    return names


def scripts(tables):
    properties = data.get_properties()
    script, values = properties["SC"]
    extensions, extension_values = properties["SCX"]
    # Where a character has several scripts its value names a set of them, which `regex` tests by
    # membership.
    names = {}
    for name, value in values.items():
        names[loose(name)] = (tables.add(members_of(script, value)),
                              tables.add(members_of(extensions, extension_values[name])))
    return names


def simple_fold(c):
    """The simple case folding of a code point: entries C and S of CaseFolding.txt, not T."""
    folded = data.fold_case(IGNORE_CASE, chr(c))
    if c in (0x130, 0x131) or len(folded) != 1:
        return c
    return ord(folded)


def fold_ranges():
    """[(lo, hi, stride, delta)]: lo, lo + stride, ... hi fold to themselves + delta."""
    out = []
    for c in SCALARS:
        delta = ord("i") - c if c == ord("I") else simple_fold(c) - c
        if delta == 0:
            continue
        if out:
            lo, hi, stride, last_delta = out[-1]
            gap = c - hi
            if last_delta == delta and gap <= 2 and (stride == gap or lo == hi):
                out[-1] = (lo, c, gap, delta)
                continue
        out.append((c, c, 1, delta))
    return out


def wrap(items):
    lines, line = [], " "
    for item in items:
        if len(line) + 1 + len(item) > 100:
            lines.append(line)
            line = " "
        line += " " + item
    return "\n".join(lines + [line])


def name_table(kind, table, rows):
    body = wrap(rows)
    return f"constexpr {kind} {table}[] = {{\n{body}\n}};\n"


def main():
    assert unicodedata2.unidata_version == UNICODE_VERSION
    tables = Tables()
    gc, binary, script = categories(tables), binaries(tables), scripts(tables)
    folds = fold_ranges()
    out = []
    out.append(name_table("CodePointRange", "kRanges",
                          [f"{{{lo},{hi}}}," for lo, hi in tables.ranges]))
    out.append(name_table("Slice", "kSlices", [f"{{{b},{n}}}," for b, n in tables.slices]))
    for name, table in (("kCategories", gc), ("kBinaries", binary)):
        rows = [f'{{"{k}",{v}}},' for k, v in sorted(table.items())]
        out.append(name_table("Name", name, rows))
    out.append(name_table("ScriptName", "kScripts",
                          [f'{{"{k}",{a},{b}}},' for k, (a, b) in sorted(script.items())]))
    out.append(name_table("FoldRange", "kFolds",
                          [f"{{{lo},{hi},{stride},{delta}}}," for lo, hi, stride, delta in folds]))
    with open(sys.argv[1], "w", encoding="ascii") as f:
        f.write(HEAD + "\n".join(out) + TAIL)


HEAD = f"""\
// Unicode properties and case folding, as tables. Generated by scripts/make_unicode_tables.py
// from Unicode {UNICODE_VERSION}; do not edit.
//
// A property is a slice of one array of ranges, found by binary search on its loose name: the name
// `White_Space` is looked up as `whitespace` and gives the slice {{9,13}} {{32,32}} and so on.
// Folding is a list of runs (lo, hi, stride, delta): `A`..`Z` is one of stride 1 and delta 32. Cost
// of a look-up: the binary search, and a copy of the ranges.
// Source: Unicode Character Database (UAX 44), CaseFolding.txt entries C and S. The data is under
// the Unicode License V3, Copyright (c) 1991-2025 Unicode, Inc.: 3rdparty/unicode/LICENSE.
// Tests: tests/grammar/regex_unicode_test.cc.
#include "grammar/unicode_tables.h"

#include <algorithm>
#include <span>
#include <vector>

namespace grammask::internal {{
namespace {{

struct Slice {{
  uint32_t begin, count;
}};
struct Name {{
  std::string_view key;
  uint16_t slice;
}};
struct ScriptName {{
  std::string_view key;
  uint16_t script, extensions;
}};
struct FoldRange {{
  uint32_t lo, hi, stride;
  int32_t delta;
}};

// clang-format off
"""

TAIL = """// clang-format on

CodePointSet SetOf(uint16_t slice) {
  auto first = kRanges + kSlices[slice].begin;
  return CodePointSet(std::span(first, kSlices[slice].count));
}

template <class Row>
const Row* Find(std::span<const Row> rows, std::string_view key) {
  auto row = std::lower_bound(rows.begin(), rows.end(), key,
                              [](const Row& r, std::string_view k) { return r.key < k; });
  return row != rows.end() && row->key == key ? &*row : nullptr;
}

// Case, `_`, `-` and spaces do not count.
std::string LooseKey(std::string_view name) {
  std::string key;
  for (char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    key += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  return key;
}

// The members of `range` that lie on the run, moved by `delta`.
void AppendMoved(CodePointRange range, uint32_t lo, uint32_t hi, uint32_t stride, int32_t delta,
                 CodePointRanges* out) {
  uint32_t first = std::max(range.lo, lo), last = std::min(range.hi, hi);
  if (first > last) return;
  first += (first - lo) % stride;  // stride is 1 or 2
  if (first > last) return;
  if (stride == 1) {
    out->push_back({first + delta, last + delta});
    return;
  }
  for (uint32_t c = first; c <= last; c += stride) out->push_back({c + delta, c + delta});
}

}  // namespace

std::optional<CodePointSet> UnicodeCategory(std::string_view value) {
  const Name* row = Find(std::span<const Name>(kCategories), LooseKey(value));
  return row == nullptr ? std::nullopt : std::optional(SetOf(row->slice));
}

std::optional<CodePointSet> UnicodeBinaryProperty(std::string_view name) {
  const Name* row = Find(std::span<const Name>(kBinaries), LooseKey(name));
  return row == nullptr ? std::nullopt : std::optional(SetOf(row->slice));
}

std::optional<CodePointSet> UnicodeScript(std::string_view value, bool extensions) {
  const ScriptName* row = Find(std::span<const ScriptName>(kScripts), LooseKey(value));
  if (row == nullptr) return std::nullopt;
  return SetOf(extensions ? row->extensions : row->script);
}

CodePointSet CloseUnderCaseFolding(const CodePointSet& set) {
  // Two characters match when their foldings are equal, so first add the foldings of all members,
  // then all that folds to any of these.
  auto all = set.ranges();
  CodePointRanges ranges(all.begin(), all.end());
  auto for_each_overlap = [](const CodePointSet& s, uint32_t lo, uint32_t hi, auto&& f) {
    auto rs = s.ranges();
    auto it = std::lower_bound(rs.begin(), rs.end(), lo,
                               [](CodePointRange r, uint32_t c) { return r.hi < c; });
    for (; it != rs.end() && it->lo <= hi; ++it) f(*it);
  };
  for (const FoldRange& run : kFolds) {
    for_each_overlap(set, run.lo, run.hi, [&](CodePointRange r) {
      AppendMoved(r, run.lo, run.hi, run.stride, run.delta, &ranges);
    });
  }
  CodePointSet folded(ranges);
  for (const FoldRange& run : kFolds) {
    for_each_overlap(folded, run.lo + run.delta, run.hi + run.delta, [&](CodePointRange r) {
      AppendMoved(r, run.lo + run.delta, run.hi + run.delta, run.stride, -run.delta, &ranges);
    });
  }
  return CodePointSet(std::move(ranges));
}

}  // namespace grammask::internal
"""

if __name__ == "__main__":
    main()
