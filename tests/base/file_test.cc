#include "base/file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/checksum.h"

namespace grammask::internal {
namespace {

std::string Text(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(File, WrittenAndRead) {
  const std::string folder = testing::TempDir() + "/file_test";
  std::filesystem::remove_all(folder);  // of a run that failed
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/file";
  for (size_t size : {0, 1, 4096, 3'000'000}) {
    std::string text(size, 'x');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * i >> 3);
    const auto bytes = std::as_bytes(std::span(text));
    ASSERT_TRUE(WriteFile(path, bytes).ok());
    auto read = FileBytes::Open(path, false);
    auto mapped = FileBytes::Open(path, true);
    ASSERT_TRUE(read.ok() && mapped.ok());
    EXPECT_EQ(Text(**read), text);
    EXPECT_EQ(Text(**mapped), text);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*read)->bytes().data()) % 16, 0u);
    // Who has the old file keeps it.
    ASSERT_TRUE(WriteFile(path, {}).ok());
    EXPECT_EQ(Text(**mapped), text);
  }
  // Nothing else is left behind.
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1u);
  std::filesystem::remove_all(folder);
}

TEST(File, ErrorsSayWhichAndWhy) {
  const std::string path = testing::TempDir() + "/no/such/file";
  for (const Status& status : {FileBytes::Open(path, true).status(),
                               FileBytes::Open(path, false).status(), WriteFile(path, {})}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("No such file"), std::string::npos) << status.message();
  }
  EXPECT_FALSE(FileBytes::Open(testing::TempDir(), true).ok());  // a folder
  EXPECT_FALSE(FileBytes::Open(testing::TempDir(), false).ok());
}

TEST(Checksum, EveryByteAndTheLengthCount) {
  std::string text(100, 'a');
  const auto sum = [&](size_t n) { return Checksum(std::as_bytes(std::span(text)).first(n)); };
  for (size_t n = 0; n < text.size(); ++n) {
    const uint64_t before = sum(n);
    EXPECT_NE(before, sum(n + 1));
    for (size_t i = 0; i < n; ++i) {
      text[i] ^= 1;
      EXPECT_NE(sum(n), before) << n << " " << i;
      text[i] ^= 1;
    }
  }
}

}  // namespace
}  // namespace grammask::internal
