// URIs to the texts of documents.
//
// A table made on the first question, from the caller's map with each URI resolved against the
// base; meta-schemas join it when they are asked for. With the base http://e.x/s/root.json the key
// "a.json#" is the document http://e.x/s/a.json. Linear in the number of documents, once.
//
// Tests: tests/grammar/schema_refs_test.cc.
#include "grammar/json_schema/schema_registry.h"

#include "grammar/json_schema/meta_schemas.h"
#include "grammar/json_schema/uri.h"

namespace grammask::internal {
namespace {

// An escape could spell any character, so a text with one may contain anything.
bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos || text.find("\\u") != std::string_view::npos;
}

}  // namespace

void SchemaRegistry::Prepare() {
  if (prepared_) return;
  prepared_ = true;
  if (texts_ == nullptr) return;
  for (const auto& [key, text] : *texts_) {
    auto entry = std::make_unique<Entry>();
    entry->name = SplitFragment(key).first;
    entry->uri = ResolveUri(base_, entry->name);
    entry->text = text;
    if (by_uri_.try_emplace(entry->uri, entry.get()).second) entries_.push_back(std::move(entry));
  }
}

SchemaRegistry::Entry* SchemaRegistry::Find(std::string_view uri) {
  Prepare();
  auto known = by_uri_.find(uri);
  if (known != by_uri_.end()) return known->second;
  std::string_view text = MetaSchemaText(uri);
  if (text.empty()) return nullptr;
  auto entry = std::make_unique<Entry>();
  entry->name = entry->uri = uri;
  entry->text = text;
  by_uri_.try_emplace(entry->uri, entry.get());
  entries_.push_back(std::move(entry));
  return entries_.back().get();
}

std::vector<SchemaRegistry::Entry*> SchemaRegistry::Unread() {
  Prepare();
  std::vector<Entry*> out;
  for (const auto& entry : entries_) {
    if (!entry->taken && (Has(entry->text, "\"$id\"") || Has(entry->text, "\"id\""))) {
      out.push_back(entry.get());
    }
  }
  return out;
}

bool SchemaRegistry::MayContain(std::string_view string) {
  Prepare();
  for (const auto& entry : entries_) {
    if (!entry->taken && Has(entry->text, string)) return true;
  }
  return false;
}

}  // namespace grammask::internal
