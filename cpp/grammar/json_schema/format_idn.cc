// Format `idn-hostname`, and the domains of `idn-email`: names with U-labels (RFC 5890).
//
// Whether a label is one depends on the label as a whole: on its length as an A-label, its normal
// form, its direction. So a label is one of a few shapes, each of which keeps all rules of IDNA
// 2008 by what it is made of; what fits in none of them is left out. Labels from left to right:
//
//   plain      letters and digits, and at most one hyphen          실례, faß, тест-1
//   in ASCII   with one or two characters beyond ASCII             münchen-großhadern
//   marked     up to four times one or two letters and a mark      हिन्दी, and joiners:
//   क्‍ष ruled      a character that a rule ties to its neighbours      l·l, α͵β,
//   ・ァ
//
// and from right to left: letters with numbers of one kind, marked ones, two that join around a
// zero-width non-joiner, and Hebrew ones with a geresh. Beside these only labels of ASCII may stand
// that begin with a letter (RFC 5893).
//
// Normal form C: no alphabet below has both characters of a pair that composes, and no two marks
// follow each other. Length: a label has at most k characters beyond ASCII among at most n, for
// pairs (k, n) that Punycode never writes with more than 63; they are the worst cases of its
// encoder, found by dynamic programming over digits, bias, and code points passed. (An intersection
// of one automaton for each rule says the same with less left out, but has far too many states.)
//
// Cost: two hundred nodes, over classes of up to 1,200 ranges. Sources: RFC 5890 to 5893, RFC 3492
// (Punycode); idna_tables.h. Tested by tests/grammar/formats_test.cc.
#include <cstdint>
#include <vector>

#include "base/utf8.h"
#include "grammar/json_schema/format_writer.h"
#include "grammar/json_schema/idna_tables.h"
#include "grammar/unicode_tables.h"

namespace grammask::internal {
namespace {

// Characters of a label that may all be beyond ASCII: of any, of those below kLow. One more hyphen
// fits in.
constexpr int kMaxPlain = 13, kMaxLow = 19;
constexpr uint32_t kLow = 0x600;
// Two characters beyond ASCII go with 46 others: three parts of up to fourteen, and hyphens
// between.
constexpr int kAsciiPart = 14;
// With three labels of 63, three of these fit in 253.
constexpr int kShortLabel = 19, kShortLabels = 3;
constexpr uint8_t kVirama = 9;  // a canonical combining class

CodePointSet Ranges(CodePointRanges ranges) { return CodePointSet(std::move(ranges)); }

CodePointSet Script(const char* name) { return *UnicodeScript(name, false); }

// What labels are made of.
struct Alphabet {
  CodePointSet ascii = FormatWriter::Set("a-z0-9");
  CodePointSet digits = IdnaBidi(BidiClass::kEuropeanNumber);
  CodePointSet arabic = IdnaBidi(BidiClass::kArabicNumber);
  CodePointSet right = IdnaBidi(BidiClass::kRightToLeft);
  CodePointSet not_first = *UnicodeCategory("M");
  CodePointSet letters;         // of no combining class, not governed by a rule
  CodePointSet marks, virama;   // of a combining class
  CodePointSet firsts, lasts;   // of pairs of letters that compose
  CodePointSet bases, strokes;  // of a letter and a mark

  Alphabet() {
    CodePointRanges all, viramas;
    for (const CombiningRange& r : IdnaCombining()) {
      all.push_back({r.lo, r.hi});
      if (r.combining_class == kVirama) viramas.push_back({r.lo, r.hi});
    }
    marks = Ranges(std::move(all));
    virama = Ranges(std::move(viramas));
    CodePointSet ruled{{'-', '-'},     {0xB7, 0xB7},     {0x375, 0x375},
                       {0x5F3, 0x5F4}, {0x200C, 0x200D}, {0x30FB, 0x30FB}};
    letters = IdnaPermitted().Minus(marks.Union(ruled));
    CodePointRanges pairs[4];
    for (const Composition& c : IdnaCompositions()) {
      bool mark = marks.Has(c.second);
      pairs[mark ? 2 : 0].push_back({c.first, c.first});
      pairs[mark ? 3 : 1].push_back({c.second, c.second});
    }
    firsts = Ranges(std::move(pairs[0]));
    lasts = Ranges(std::move(pairs[1]));
    bases = Ranges(std::move(pairs[2]));
    strokes = Ranges(std::move(pairs[3]));
  }
};

class NameWriter {
 public:
  NameWriter(FormatWriter& w, bool normal) : w_(w), normal_(normal) {
    dot_ = w.In(CodePointSet{{'.', '.'}, {0x3002, 0x3002}, {0xFF0E, 0xFF0E}, {0xFF61, 0xFF61}});
  }

  NodeId Name(bool bounded) {
    NodeId ascii = AsciiLabel(FormatWriter::Set("a-zA-Z0-9"), kMaxLabel);
    NodeId in_ascii = Dotted(ascii, kUnbounded);
    if (bounded) {
      CodePointSet dots{{0x3002, 0x3002}, {0xFF0E, 0xFF0E}, {0xFF61, 0xFF61}};
      NodeId any = w_.In(FormatWriter::Set("a-zA-Z0-9.-").Union(dots));
      in_ascii = w_.b().And({in_ascii, w_.Rep(any, 1, kMaxName)});
    }
    NodeId first = w_.Seq({AsciiLabel(FormatWriter::Set("a-zA-Z0-9"), kShortLabel), dot_});
    NodeId to_right = Dotted(w_.Or({ascii, ToRight()}), 2);
    NodeId to_left =
        Dotted(w_.Or({AsciiLabel(FormatWriter::Set("a-zA-Z"), kMaxLabel), ToLeft()}), 2);
    return w_.Or({in_ascii, w_.Seq({w_.Rep(first, 0, kShortLabels), to_right}), to_left});
  }

 private:
  NodeId Dotted(NodeId label, int64_t max_more) {
    return w_.Seq({label, w_.Rep(w_.Seq({dot_, label}), 0, max_more)});
  }

  // Letters, digits and inner hyphens, these not in both third and fourth place.
  NodeId AsciiLabel(const CodePointSet& first, int size) {
    NodeId a = w_.In("a-zA-Z0-9"), x = w_.In("a-zA-Z0-9-"), dash = w_.Text("-");
    NodeId more = w_.Rep(x, 0, size - 5);
    NodeId third_and_more = w_.Or(
        {w_.Seq({a, x, more, a}), w_.Seq({a, a}), w_.Seq({dash, a, more, a}), w_.Seq({dash, a})});
    return w_.Seq({w_.In(first), w_.Opt(w_.Or({a, w_.Seq({x, a}), w_.Seq({x, third_and_more})}))});
  }

  // 1 to `size` of a set, and perhaps a hyphen.
  NodeId Plain(const CodePointSet& set, int size) {
    NodeId first = w_.In(set.Minus(a_.not_first)), x = w_.In(set);
    NodeId left = w_.Seq({first, w_.Rep(x, 0, size / 2 - 1)});
    NodeId right = w_.Seq({w_.Text("-"), first, w_.Rep(x, 0, size - size / 2 - 1)});
    return w_.Or({w_.Seq({first, w_.Rep(x, 0, size - 1)}), w_.Seq({left, right})});
  }

  // Once or twice one of `set`, and perhaps a mark (and a joiner after a virama).
  NodeId Marked(const CodePointSet& set, const CodePointSet& marks) {
    NodeId x = w_.In(set), mark = w_.Opt(w_.In(marks));
    NodeId joined = w_.Opt(
        w_.Or({w_.In(marks), w_.Seq({w_.In(a_.virama), w_.In(CodePointSet{{0x200C, 0x200D}})})}));
    auto label = [&](NodeId last, int times) {
      // The first letter is none that may only follow one.
      NodeId begin = w_.Seq({w_.In(set.Minus(a_.not_first)), w_.Opt(x), last});
      return w_.Seq({begin, w_.Rep(w_.Seq({w_.Rep(x, 1, 2), last}), 0, times - 1), w_.Opt(x)});
    };
    return w_.Or({label(mark, 4), label(joined, 3)});
  }

  // Over all letters of a set that do not compose with each other or with the marks.
  void AddMarked(const CodePointSet& set, std::vector<NodeId>* labels) {
    if (!normal_) {
      labels->push_back(Marked(set, a_.marks));
      return;
    }
    for (const CodePointSet& left_out : {a_.lasts, a_.firsts}) {
      CodePointSet single = set.Minus(left_out);
      labels->push_back(Marked(single, a_.marks.Minus(a_.strokes)));
      labels->push_back(Marked(single.Minus(a_.bases), a_.marks));
    }
  }

  NodeId ToRight() {
    CodePointSet letters = a_.letters.Minus(a_.right.Union(a_.arabic));
    CodePointSet beyond = letters.Minus(a_.ascii).Minus(a_.lasts);
    CodePointSet low = letters.Minus(a_.lasts).Intersect(CodePointSet{{0, kLow - 1}});
    std::vector<NodeId> labels = {Plain(letters.Minus(a_.lasts), kMaxPlain), Plain(low, kMaxLow)};
    labels.push_back(Plain(letters.Minus(a_.firsts), kMaxPlain));
    AddMarked(letters, &labels);

    NodeId dash = w_.Opt(w_.Text("-")), ascii = w_.In(a_.ascii);
    NodeId part =
        w_.Or({w_.Rep(ascii, 0, kAsciiPart), w_.Rep(w_.Seq({dash, ascii}), 0, kAsciiPart / 2),
               w_.Seq({w_.Rep(ascii, 0, kAsciiPart / 2), w_.Text("-"),
                       w_.Rep(ascii, 1, kAsciiPart / 2 - 1)})});
    NodeId once = w_.Seq({w_.In(beyond.Minus(a_.not_first)), part});
    labels.push_back(
        w_.Seq({w_.Opt(w_.Seq({ascii, part, dash})), once, w_.Opt(w_.Seq({dash, once}))}));

    NodeId some = w_.Rep(w_.In(low), 0, 8), first = w_.In(low.Minus(a_.not_first));
    NodeId before = w_.Opt(w_.Seq({first, some}));
    labels.push_back(w_.Seq({before, w_.Text("l\u00B7l"), some}));
    labels.push_back(
        w_.Seq({before, w_.Text("\u0375"), w_.In(low.Intersect(Script("Greek"))), some}));
    CodePointSet japanese = Script("Hiragana").Union(Script("Katakana")).Union(Script("Han"));
    NodeId kana = w_.In(letters.Intersect(japanese)), middle = w_.Text("\u30FB");
    labels.push_back(w_.Seq({w_.Rep(kana, 1, 6), middle, w_.Rep(kana, 0, 6)}));
    labels.push_back(w_.Seq({middle, w_.Rep(kana, 1, 6)}));
    return w_.b().Choice(labels);
  }

  NodeId ToLeft() {
    CodePointSet letters = a_.right.Intersect(a_.letters).Minus(a_.lasts);
    NodeId first = w_.In(letters.Minus(a_.not_first)), x = w_.In(letters);
    std::vector<NodeId> labels;
    for (const CodePointSet& numbers : {a_.digits, a_.arabic}) {
      NodeId letter_or_number = w_.In(letters.Union(numbers.Intersect(a_.letters)));
      labels.push_back(w_.Seq({first, w_.Rep(letter_or_number, 0, kMaxPlain - 1)}));
    }
    // Marks of these scripts are nonspacing ones, which may end a label.
    a_.marks = a_.marks.Intersect(IdnaBidi(BidiClass::kNonspacing));
    a_.virama = a_.virama.Intersect(a_.marks);
    AddMarked(letters, &labels);
    NodeId before = w_.In(letters.Intersect(IdnaJoining(JoiningType::kBefore)));
    NodeId after = w_.In(letters.Intersect(IdnaJoining(JoiningType::kAfter)));
    labels.push_back(w_.Seq({w_.Opt(w_.Seq({first, w_.Rep(x, 0, 4)})), before, w_.Text("\u200C"),
                             after, w_.Rep(x, 0, 5)}));
    NodeId hebrew = w_.In(letters.Intersect(Script("Hebrew")));
    labels.push_back(
        w_.Seq({w_.Rep(hebrew, 1, 6), w_.In(CodePointSet{{0x5F3, 0x5F4}}), w_.Rep(hebrew, 0, 6)}));
    return w_.b().Choice(labels);
  }

  FormatWriter& w_;
  bool normal_;
  Alphabet a_;
  NodeId dot_;
};

}  // namespace

NodeId WriteIdnHostname(FormatWriter& w) { return NameWriter(w, true).Name(true); }

NodeId WriteIdnMailDomain(FormatWriter& w) { return NameWriter(w, false).Name(false); }

}  // namespace grammask::internal
