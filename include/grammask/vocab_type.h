#ifndef GRAMMASK_VOCAB_TYPE_H_
#define GRAMMASK_VOCAB_TYPE_H_

namespace grammask {

// How a tokenizer writes the bytes of its tokens as text.
enum class VocabType : int {
  kRaw = 0,           // as they are
  kByteFallback = 1,  // <0x0A> for single bytes, U+2581 for a space (SentencePiece)
  kByteLevel = 2,     // each byte one printable character (GPT-2)
};

}  // namespace grammask

#endif  // GRAMMASK_VOCAB_TYPE_H_
