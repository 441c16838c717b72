#include "tpsp/Runtime/Driver/Files/FileHash.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Runtime/Reference.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <mutex>
#include <vector>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

/// The pieces of a file: `count` pieces of `bytes` bytes, which begin `stride`
/// bytes apart. The last piece ends with the file.
struct Pieces {
  int64_t size, bytes, stride, count;

  int64_t begin(int64_t piece) const {
    bool isLast = piece + 1 == count;
    return isLast && stride > bytes ? size - bytes : piece * stride;
  }
  int64_t length(int64_t piece) const {
    return std::min(bytes, size - begin(piece));
  }
};

} // namespace

static Pieces piecesOf(int64_t size, HashedPart part) {
  constexpr int64_t sampled = 64 << 10, samples = 4096, whole = 4 << 20;
  if (part == HashedPart::Sample && size > sampled * samples)
    return {size, sampled, size / samples, samples};
  return {size, whole, whole, (size + whole - 1) / whole};
}

/// Each piece is hashed with its number, so the sum does not depend on the
/// order.
static Status hashPieces(const FileHandle &file, const Pieces &pieces,
                         int64_t begin, int64_t end, uint64_t &sum) {
  std::vector<char> bytes(std::min(pieces.bytes, pieces.size));
  for (int64_t piece = begin; piece < end; ++piece) {
    int64_t length = pieces.length(piece);
    TPSP_TRY(readAt(file, pieces.begin(piece), length, bytes.data()));
    sum += XXH3_64bits_withSeed(bytes.data(), length, uint64_t(piece));
  }
  return {};
}

Status tpsp::rt::hashFile(const std::string &path, HashedPart part,
                          uint64_t &hash) {
  FileHandle file;
  int64_t size = 0;
  Status status = openToRead(path, file, size);
  Pieces pieces = piecesOf(size, part);
  uint64_t sum = uint64_t(size);
  std::mutex mutex;
  auto body = [&](int64_t begin, int64_t end) {
    uint64_t mine = 0;
    Status here = hashPieces(file, pieces, begin, end, mine);
    std::lock_guard<std::mutex> lock(mutex);
    sum += mine;
    if (status.ok())
      status = here;
  };
  if (status.ok())
    reference::detail::parallelFor(pieces.count, pieces.bytes, body);
  if (!status.ok())
    return {status.code(),
            fmt::format("cannot read '{}': {}", path, status.message())};
  hash = sum;
  return {};
}
