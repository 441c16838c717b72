#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace tpsp;
using namespace tpsp::rt;

FileHandle::~FileHandle() {
  if (isOpen())
    ::close(descriptor);
}

Status tpsp::rt::openToRead(const std::string &path, FileHandle &out,
                            int64_t &bytes) {
  // O_NONBLOCK: opening must not wait for the other end of a pipe.
  out = FileHandle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // Opening a socket fails with ENXIO.
  if (!out.isOpen() && errno == ENXIO)
    return invalid("it is not a regular file");
  if (!out.isOpen())
    return {TPSP_RT_INVALID, std::strerror(errno)};
  struct stat info = {};
  if (::fstat(out.get(), &info) != 0)
    return {TPSP_RT_INTERNAL, std::strerror(errno)};
  if (S_ISDIR(info.st_mode))
    return {TPSP_RT_INVALID, std::strerror(EISDIR)};
  if (!S_ISREG(info.st_mode))
    return invalid("it is not a regular file");
  bytes = info.st_size;
  return {};
}

Status tpsp::rt::readAt(const FileHandle &file, int64_t offset, int64_t bytes,
                        void *destination) {
  auto *to = static_cast<char *>(destination);
  while (bytes > 0) {
    ssize_t done = ::pread(file.get(), to, bytes, offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return {TPSP_RT_INTERNAL, std::strerror(errno)};
    if (done == 0)
      return invalid("it ends at byte {}, {} bytes early: another process "
                     "has cut it",
                     offset, bytes);
    to += done;
    offset += done;
    bytes -= done;
  }
  return {};
}

Status tpsp::rt::readWhole(const std::string &path, int64_t most,
                           std::string &text) {
  FileHandle file;
  int64_t bytes = 0;
  TPSP_TRY(openToRead(path, file, bytes));
  if (bytes > most)
    return invalid("it has {} bytes, and at most {} are read", bytes, most);
  std::string all(bytes, '\0');
  TPSP_TRY(readAt(file, /*offset=*/0, bytes, all.data()));
  text = std::move(all);
  return {};
}

Status tpsp::rt::readStandardInput(int64_t most, std::string &text) {
  std::string all;
  std::vector<char> block(1 << 16);
  while (true) {
    ssize_t done = ::read(STDIN_FILENO, block.data(), block.size());
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return {TPSP_RT_INTERNAL, std::strerror(errno)};
    if (done == 0)
      break;
    all.append(block.data(), done);
    if (int64_t(all.size()) > most)
      return invalid("it has more than {} bytes, the most that are read", most);
  }
  text = std::move(all);
  return {};
}
