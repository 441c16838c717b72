#include "tpsp/Runtime/Driver/Files/AgreedFiles.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Meeting.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace tpsp;
using namespace tpsp::rt;

/// The running system's boot id, since hosts may have equal names.
static std::string systemId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

/// A hash of the file's identity, including its system and its state. It is
/// equal only for paths to the same file.
static Status identityOf(const std::string &path, uint64_t &out) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0)
    return invalid("cannot read '{}': {}", path, std::strerror(errno));
  std::string text =
      fmt::format("{} {} {} {} {} {}", systemId(), info.st_dev, info.st_ino,
                  info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  out = XXH3_64bits(text.data(), text.size());
  return {};
}

static Status checkExpected(const AgreedFile &file, uint64_t hash) {
  if (!file.expected || hash == *file.expected)
    return {};
  return invalid("{}: '{}' is not the file that was written with {}, or was "
                 "damaged: its hash is {:016x}, not {:016x}",
                 file.use, file.path, file.expectedBy, hash, *file.expected);
}

namespace {

/// Exchanges information about files between the processes.
class FileMeeting {
public:
  FileMeeting(Transport &transport, const std::vector<AgreedFile> &files,
              double timeoutSeconds)
      : transport(transport), files(files), timeoutSeconds(timeoutSeconds) {}

  Status check() {
    TPSP_TRY(checkCounts());
    std::vector<uint64_t> mine(files.size());
    for (size_t i = 0; i < files.size(); ++i)
      TPSP_TRY(identityOf(files[i].path, mine[i]));
    TPSP_TRY(exchangeAll(transport, mine, "to compare files", timeoutSeconds,
                         identities));
    std::vector<uint64_t> hashes(files.size());
    for (size_t i = 0; i < files.size(); ++i)
      TPSP_TRY(hashOwn(i, hashes[i]));
    // Takes as long as the slowest disk.
    std::vector<std::vector<uint64_t>> all;
    TPSP_TRY(exchangeAll(transport, hashes, "to compare files",
                         unboundedSeconds, all));
    return compare(all);
  }

private:
  /// Compares the number of files that processes read for one use, such as the
  /// parts that an index names.
  Status checkCounts() {
    std::vector<std::vector<uint64_t>> all;
    TPSP_TRY(exchangeAll(transport, {files.size()}, "to compare files",
                         timeoutSeconds, all));
    std::vector<int64_t> ranks = differingRanks(all, 0);
    if (ranks.empty())
      return {};
    return refuseTogether(
        transport,
        fmt::format("{} reads {} files, and rank 0 reads {}; give "
                    "all processes the same files",
                    ranksText({ranks[0]}), all[ranks[0]][0], all[0][0]));
  }

  /// The lowest rank that reads the same file as `rank`.
  int64_t readerOf(size_t file, int64_t rank) const {
    int64_t reader = 0;
    while (identities[reader][file] != identities[rank][file])
      ++reader;
    return reader;
  }

  /// Hashes this process's file. Sets 0 if another process hashes the same
  /// file, or if no hash is needed.
  Status hashOwn(size_t number, uint64_t &hash) const {
    const AgreedFile &file = files[number];
    bool isNeeded =
        file.expected || !differingRanks(identities, number).empty();
    if (!isNeeded || readerOf(number, transport.rank()) != transport.rank())
      return {};
    TPSP_TRY(hashFile(file.path, file.part, hash));
    return checkExpected(file, hash);
  }

  Status compare(std::vector<std::vector<uint64_t>> &all) const {
    for (size_t rank = 0; rank < all.size(); ++rank)
      for (size_t i = 0; i < files.size(); ++i)
        all[rank][i] = all[readerOf(i, int64_t(rank))][i];
    for (size_t i = 0; i < files.size(); ++i)
      if (std::vector<int64_t> ranks = differingRanks(all, i); !ranks.empty())
        return refuseTogether(
            transport,
            fmt::format("{} of {} has other contents than '{}' of rank 0; give "
                        "all processes the same file",
                        files[i].use, ranksText(ranks), files[i].path));
    return {};
  }

  Transport &transport;
  const std::vector<AgreedFile> &files;
  const double timeoutSeconds;
  std::vector<std::vector<uint64_t>> identities;
};

} // namespace

Status tpsp::rt::checkFiles(Transport *transport,
                            const std::vector<AgreedFile> &files,
                            double timeoutSeconds) {
  if (transport)
    return FileMeeting(*transport, files, timeoutSeconds).check();
  for (const AgreedFile &file : files) {
    uint64_t hash = 0;
    if (!file.expected)
      continue;
    TPSP_TRY(hashFile(file.path, HashedPart::Whole, hash));
    TPSP_TRY(checkExpected(file, hash));
  }
  return {};
}
