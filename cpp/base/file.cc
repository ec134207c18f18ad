// A path to the bytes of a file and back.
//
// POSIX systems map; elsewhere a file is read whole. Mappings are MAP_SHARED and read-only: all
// processes that load one vocabulary use the same pages of memory. Cost: some 0.1 ms for 5 MB that
// the system has in memory.
// Tests: tests/base/file_test.cc.
#include "base/file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#if defined(__unix__) || defined(__APPLE__)
#define GM_HAVE_MMAP 1
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#ifndef MAP_POPULATE
#define MAP_POPULATE 0  // Linux: brings in all pages at once
#endif

namespace grammask::internal {
namespace {

Status FileError(const char* what, const std::string& path) {
  return InvalidArgument("cannot " + std::string(what) + " '" + path +
                         "': " + std::strerror(errno));
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

}  // namespace

FileBytes::~FileBytes() {
#ifdef GM_HAVE_MMAP
  if (mapped_) munmap(const_cast<std::byte*>(data_), size_);
#endif
}

StatusOr<std::shared_ptr<const FileBytes>> FileBytes::Open(const std::string& path, bool mapped) {
  std::shared_ptr<FileBytes> result(new FileBytes());
#ifdef GM_HAVE_MMAP
  if (mapped) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return FileError("open", path);
    struct stat info {};
    if (fstat(file, &info) != 0) {
      Status error = FileError("read", path);
      close(file);
      return error;
    }
    // What is no regular file, and an empty one, has nothing to map: it is read below.
    if (S_ISREG(info.st_mode) && info.st_size > 0) {
      const auto size = static_cast<size_t>(info.st_size);
      void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
      Status error = data == MAP_FAILED ? FileError("map", path) : Status();
      close(file);
      if (!error.ok()) return error;
      result->data_ = static_cast<const std::byte*>(data);
      result->size_ = size;
      result->mapped_ = true;
      return std::shared_ptr<const FileBytes>(std::move(result));
    }
    close(file);
  }
#endif
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return FileError("open", path);
  std::error_code no_size;  // of a pipe, say
  const auto size = std::filesystem::file_size(path, no_size);
  size_t next = no_size ? size_t{1} << 20 : static_cast<size_t>(size) + 1, capacity = 0;
  for (size_t n = 1; n > 0;) {
    if (result->size_ == capacity) {
      capacity = next;
      next = capacity * 2;
      auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
      if (result->size_ > 0) std::memcpy(larger.get(), result->read_.get(), result->size_);
      result->read_ = std::move(larger);
    }
    errno = 0;
    n = std::fread(result->read_.get() + result->size_, 1, capacity - result->size_, file.get());
    result->size_ += n;
  }
  if (std::ferror(file.get()) != 0) return FileError("read", path);
  result->data_ = result->read_.get();
  return std::shared_ptr<const FileBytes>(std::move(result));
}

Status WriteFile(const std::string& path, std::span<const std::byte> bytes) {
  // A name of its own for each process and call.
  static std::atomic<unsigned> calls = 0;
  std::string name = path + "." + std::to_string(calls.fetch_add(1)) + ".tmp";
#ifdef GM_HAVE_MMAP
  name += std::to_string(getpid());
#endif
  std::FILE* file = std::fopen(name.c_str(), "wbx");
  if (file == nullptr) return FileError("write", name);
  bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  written = std::fclose(file) == 0 && written;
  if (written && std::rename(name.c_str(), path.c_str()) == 0) return {};
  Status error = FileError("write", path);
  std::remove(name.c_str());
  return error;
}

}  // namespace grammask::internal
