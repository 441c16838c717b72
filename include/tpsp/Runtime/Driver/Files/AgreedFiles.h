/// Checks that files which every process reads by its own path have the same
/// contents.
///
///   TPSP_TRY(checkFiles(transport, {{"--weights", "w.safetensors"}}, 30));
///
/// A file that all processes share is recognised by its place in the file
/// system and is not read. Copies are read once on each host.
#ifndef TPSP_RUNTIME_DRIVER_FILES_AGREEDFILES_H
#define TPSP_RUNTIME_DRIVER_FILES_AGREEDFILES_H

#include "tpsp/Runtime/Driver/Files/FileHash.h"
#include "tpsp/Runtime/Transport.h"

#include <optional>
#include <vector>

namespace tpsp::rt {

struct AgreedFile {
  /// The use of the file, for messages: "--weights".
  std::string use;
  std::string path;
  HashedPart part = HashedPart::Whole;
  /// The expected hashFile() of the whole file, if one was recorded.
  std::optional<uint64_t> expected = std::nullopt;
  /// Where that hash was recorded, for messages:
  /// "'run/step-00000010/training.json'".
  std::string expectedBy = "";
};

/// INVALID, with the ranks, the use and the paths, if a process reads other
/// contents than rank 0 does, or more files. INVALID if a file does not have
/// its expected hash. All processes call with the same number of uses.
/// `transport` is null if there is one process.
Status checkFiles(Transport *transport, const std::vector<AgreedFile> &files,
                  double timeoutSeconds);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_FILES_AGREEDFILES_H
