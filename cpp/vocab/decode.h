// From the text by which a tokenizer writes a token to the bytes that the token stands for.
#ifndef GRAMMASK_VOCAB_DECODE_H_
#define GRAMMASK_VOCAB_DECODE_H_

#include <string>

#include "grammask/vocab_type.h"

namespace grammask::internal {

// Replaces `*token` by its bytes; never longer than the text. Linear; no allocation. The rules are
// those of the decoders of Hugging Face `tokenizers`, byte for byte:
// - kRaw: nothing changes.
// - kByteFallback: a token that is as a whole <0xHH> (hex digits of either case) is that byte; in
//   every other token each U+2581 is a space.
// - kByteLevel: each character is one byte by GPT-2's table. A token that holds a character outside
//   the table (an added token such as "<|tool call|>" with its plain space) stays as it is, whole.
void DecodeToken(VocabType type, std::string* token);

// Replaces `*token` by the byte 0xHH when it is as a whole <0xHH>. Returns whether it was.
bool DecodeHexByte(std::string* token);

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_DECODE_H_
