/// A file descriptor, closed with its owner, and reading by it.
#ifndef TPSP_RUNTIME_DRIVER_FILEHANDLE_H
#define TPSP_RUNTIME_DRIVER_FILEHANDLE_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <string>
#include <utility>

namespace tpsp::rt {

class FileHandle {
public:
  explicit FileHandle(int descriptor = -1) : descriptor(descriptor) {}
  FileHandle(FileHandle &&other) noexcept : descriptor(other.release()) {}
  FileHandle &operator=(FileHandle &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~FileHandle();

  bool isOpen() const { return descriptor >= 0; }
  int get() const { return descriptor; }
  /// The descriptor, from now on the caller's.
  int release() { return std::exchange(descriptor, -1); }

private:
  int descriptor;
};

/// Opens a regular file to read it; `bytes` is its size. The message says what
/// is wrong with the file and not which it is.
Status openToRead(const std::string &path, FileHandle &out, int64_t &bytes);

/// Reads exactly `bytes` bytes from `offset` on. Thread-safe.
Status readAt(const FileHandle &file, int64_t offset, int64_t bytes,
              void *destination);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_FILEHANDLE_H
