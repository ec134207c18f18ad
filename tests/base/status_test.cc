#include "base/status.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace grammask::internal {
namespace {

TEST(Status, CopiesStandAloneAndWhatIsMovedFromIsOk) {
  Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::kOk);
  EXPECT_EQ(ok.message(), "");
  EXPECT_TRUE(Status(StatusCode::kOk, "no error").ok());

  Status copy;
  {
    Status error = Unsupported("a message that is too long to be kept in place");
    copy = error;
    EXPECT_EQ(error.code(), StatusCode::kUnsupported);
  }
  EXPECT_FALSE(copy.ok());
  EXPECT_EQ(copy.code(), StatusCode::kUnsupported);
  EXPECT_EQ(copy.message(), "a message that is too long to be kept in place");
  const Status moved = std::move(copy);
  EXPECT_EQ(moved.message(), "a message that is too long to be kept in place");
  EXPECT_TRUE(copy.ok());  // NOLINT(bugprone-use-after-move): what the header promises
  copy = moved;
  EXPECT_EQ(copy.message(), moved.message());
  copy = Status();
  EXPECT_TRUE(copy.ok());
  EXPECT_EQ(OutOfRange("x").code(), StatusCode::kOutOfRange);
  EXPECT_EQ(FailedPrecondition("x").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ResourceExhausted("x").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Unsatisfiable("x").code(), StatusCode::kUnsatisfiable);
}

TEST(SourceError, ShowsLineColumnAndCaret) {
  Status s = SourceError("ab\ncd)\nef", 5, "unexpected )");
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(s.message(), "unexpected ) at line 2, column 3\ncd)\n  ^");
}

TEST(SourceError, PlacesAtTheEdges) {
  EXPECT_EQ(SourceError("", 0, "x").message(), "x at line 1, column 1\n\n^");
  EXPECT_EQ(SourceError("ab", 2, "x").message(), "x at line 1, column 3\nab\n  ^");
  EXPECT_EQ(SourceError("ab", 99, "x").message(), "x at line 1, column 3\nab\n  ^");
  EXPECT_EQ(SourceError("ab\n", 3, "x").message(), "x at line 2, column 1\n\n^");
  // The line end itself belongs to the line before it.
  EXPECT_EQ(SourceError("ab\ncd", 2, "x").message(), "x at line 1, column 3\nab\n  ^");
  EXPECT_EQ(SourceError("ab\r\ncd", 1, "x").message(), "x at line 1, column 2\nab\n ^");
}

TEST(SourceError, CountsCharactersNotBytes) {
  Status s = SourceError("\xC3\xA9\xC3\xA9)", 4, "x");
  EXPECT_EQ(s.message(), "x at line 1, column 3\n\xC3\xA9\xC3\xA9)\n  ^");
  // In the middle of a character: the caret is under the character.
  EXPECT_EQ(SourceError("\xC3\xA9)", 1, "x").message(), "x at line 1, column 1\n\xC3\xA9)\n^");
}

TEST(SourceError, ShowsWhatCannotBeShown) {
  EXPECT_EQ(SourceError("\t\x01\xFFz", 3, "x").message(),
            "x at line 1, column 4\n \xEF\xBF\xBD\xEF\xBF\xBDz\n   ^");
}

TEST(SourceError, CutsLongLinesAroundTheCaret) {
  std::string source = std::string(1'000'000, 'a') + "!" + std::string(1'000'000, 'b');
  Status s = SourceError(source, 1'000'000, "x", StatusCode::kUnsupported);
  EXPECT_EQ(s.code(), StatusCode::kUnsupported);
  std::string want = "x at line 1, column 1000001\n..." + std::string(60, 'a') + "!" +
                     std::string(39, 'b') + "...\n" + std::string(63, ' ') + "^";
  EXPECT_EQ(s.message(), want);
  // Short enough on the left: no dots there.
  s = SourceError(source, 60, "x");
  EXPECT_EQ(s.message().substr(s.message().find('\n') + 1, 3), "aaa");
}

StatusOr<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("odd");
  return n / 2;
}

Status Quarter(int n, int* out) {
  GM_ASSIGN_OR_RETURN(int half, Half(n));
  GM_ASSIGN_OR_RETURN(*out, Half(half));
  GM_RETURN_IF_ERROR(Status());
  return {};
}

TEST(StatusMacros, PassErrorsOn) {
  int out = 0;
  EXPECT_TRUE(Quarter(8, &out).ok());
  EXPECT_EQ(out, 2);
  EXPECT_EQ(Quarter(6, &out).message(), "odd");
}

}  // namespace
}  // namespace grammask::internal
