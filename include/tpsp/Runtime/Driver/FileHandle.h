/// A file descriptor, closed with its owner.
#ifndef TPSP_RUNTIME_DRIVER_FILEHANDLE_H
#define TPSP_RUNTIME_DRIVER_FILEHANDLE_H

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

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_FILEHANDLE_H
