/// A file descriptor that its owner closes, and functions that read files.
///
/// Every file that a user names is opened here, and only regular files are. A
/// pipe may never end, and a device has no end. Standard input, which tpsp-opt
/// reads as `-`, is read once and up to a limit.
#ifndef TPSP_ABI_FILEHANDLE_H
#define TPSP_ABI_FILEHANDLE_H

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
  /// Returns the descriptor and hands its ownership to the caller.
  int release() { return std::exchange(descriptor, -1); }

private:
  int descriptor;
};

/// Opens a regular file to read it; `bytes` is its size. Never blocks. The
/// message says what is wrong with the file but does not name the file.
Status openToRead(const std::string &path, FileHandle &out, int64_t &bytes);

/// Reads exactly `bytes` bytes from `offset` on. Thread-safe.
Status readAt(const FileHandle &file, int64_t offset, int64_t bytes,
              void *destination);

/// Reads a whole regular file of at most `most` bytes. On failure `text` is
/// unchanged, and the message does not name the file.
Status readWhole(const std::string &path, int64_t most, std::string &text);

/// Reads standard input to its end, which must come within `most` bytes. On
/// failure it does as readWhole() does.
Status readStandardInput(int64_t most, std::string &text);

} // namespace tpsp::rt

#endif // TPSP_ABI_FILEHANDLE_H
