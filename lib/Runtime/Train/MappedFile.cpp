#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Runtime/Train/TokenFiles.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace tpsp::rt;
using namespace tpsp::train;

MappedFile::~MappedFile() {
  if (bytes)
    ::munmap(const_cast<unsigned char *>(bytes), length);
}

Status MappedFile::open(const std::string &path, MappedFile &out) {
  FileHandle handle;
  MappedFile file;
  if (Status s = openToRead(path, handle, file.length); !s.ok())
    return {s.code(), fmt::format("cannot read '{}': {}", path, s.message())};
  if (file.length > 0) {
    void *memory = ::mmap(nullptr, file.length, PROT_READ, MAP_PRIVATE,
                          handle.get(), /*offset=*/0);
    if (memory == MAP_FAILED)
      return {TPSP_RT_INTERNAL,
              fmt::format("cannot map '{}': {}", path, std::strerror(errno))};
    file.bytes = static_cast<const unsigned char *>(memory);
  }
  out = std::move(file);
  return {};
}
