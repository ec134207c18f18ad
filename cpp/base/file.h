// Whole files: mapped or read, and written so that no reader sees half of one.
#ifndef GRAMMASK_BASE_FILE_H_
#define GRAMMASK_BASE_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace grammask::internal {

// The bytes of a file, unchanging while this lives; aligned to at least 16 bytes. Thread-safe.
class FileBytes {
 public:
  // `mapped`: map the file read-only, its pages shared with every process that maps it, and read
  // from the disk on first touch; nobody may write into the file or shorten it then (replacing it
  // by another, as WriteFile does, is safe). Else, and where the system has no mappings, a copy is
  // read. kInvalidArgument, with the system's reason, where `path` cannot be read.
  static StatusOr<std::shared_ptr<const FileBytes>> Open(const std::string& path, bool mapped);
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  FileBytes() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  std::unique_ptr<std::byte[]> read_;
};

// Writes `bytes` to a new file beside `path` and renames it to `path`: who reads or has mapped
// `path` meanwhile sees the old file or the new one. kInvalidArgument, with the system's reason,
// where that fails; the old file is then still there.
Status WriteFile(const std::string& path, std::span<const std::byte> bytes);

}  // namespace grammask::internal

#endif  // GRAMMASK_BASE_FILE_H_
