/// Hashes of files.
#ifndef TPSP_RUNTIME_DRIVER_FILES_FILEHASH_H
#define TPSP_RUNTIME_DRIVER_FILES_FILEHASH_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <string>

namespace tpsp::rt {

/// How much of a file is hashed.
enum class HashedPart {
  /// Every byte.
  Whole,
  /// Every byte of a file of up to 256 MiB. For a longer file, its size and
  /// 4096 pieces of 64 KiB at equal distances, including the first and the
  /// last.
  Sample
};

/// Hashes a file's bytes (XXH3, of pieces, on all cores). Fails, and names the
/// file, if it cannot be read or is not a regular file.
Status hashFile(const std::string &path, HashedPart part, uint64_t &hash);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_FILES_FILEHASH_H
