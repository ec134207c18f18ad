// A grammar and a text to yes or no, by the definition of each node.
//
// For a node and a start offset, `ends` is the set of offsets where a match may end; each kind of
// node defines it by the `ends` of its children, and the least solution of these equations is found
// by working on whatever changed until nothing does. For example `s ::= s "a" | "a"` on "aaa" gives
// the rule's body {1} at start 0 first, then {1, 2}, then {1, 2, 3}. Beside it `prefix` says
// whether the rest of the text begins some match. Intersections and complements have only regular
// nodes below them, which have no cycles, so those are solved before they are read. Cost: entries
// times re-evaluations; no attempt is made to be fast.
#include "oracle/recognizer.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

struct JsonChar {
  uint32_t code_point;
  size_t length;
};

std::optional<uint32_t> HexValue(std::string_view digits) {
  uint32_t value = 0;
  for (char c : digits) {
    uint32_t digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return value;
}

std::optional<uint32_t> UnitAt(std::string_view text, size_t pos) {
  if (text.size() < pos + 6 || text[pos] != '\\' || text[pos + 1] != 'u') return std::nullopt;
  return HexValue(text.substr(pos + 2, 4));
}

constexpr std::string_view kShortEscapes = "\"\\/bfnrt";
constexpr std::string_view kShortMeanings = "\"\\/\b\f\n\r\t";

bool MayStandRaw(uint32_t c) { return c >= 0x20 && c != '"' && c != '\\'; }
bool IsHigh(uint32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLow(uint32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }
uint32_t Astral(uint32_t high, uint32_t low) {
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

// The character that the JSON spelling at `pos` stands for; at most one reading exists.
std::optional<JsonChar> DecodeJson(std::string_view text, size_t pos) {
  if (pos >= text.size()) return std::nullopt;
  if (text[pos] != '\\') {
    std::optional<DecodedChar> c = DecodeUtf8(text, pos);
    if (!c.has_value() || !MayStandRaw(c->code_point)) return std::nullopt;
    return JsonChar{c->code_point, static_cast<size_t>(c->length)};
  }
  if (pos + 1 >= text.size()) return std::nullopt;
  if (size_t i = kShortEscapes.find(text[pos + 1]); i != std::string_view::npos) {
    return JsonChar{static_cast<uint32_t>(kShortMeanings[i]), 2};
  }
  std::optional<uint32_t> unit = UnitAt(text, pos);
  if (!unit.has_value() || IsLow(*unit)) return std::nullopt;
  if (!IsHigh(*unit)) return JsonChar{*unit, 6};
  std::optional<uint32_t> low = UnitAt(text, pos + 6);
  if (!low.has_value() || !IsLow(*low)) return std::nullopt;
  return JsonChar{Astral(*unit, *low), 12};
}

bool HasAnyIn(const CodePointSet& set, uint32_t lo, uint32_t hi) {
  return !set.Intersect(CodePointSet{{lo, hi}}).empty();
}

// Whether `rest` begins the UTF-8 of a member, or is that of one.
bool BeginsUtf8(const CodePointSet& set, std::string_view rest) {
  if (rest.empty()) return !set.empty();
  uint8_t lead = static_cast<uint8_t>(rest[0]);
  // By length: what the lead byte starts with, and the characters that take so many bytes.
  struct Length {
    uint8_t mark, mask;
    uint32_t lo, hi;
  };
  constexpr Length kLengths[] = {{0x00, 0x80, 0, 0x7F},
                                 {0xC0, 0xE0, 0x80, 0x7FF},
                                 {0xE0, 0xF0, 0x800, 0xFFFF},
                                 {0xF0, 0xF8, 0x10000, 0x10FFFF}};
  for (size_t n = 1; n <= 4; ++n) {
    const Length& length = kLengths[n - 1];
    if ((lead & length.mask) != length.mark || rest.size() > n) continue;
    uint32_t value = lead & static_cast<uint8_t>(~length.mask);
    for (char c : rest.substr(1)) {
      if ((static_cast<uint8_t>(c) & 0xC0) != 0x80) return false;
      value = value << 6 | (static_cast<uint8_t>(c) & 0x3F);
    }
    size_t missing = 6 * (n - rest.size());
    uint32_t lo = std::max(length.lo, value << missing);
    uint32_t hi = std::min(length.hi, ((value + 1) << missing) - 1);
    return lo <= hi && HasAnyIn(set, lo, hi);
  }
  return false;
}

// The values of four hexadecimal digits of which `digits` are the first; nullopt if one is not hex.
std::optional<CodePointRange> UnitRange(std::string_view digits) {
  std::optional<uint32_t> value = HexValue(digits);
  if (!value.has_value()) return std::nullopt;
  uint32_t missing = 4 * (4 - static_cast<uint32_t>(digits.size()));
  return CodePointRange{*value << missing, ((*value + 1) << missing) - 1};
}

// Whether `rest` begins a \u spelling of a member; it starts with \u.
bool BeginsUnit(const CodePointSet& set, std::string_view rest) {
  std::optional<CodePointRange> units = UnitRange(rest.substr(2, 4));
  if (!units.has_value()) return false;
  if (rest.size() <= 6 && HasAnyIn(set, units->lo, units->hi)) return true;
  CodePointRange lows{0xDC00, 0xDFFF};
  if (rest.size() > 6) {
    std::string_view second = rest.substr(6);
    if (second.size() > 6 ||
        std::string_view("\\u").substr(0, second.size()) != second.substr(0, 2)) {
      return false;
    }
    std::optional<CodePointRange> more = second.size() <= 2 ? lows : UnitRange(second.substr(2));
    if (!more.has_value()) return false;
    lows = {std::max(lows.lo, more->lo), std::min(lows.hi, more->hi)};
    if (lows.lo > lows.hi) return false;
  }
  for (uint32_t high = std::max(units->lo, 0xD800u); high <= std::min(units->hi, 0xDBFFu); ++high) {
    if (HasAnyIn(set, Astral(high, lows.lo), Astral(high, lows.hi))) return true;
  }
  return false;
}

// Whether `rest` begins a JSON spelling of a member, or is one.
bool BeginsJson(const CodePointSet& set, std::string_view rest) {
  if (rest.empty() || rest == "\\") return !set.empty();
  if (rest[0] != '\\') {
    CodePointSet raw = set.Minus(CodePointSet{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
    return BeginsUtf8(raw, rest);
  }
  if (rest[1] == 'u') return BeginsUnit(set, rest);
  std::optional<JsonChar> c = DecodeJson(rest, 0);
  return c.has_value() && c->length == rest.size() && set.Has(c->code_point);
}

}  // namespace

// One text against one grammar.
class RecognizerRun {
 public:
  RecognizerRun(Recognizer* owner, std::string_view text, bool want_prefix)
      : owner_(owner), grammar_(owner->grammar_), text_(text), want_prefix_(want_prefix) {}

  struct Answer {
    std::vector<bool> ends;  // by offset
    bool prefix = false;
    friend bool operator==(const Answer&, const Answer&) = default;
  };

  // The least solution, at the root's body and offset 0.
  Answer Solve() {
    NodeId body = grammar_.rule_body(grammar_.root());
    size_t first = EntryFor(body, 0);
    while (!work_.empty()) {
      size_t index = work_.back();
      work_.pop_back();
      if (!entries_[index].queued) continue;  // solved since it was put here
      current_ = index;
      missing_.clear();
      entries_[index].queued = false;
      Answer answer = Evaluate(entries_[index].node, entries_[index].start);
      if (!missing_.empty()) {
        Queue(index);
        work_.insert(work_.end(), missing_.begin(), missing_.end());
        continue;
      }
      Entry& entry = entries_[index];
      entry.regular_pending = false;
      if (answer == entry.answer) continue;
      entry.answer = std::move(answer);
      for (size_t reader : std::exchange(entry.readers, {})) Queue(reader);
    }
    return entries_[first].answer;
  }

 private:
  struct Entry {
    NodeId node;
    size_t start;
    Answer answer;
    bool queued = false;
    bool regular_pending = false;  // regular, and not solved yet
    std::vector<size_t> readers;   // who must be evaluated again when the answer changes
  };

  size_t EntryFor(NodeId node, size_t start) {
    uint64_t key = node.value * (uint64_t{text_.size()} + 1) + start;
    auto [it, is_new] = index_.try_emplace(key, entries_.size());
    if (is_new) {
      Entry entry{node, start, {}, false, grammar_.node(node).regular, {}};
      entry.answer.ends.resize(text_.size() + 1);
      entries_.push_back(std::move(entry));
      Queue(it->second);
    }
    return it->second;
  }

  void Queue(size_t index) {
    if (entries_[index].queued) return;
    entries_[index].queued = true;
    work_.push_back(index);
  }

  // The answer as known so far. While a regular node is not solved yet, the evaluation that asks
  // is void: it comes again once all that it misses is known.
  Answer Read(NodeId node, size_t start) {
    size_t index = EntryFor(node, start);
    Entry& entry = entries_[index];
    if (entry.regular_pending) missing_.push_back(index);
    if (entry.readers.empty() || entry.readers.back() != current_) {
      entry.readers.push_back(current_);
    }
    return entry.answer;
  }

  Answer Evaluate(NodeId id, size_t start);
  Answer Sequence(const NodeView& node, size_t start);
  Answer Repeat(const NodeView& node, size_t start);
  Answer JsonText(const NodeView& node, size_t start);
  Answer Multiple(const NodeView& node, size_t start);
  Answer Boolean(NodeId id, const NodeView& node, size_t start);
  Answer Members(NodeId id, size_t start);
  Answer None() const {
    Answer answer;
    answer.ends.resize(text_.size() + 1);
    return answer;
  }

  Recognizer* owner_;
  const Grammar& grammar_;
  std::string_view text_;
  bool want_prefix_;
  std::vector<Entry> entries_;
  std::unordered_map<uint64_t, size_t> index_;
  std::vector<size_t> work_;
  size_t current_ = 0;
  std::vector<size_t> missing_;
};

RecognizerRun::Answer RecognizerRun::Evaluate(NodeId id, size_t start) {
  NodeView node = grammar_.node(id);
  std::string_view rest = text_.substr(start);
  Answer answer = None();
  switch (node.kind) {
    case NodeKind::kNothing:
    case NodeKind::kTokens:
      return answer;
    case NodeKind::kEmpty:
      answer.ends[start] = true;
      answer.prefix = rest.empty();
      return answer;
    case NodeKind::kBytes:
      if (rest.substr(0, node.text.size()) == node.text) {
        answer.ends[start + node.text.size()] = true;
      }
      answer.prefix = node.text.substr(0, rest.size()) == rest;
      return answer;
    case NodeKind::kJsonText:
      return JsonText(node, start);
    case NodeKind::kByteClass: {
      bool has = !rest.empty() && node.bytes->Has(static_cast<uint8_t>(rest[0]));
      if (has) answer.ends[start + 1] = true;
      answer.prefix = rest.empty() || (has && rest.size() == 1);
      return answer;
    }
    case NodeKind::kClass: {
      if (!rest.empty()) {
        std::optional<DecodedChar> c = DecodeUtf8(text_, start);
        if (c.has_value() && node.characters->Has(c->code_point)) {
          answer.ends[start + static_cast<size_t>(c->length)] = true;
        }
      }
      answer.prefix = want_prefix_ && BeginsUtf8(*node.characters, rest);
      return answer;
    }
    case NodeKind::kJsonClass: {
      std::optional<JsonChar> c = DecodeJson(text_, start);
      if (c.has_value() && node.characters->Has(c->code_point)) {
        answer.ends[start + c->length] = true;
      }
      answer.prefix = want_prefix_ && BeginsJson(*node.characters, rest);
      return answer;
    }
    case NodeKind::kSequence:
      return Sequence(node, start);
    case NodeKind::kChoice:
      for (NodeId child : node.children) {
        Answer one = Read(child, start);
        for (size_t e = start; e <= text_.size(); ++e) {
          if (one.ends[e]) answer.ends[e] = true;
        }
        answer.prefix = answer.prefix || one.prefix;
      }
      return answer;
    case NodeKind::kRepeat:
      return Repeat(node, start);
    case NodeKind::kRule:
      return Read(grammar_.rule_body(node.rule), start);
    case NodeKind::kAnd:
    case NodeKind::kNot:
      return Boolean(id, node, start);
    case NodeKind::kMultiple:
      return Multiple(node, start);
    case NodeKind::kMembers:
      return Members(id, start);
    case NodeKind::kRecord:
    case NodeKind::kStandard:
      GM_CHECK(false && "short forms are written out first");
  }
  return answer;
}

RecognizerRun::Answer RecognizerRun::Sequence(const NodeView& node, size_t start) {
  Answer answer = None();
  std::vector<bool> at(text_.size() + 1);
  at[start] = true;
  for (size_t i = 0; i < node.children.size(); ++i) {
    std::vector<bool> after(text_.size() + 1);
    bool later_productive =
        std::all_of(node.children.begin() + static_cast<ptrdiff_t>(i) + 1, node.children.end(),
                    [&](NodeId child) { return owner_->Productive(child); });
    for (size_t mid = start; mid <= text_.size(); ++mid) {
      if (!at[mid]) continue;
      Answer one = Read(node.children[i], mid);
      for (size_t e = mid; e <= text_.size(); ++e) {
        if (one.ends[e]) after[e] = true;
      }
      if (one.prefix && later_productive) answer.prefix = true;
    }
    at = std::move(after);
  }
  answer.ends = std::move(at);
  return answer;
}

// Rounds that match the empty text may be added at will wherever one can: so only rounds of one
// byte or more are counted, together with whether an empty one was possible on the way.
RecognizerRun::Answer RecognizerRun::Repeat(const NodeView& node, size_t start) {
  Answer answer = None();
  size_t size = text_.size();
  NodeId child = node.children[0];
  // By offset: reached after exactly k rounds; with an empty round possible on the way.
  std::vector<bool> plain(size + 1), padded(size + 1);
  plain[start] = true;
  for (int64_t k = 0;; ++k) {
    std::vector<bool> next_plain(size + 1), next_padded(size + 1);
    bool any = false;
    for (size_t at = start; at <= size; ++at) {
      if (!plain[at] && !padded[at]) continue;
      Answer one = Read(child, at);
      if (one.ends[at]) padded[at] = true;
      if (k >= node.min || padded[at]) answer.ends[at] = true;
      if (k >= node.max) continue;
      if (one.prefix) answer.prefix = true;  // the rounds that lack up to min: the same again
      for (size_t e = at + 1; e <= size; ++e) {
        if (!one.ends[e]) continue;
        any = true;
        if (plain[at]) next_plain[e] = true;
        if (padded[at]) next_padded[e] = true;
      }
    }
    if (!any) break;
    plain = std::move(next_plain);
    padded = std::move(next_padded);
  }
  if (answer.ends[size]) answer.prefix = true;
  return answer;
}

RecognizerRun::Answer RecognizerRun::JsonText(const NodeView& node, size_t start) {
  Answer answer = None();
  size_t at = start;
  for (size_t pos = 0; pos < node.text.size();) {
    std::optional<DecodedChar> want = DecodeUtf8(node.text, pos);
    GM_CHECK(want.has_value());
    if (BeginsJson(CodePointSet::Of(want->code_point), text_.substr(at))) answer.prefix = true;
    std::optional<JsonChar> c = DecodeJson(text_, at);
    if (!c.has_value() || c->code_point != want->code_point) return answer;
    at += c->length;
    pos += static_cast<size_t>(want->length);
  }
  answer.ends[at] = true;
  return answer;
}

RecognizerRun::Answer RecognizerRun::Multiple(const NodeView& node, size_t start) {
  Answer answer = None();
  unsigned __int128 modulus = node.multiple.modulus, value = 0;
  for (size_t at = start;; ++at) {
    unsigned __int128 scaled = value % modulus;
    for (uint32_t i = 0; i < node.multiple.scale; ++i) scaled = scaled * 10 % modulus;
    if (scaled == 0) answer.ends[at] = true;
    if (at == text_.size()) {
      // More digits can bring any value to a multiple.
      answer.prefix = true;
      return answer;
    }
    char c = text_[at];
    if (c >= '0' && c <= '9') {
      value = (value * 10 + static_cast<unsigned>(c - '0')) % modulus;
    } else if (c != '.') {
      return answer;
    }
  }
}

RecognizerRun::Answer RecognizerRun::Boolean(NodeId id, const NodeView& node, size_t start) {
  Answer answer = None();
  bool is_and = node.kind == NodeKind::kAnd;
  std::vector<bool> all(text_.size() + 1, true);
  for (NodeId child : node.children) {
    Answer one = Read(child, start);
    for (size_t e = 0; e <= text_.size(); ++e) all[e] = all[e] && one.ends[e];
  }
  for (size_t e = start; e <= text_.size(); ++e) answer.ends[e] = all[e] == is_and;
  if (want_prefix_) answer.prefix = owner_->DfaOf(id).IsPrefix(text_.substr(start));
  return answer;
}

// Every list of members that the text may begin with, member by member.
RecognizerRun::Answer RecognizerRun::Members(NodeId id, size_t start) {
  Answer answer = None();
  MemberLists& lists = owner_->ListsOf(id);
  const auto productive = [&](NodeId node) { return owner_->Productive(node); };
  using Place = std::pair<size_t, MemberLists::State>;  // a member is due there
  std::set<Place> seen = {{start, lists.Start()}};
  std::vector<Place> todo(seen.begin(), seen.end());
  while (!todo.empty()) {
    const auto [at, state] = std::move(todo.back());
    todo.pop_back();
    for (size_t i = 0; i < lists.count(); ++i) {
      const Answer one = Read(lists.member(i), at);
      if (want_prefix_ && one.prefix) {
        answer.prefix |= lists.CanGoOn(state, i, text_.substr(at), productive);
      }
      for (size_t e = at + 1; e <= text_.size(); ++e) {
        if (!one.ends[e]) continue;
        const auto after = lists.After(state, i, text_.substr(at, e - at));
        if (!after.has_value()) continue;
        if (lists.MayEnd(*after)) {
          const Answer end = Read(lists.end(), e);
          for (size_t last = e; last <= text_.size(); ++last) {
            if (end.ends[last]) answer.ends[last] = true;
          }
          answer.prefix |= end.prefix;
        }
        const Answer separator = Read(lists.separator(), e);
        if (want_prefix_ && separator.prefix) {
          answer.prefix |= lists.CanGoOn(*after, productive);
        }
        for (size_t next = e; next <= text_.size(); ++next) {
          if (!separator.ends[next]) continue;
          if (seen.emplace(next, *after).second) todo.emplace_back(next, *after);
        }
      }
    }
  }
  return answer;
}

Recognizer::Recognizer(const Grammar& grammar) : grammar_(grammar) {
  dfas_.resize(grammar_.node_count());
  lists_.resize(grammar_.node_count());
}

MemberLists& Recognizer::ListsOf(NodeId id) {
  std::unique_ptr<MemberLists>& lists = lists_[id.value];
  if (lists == nullptr) lists = std::make_unique<MemberLists>(grammar_, id);
  return *lists;
}

const ByteDfa& Recognizer::DfaOf(NodeId id) {
  std::unique_ptr<ByteDfa>& dfa = dfas_[id.value];
  if (dfa == nullptr) dfa = std::make_unique<ByteDfa>(ByteDfa::Build(grammar_, id));
  return *dfa;
}

void Recognizer::FindProductive() {
  productive_.resize(grammar_.node_count());
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t n = 0; n < grammar_.node_count(); ++n) {
      if (productive_[n]) continue;
      NodeView node = grammar_.node(NodeId(n));
      bool now = true;
      auto is_productive = [&](NodeId id) { return Productive(id); };
      if (node.kind == NodeKind::kNothing || node.kind == NodeKind::kTokens) {
        now = false;
      } else if (node.kind == NodeKind::kSequence) {
        now = std::all_of(node.children.begin(), node.children.end(), is_productive);
      } else if (node.kind == NodeKind::kChoice) {
        now = std::any_of(node.children.begin(), node.children.end(), is_productive);
      } else if (node.kind == NodeKind::kRepeat) {
        now = node.min == 0 || Productive(node.children[0]);
      } else if (node.kind == NodeKind::kRule) {
        now = Productive(grammar_.rule_body(node.rule));
      } else if (node.kind == NodeKind::kAnd || node.kind == NodeKind::kNot) {
        now = DfaOf(NodeId(n)).Live(0);
      } else if (node.kind == NodeKind::kMembers) {
        MemberLists& lists = ListsOf(NodeId(n));
        now = lists.CanGoOn(lists.Start(), is_productive);
      }
      productive_[n] = now;
      changed = changed || now;
    }
  }
}

bool Recognizer::Matches(std::string_view text) {
  if (productive_.empty()) productive_.resize(grammar_.node_count());  // not read for matching
  RecognizerRun::Answer answer = RecognizerRun(this, text, false).Solve();
  return answer.ends[text.size()];
}

bool Recognizer::IsPrefix(std::string_view text) {
  if (!know_productive_) FindProductive();
  know_productive_ = true;
  return RecognizerRun(this, text, true).Solve().prefix;
}

}  // namespace grammask::internal
