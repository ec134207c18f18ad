// Whether memory is checked as the program runs. Then each piece is the heap's, so that the checks
// see it come and go.
#ifndef GRAMMASK_BASE_SANITIZED_H_
#define GRAMMASK_BASE_SANITIZED_H_

namespace grammask::internal {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_SANITIZED_H_
