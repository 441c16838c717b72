/// Writes a file completely or not at all.
///
///   WholeFile file;
///   TPSP_TRY(file.create("plan.so"));
///   TPSP_TRY(file.write(0, data, bytes));
///   return file.finish();
///
/// The bytes are written to a temporary file in the same folder, which finish()
/// renames to the path. An existing file stays until then. Without finish() the
/// temporary file is removed.
#ifndef TPSP_RUNTIME_DRIVER_FILES_WHOLEFILE_H
#define TPSP_RUNTIME_DRIVER_FILES_WHOLEFILE_H

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <string>

namespace tpsp::rt {

class WholeFile {
public:
  WholeFile() = default;
  WholeFile(const WholeFile &) = delete;
  WholeFile &operator=(const WholeFile &) = delete;
  ~WholeFile();

  /// Fails if `path` exists and is not a regular file, or if it cannot be
  /// written.
  Status create(const std::string &path);
  /// A number by which other processes find the temporary file that create()
  /// made.
  static int64_t number();
  /// Opens the temporary file of another process by that process's number().
  /// Then finish() does not rename the file, but makes sure that its bytes are
  /// stored.
  Status join(const std::string &path, int64_t number);
  /// Writes bytes [offset, offset + bytes). Thread-safe.
  Status write(int64_t offset, const void *source, int64_t bytes);
  Status finish();

private:
  Status failure(int error) const;

  std::string path;
  /// The path after following symbolic links.
  std::string place;
  /// The temporary file's path. Empty before create(), after finish(), and if
  /// the file belongs to another process.
  std::string temporary;
  FileHandle file;
};

/// Writes `text` to `path`, completely or not at all. If `path` is a device or
/// a pipe, writes into it.
Status writeText(const std::string &path, const std::string &text);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_FILES_WHOLEFILE_H
