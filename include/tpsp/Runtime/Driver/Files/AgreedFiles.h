/// Files that all processes of a run read, each by its own path, and that must
/// have the same contents.
///
///   TPSP_TRY(checkFiles(transport, {{"--weights", "w.safetensors"}}, 30));
///
/// One file that all processes see, which is known by its place in the system,
/// is not read for that. Copies are read once on each host.
#ifndef TPSP_RUNTIME_DRIVER_FILES_AGREEDFILES_H
#define TPSP_RUNTIME_DRIVER_FILES_AGREEDFILES_H

#include "tpsp/Runtime/Driver/Files/FileHash.h"
#include "tpsp/Runtime/Transport.h"

#include <optional>
#include <vector>

namespace tpsp::rt {

struct AgreedFile {
  /// What it is read for: "--weights".
  std::string use;
  std::string path;
  HashedPart part = HashedPart::Whole;
  /// hashFile() of the whole, if somebody wrote that down.
  std::optional<uint64_t> expected = std::nullopt;
  /// Who did, in words: "'run/step-00000010/training.json'".
  std::string expectedBy = "";
};

/// INVALID with the ranks, the use and the paths, if a process reads a file of
/// other contents than rank 0, or more files. INVALID, too, for a file that is
/// not what is expected. All processes call with the same number of uses;
/// `transport` is null if there is one process.
Status checkFiles(Transport *transport, const std::vector<AgreedFile> &files,
                  double timeoutSeconds);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_FILES_AGREEDFILES_H
