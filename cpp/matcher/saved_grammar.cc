// A compiled grammar to bytes, and bytes that may be anything to a compiled grammar.
//
// A header of 64 bytes, then four parts: the grammar as EBNF text (read only when someone asks for
// it, so packed), the warnings, the states it begins with (automaton/saved_terms.h), the states
// that have masks and these (mask/saved_masks.cc). All numbers are little-endian whatever the
// machine. Of a trusted file only those states are made that are asked for.
//
//    0  "\x89GMK\r\n\x1A\n"  eight bytes that text transfers would change
//    8  format version (4 bytes), vocabulary size (4)
//   16  vocabulary digest (8)
//   24  lengths of the four parts (8 each)
//   56  checksum (8): of all before it and all after it
//
// The checksum finds damage; it is no defence against a forger, who can compute it too. Nothing
// rests on it: every part is checked as it is read. What cannot be checked is only taken from files
// that the caller trusts, since states, hence masks, are shared by the grammars of a compiler.
//
// Cost: checking 0.3 ns a byte, some 100 ns a state that is made, a copy of the masks. Tests:
// tests/matcher/saved_grammar_test.cc, tests/fuzz/saved_grammar_fuzz.cc.
#include "matcher/saved_grammar.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <chrono>

#include "automaton/saved_pool.h"
#include "automaton/saved_terms.h"
#include "base/byte_codec.h"
#include "base/lz77.h"
#include "vocab/digest.h"

namespace grammask {
namespace internal {
namespace {

constexpr std::string_view kMagic = "\x89GMK\r\n\x1A\n";
constexpr uint32_t kVersion = 7;
constexpr size_t kHeader = kSavedChecksumAt + 8;

Status Damaged(std::string_view what, uint64_t place) {
  return InvalidArgument("the saved grammar is damaged at byte " + std::to_string(place) + ": " +
                         std::string(what));
}

void WriteWarnings(std::span<const SchemaWarning> warnings, ByteWriter* out) {
  out->Number(warnings.size());
  for (const SchemaWarning& w : warnings) {
    for (std::string_view text : {w.pointer, w.keyword, w.reason}) out->Text(text);
  }
}

}  // namespace

uint64_t SavedChecksum(std::string_view file) {
  LaneDigest lanes;
  lanes.Add(file.substr(0, kSavedChecksumAt));
  lanes.Add(file.substr(kHeader));
  Digest digest;
  lanes.Finish(&digest);
  digest.Add(file.size());
  return digest.Finish();
}

StatusOr<std::shared_ptr<const SavedGrammar>> SavedGrammar::Read(std::string_view bytes,
                                                                 bool trusted, const Vocab& vocab,
                                                                 const Limits& limits) {
  if (!bytes.starts_with(kMagic)) {
    return InvalidArgument(
        "this is no saved grammar: it does not begin with the bytes 89 47 4D 4B 0D 0A 1A 0A");
  }
  ByteReader in(bytes);
  in.Bytes(kMagic.size());
  const uint64_t version = in.Fixed(4);
  if (in.ok() && version != kVersion) {
    return Unsupported("the saved grammar has format version " + std::to_string(version) +
                       "; this version of grammask reads version " + std::to_string(kVersion) +
                       ": compile the grammar again and save it anew");
  }
  const uint64_t size = in.Fixed(4), digest = in.Fixed(8);
  uint64_t lengths[4];
  uint64_t left = bytes.size() < kHeader ? 0 : bytes.size() - kHeader;
  bool fits = true;
  for (uint64_t& length : lengths) {
    length = in.Fixed(8);
    fits = fits && length <= left;
    left -= fits ? length : 0;
  }
  const uint64_t checksum = in.Fixed(8);
  if (!in.ok() || !fits || left != 0) {
    return Damaged("its length is not the one that it was written with", bytes.size());
  }
  const std::string_view body = bytes.substr(kHeader);
  if (SavedChecksum(bytes) != checksum) {
    return Damaged("its checksum is wrong", kSavedChecksumAt);
  }
  if (size != static_cast<uint64_t>(vocab.size()) || digest != vocab.fingerprint()) {
    return InvalidArgument("the saved grammar was compiled for another vocabulary (of " +
                           std::to_string(size) + " tokens, here are " +
                           std::to_string(vocab.size()) + "): compile it for this one");
  }
  // The masks are bounded when they are taken.
  const uint64_t text_length = Lz77Length(body.substr(0, static_cast<size_t>(lengths[0])));
  if (std::max(lengths[0], text_length) > limits.max_source_bytes ||
      text_length + lengths[1] + lengths[2] > limits.max_source_bytes) {
    return ResourceExhausted("the saved grammar is larger than limits.max_source_bytes = " +
                             std::to_string(limits.max_source_bytes));
  }
  std::shared_ptr<SavedGrammar> saved(new SavedGrammar);
  saved->trusted_ = trusted;
  saved->checksum_ = checksum;
  // Masks that are not believed need not be kept.
  saved->bytes_ = std::make_shared<const std::string>(
      body.substr(0, trusted ? body.size() : body.size() - lengths[3]));
  std::string_view rest = *saved->bytes_;
  auto take = [&](uint64_t length) {
    const std::string_view part = rest.substr(0, static_cast<size_t>(length));
    rest.remove_prefix(part.size());
    return part;
  };
  saved->packed_text_ = take(lengths[0]);
  ByteReader warnings(take(lengths[1]));
  saved->terms_ = take(lengths[2]);
  saved->masks_ = rest;
  for (size_t n = warnings.Count(3); n > 0 && warnings.ok(); --n) {
    std::string texts[3];
    for (std::string& text : texts) text = warnings.Text();
    saved->warnings_.push_back({std::move(texts[0]), std::move(texts[1]), std::move(texts[2])});
  }
  if (!warnings.ok() || warnings.left() > 0) {
    return Damaged("the warnings", kHeader + lengths[0] + warnings.offset());
  }
  return std::shared_ptr<const SavedGrammar>(std::move(saved));
}

StatusOr<TermId> SavedGrammar::Place(Engine* engine) const {
  auto offset = [&](std::string_view part) {
    return kHeader + static_cast<uint64_t>(part.data() - bytes_->data());
  };
  ByteReader in(terms_), masks(masks_);
  const uint64_t root = in.Number();
  absl::InlinedVector<std::string_view, 2> lists = {terms_.substr(in.offset())};
  if (!masks_.empty()) lists.push_back(masks.Text());
  if (!masks.ok()) return Damaged("the masks", offset(masks_));
  absl::InlinedVector<SavedPart, 2> parts;
  for (std::string_view list : lists) parts.push_back({list, offset(list)});
  TermStore& terms = engine->terms;
  std::vector<TermId> read;  // by number; of a trusted file a pool has them
  SavedPool* pool = nullptr;
  auto term = [&](uint64_t number) -> StatusOr<TermId> {
    std::lock_guard lock(terms.mutex());
    if (number >= (pool != nullptr ? pool->size() : read.size())) return TermStore::Nothing();
    return pool != nullptr ? pool->Get(static_cast<uint32_t>(number)) : read[number];
  };
  {
    std::lock_guard lock(terms.mutex());
    if (trusted_) {
      GM_ASSIGN_OR_RETURN(pool, SavedPool::Open(bytes_, checksum_, kHeader, parts, &terms));
    } else {
      GM_ASSIGN_OR_RETURN(read, ReadTerms(parts, &terms));
    }
  }
  GM_ASSIGN_OR_RETURN(const TermId begin, term(root));
  if (!in.ok() || begin == TermStore::Nothing()) {
    return Damaged("the root is no state of it", offset(terms_));
  }
  auto state = [&](uint64_t number) {
    const auto made = term(number);
    return made.ok() ? *made : TermStore::Nothing();
  };
  if (!masks_.empty() && !engine->masks.Load(&masks, state, engine->budget / 2)) {
    return Damaged("the masks", offset(masks_) + masks.offset());
  }
  return begin;
}

grammask::Grammar SavedGrammar::grammar(const Limits& limits) const {
  const std::vector<SchemaWarning> warnings(warnings_);
  if (const auto text = Lz77Unpack(packed_text_, limits.max_source_bytes)) {
    if (auto read = grammask::Grammar::FromEbnf(*text, "root", limits); read.ok()) {
      return grammask::Grammar(read->grammar(), warnings);
    }
  }
  GrammarBuilder builder;
  const RuleId root = builder.AddRule("root");
  builder.SetBody(root, builder.Nothing());
  return grammask::Grammar(std::make_shared<const Grammar>(builder.Finish(root).value()), warnings);
}

StatusOr<CompiledGrammar> LoadGrammar(std::string_view bytes, bool trusted,
                                      const TokenizerInfo& tokenizer,
                                      std::shared_ptr<EngineHub> hub) {
  const auto start = std::chrono::steady_clock::now();
  hub->CheckBudget();
  GM_ASSIGN_OR_RETURN(auto saved,
                      SavedGrammar::Read(bytes, trusted, *tokenizer.vocab(), hub->limits()));
  auto impl = std::make_shared<CompiledGrammar::Impl>(std::move(saved), tokenizer, std::move(hub));
  GM_RETURN_IF_ERROR(impl->PlaceWithFirstMask());
  impl->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return CompiledGrammar(std::move(impl));
}

}  // namespace internal

using namespace internal;

StatusOr<std::string> CompiledGrammar::Serialize(const SaveOptions& options) const {
  GM_ASSIGN_OR_RETURN(const Placed placed, impl_->Place());
  Engine& engine = *placed.engine;
  std::vector<std::pair<TermId, uint32_t>> states;
  ByteWriter text, warnings, terms, masks;
  {
    std::lock_guard lock(engine.terms.mutex());
    TermWriter writer(&engine.terms);
    const std::optional<uint32_t> root = writer.Add(placed.root);
    if (!root.has_value()) return Unsupported("this grammar has a state that cannot be saved");
    terms.Number(*root);
    terms.Bytes(writer.TakeList());
    if (options.masks) {
      for (TermId state : engine.masks.StatesWithMasks(placed.root)) {
        if (const auto number = writer.AddState(state)) states.push_back({state, *number});
      }
    }
    if (options.masks) masks.Text(writer.TakeList());
  }
  text.Bytes(Lz77Pack(grammar().ToString()));
  WriteWarnings(impl_->warnings(), &warnings);
  if (options.masks) {
    engine.masks.Save(states, &masks);
    if (engine.overrun()) return Serialize({.masks = false});  // they may have been cut short
  }
  ByteWriter header;
  header.Bytes(kMagic);
  header.Fixed(kVersion, 4);
  header.Fixed(static_cast<uint64_t>(engine.vocab->size()), 4);
  header.Fixed(engine.vocab->fingerprint(), 8);
  for (const ByteWriter* part : {&text, &warnings, &terms, &masks}) header.Fixed(part->size(), 8);
  header.Fixed(0, 8);
  std::string file = header.bytes();
  for (const ByteWriter* part : {&text, &warnings, &terms, &masks}) file += part->bytes();
  ByteWriter checksum;
  checksum.Fixed(SavedChecksum(file), 8);
  file.replace(kSavedChecksumAt, 8, checksum.bytes());
  return file;
}

StatusOr<CompiledGrammar> CompiledGrammar::Deserialize(std::string_view bytes,
                                                       const TokenizerInfo& tokenizer,
                                                       const LoadOptions& options) {
  return LoadGrammar(bytes, options.trusted, tokenizer,
                     std::make_shared<EngineHub>(tokenizer.vocab(), options.limits));
}

}  // namespace grammask
