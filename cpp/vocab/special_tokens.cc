// Token texts -> roles: which tokens end the output, which are markers rather than text.
//
// Models agree on few names, so stop tokens are found in a short list of texts, each the declared
// end of a widely used family: a vocabulary with "<|im_end|>" and "<|endoftext|>" stops at both.
// Markers are told by shape, since tokenizers that flag "<|im_start|>" special leave "<tool_call>"
// unflagged: what stands in angle brackets, or between bars, is a marker, unless it is HTML.
//
// Cost: one hash look-up a token for stops; linear in the text for markers.
// Tests: tests/vocab/special_tokens_test.cc.
#include "vocab/special_tokens.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/container/flat_hash_set.h"
#include "base/ascii.h"
#include "base/sorted.h"

namespace grammask::internal {
namespace {

constexpr std::string_view kFullwidthBar = "\xEF\xBD\x9C";  // U+FF5C, in DeepSeek's markers

// The comment names who ends its output so.
constexpr std::string_view kStopTexts[] = {
    "</s>",                   // Llama 2, Mistral, T5
    "<|end_of_text|>",        // Llama 3, Granite
    "<|eot_id|>",             // Llama 3, end of a turn
    "<|eom_id|>",             // Llama 3.1, end of a message that calls a tool
    "<|eot|>",                // Llama 4
    "<|eom|>",                // Llama 4
    "<|im_end|>",             // ChatML: Qwen, Yi, Kimi
    "<|endoftext|>",          // GPT-2, GPT-4, Phi, Qwen, GLM
    "<eos>",                  // Gemma
    "<end_of_turn>",          // Gemma, end of a turn
    "<｜end▁of▁sentence｜>",  // DeepSeek (U+FF5C and U+2581)
    "<|end▁of▁sentence|>",    // DeepSeek, older
    "<|EOT|>",                // DeepSeek Coder
    "<|return|>",             // gpt-oss, end of the answer
    "<|call|>",               // gpt-oss, end of a tool call
    "<|END_OF_TURN_TOKEN|>",  // Command R
    "<EOS_TOKEN>",            // Command R
    "[|endofturn|]",          // EXAONE
    "<|eos|>",                // several smaller families
};
// Phi-3 ends a turn with <|end|>; gpt-oss, which has <|return|>, goes on after it.
constexpr std::string_view kEndOfTurnUnlessReturn = "<|end|>";
constexpr std::string_view kReturn = "<|return|>";

// Elements whose tags vocabularies hold as text (Gemma's, in the main).
constexpr std::string_view kHtmlElements[] = {
    "a",   "b",     "blockquote", "body", "br",  "caption", "code",  "dd", "del",
    "div", "dl",    "dt",         "em",   "h1",  "h2",      "h3",    "h4", "h5",
    "h6",  "head",  "hr",         "html", "i",   "li",      "ol",    "p",  "pre",
    "s",   "span",  "strong",     "sub",  "sup", "table",   "tbody", "td", "tfoot",
    "th",  "thead", "tr",         "u",    "ul"};

// A letter, a digit, or any character beyond ASCII but the bar: something to name a marker by.
bool HasName(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kFullwidthBar)) {
      i += kFullwidthBar.size() - 1;
    } else if (IsLetter(text[i]) || IsDigit(text[i]) ||
               static_cast<unsigned char>(text[i]) >= 0x80) {
      return true;
    }
  }
  return false;
}

// <name>, </name>, <name/> or <name />. `text` starts with '<' and ends with '>'.
bool IsHtmlTag(std::string_view text) {
  text = text.substr(1, text.size() - 2);
  if (text.starts_with('/')) {
    text.remove_prefix(1);
  } else if (text.ends_with('/')) {
    text.remove_suffix(1);
    if (text.ends_with(' ')) text.remove_suffix(1);
  }
  return std::ranges::find(kHtmlElements, text) != std::end(kHtmlElements);
}

// [INST], [/INST], [TOOL_CALLS], [REFERENCE_DOC_0]: capitals between brackets.
bool IsCapitalsInBrackets(std::string_view text) {
  if (text.size() < 4 || text.front() != '[' || text.back() != ']') return false;
  size_t letters = 0;
  for (char c : text.substr(1, text.size() - 2)) {
    if (c >= 'A' && c <= 'Z') {
      ++letters;
    } else if (!IsDigit(c) && c != '_' && c != '/' && c != '-') {
      return false;
    }
  }
  return letters >= 2;
}

}  // namespace

std::vector<TokenId> DetectStopTokens(std::span<const std::string> texts,
                                      std::span<const TokenId> special) {
  absl::flat_hash_set<std::string_view> stops(std::begin(kStopTexts), std::end(kStopTexts));
  if (std::ranges::find(texts, kReturn) == texts.end()) stops.insert(kEndOfTurnUnlessReturn);

  std::vector<TokenId> found;
  for (TokenId id : special) {
    if (stops.contains(texts[static_cast<size_t>(id)])) found.push_back(id);
  }
  if (found.empty()) {
    for (size_t id = 0; id < texts.size(); ++id) {
      // All of them are at least five bytes long and start with '<' or '['.
      if (texts[id].size() < 5 && texts[id] != "</s>") continue;
      if (texts[id].front() != '<' && texts[id].front() != '[') continue;
      if (stops.contains(texts[id])) found.push_back(static_cast<TokenId>(id));
    }
  }
  SortUnique(&found);
  return found;
}

bool IsControlMarker(std::string_view text) {
  if (!HasName(text)) return false;
  auto between = [text](std::string_view open, std::string_view close) {
    return text.size() > open.size() + close.size() && text.starts_with(open) &&
           text.ends_with(close);
  };
  if (between("<", ">")) return !IsHtmlTag(text);
  if (text.starts_with("<|") ||
      (text.starts_with('<') && text.substr(1).starts_with(kFullwidthBar))) {
    return true;
  }
  return between("|", "|") || between(kFullwidthBar, kFullwidthBar) || between("[|", "|]") ||
         IsCapitalsInBrackets(text);
}

}  // namespace grammask::internal
