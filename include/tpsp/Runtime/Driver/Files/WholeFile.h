/// Writing a file as a whole or not at all.
///
///   WholeFile file;
///   TPSP_TRY(file.create("plan.so"));
///   TPSP_TRY(file.write(0, data, bytes));
///   return file.finish();
///
/// The bytes go into a temporary file beside it, which finish() puts in its
/// place. A file that was there before stays until then; without finish()
/// nothing is left.
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

  /// Fails if `path` is something else than a file, or cannot be written.
  Status create(const std::string &path);
  /// The number by which other processes find what create() began.
  static int64_t number();
  /// Opens what another process, with this number, has begun. Then finish()
  /// puts nothing in its place, but sees to it that what was written is stored.
  Status join(const std::string &path, int64_t number);
  /// Writes bytes [offset, offset + bytes). Thread-safe.
  Status write(int64_t offset, const void *source, int64_t bytes);
  Status finish();

private:
  Status failure(int error) const;

  std::string path;
  /// Where `path` leads.
  std::string place;
  /// Empty before there is one, after finish(), and where it is another's.
  std::string temporary;
  FileHandle file;
};

/// Writes `text` to `path`: a whole file or none, or to what is there if that
/// is no file but a device or a pipe.
Status writeText(const std::string &path, const std::string &text);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_FILES_WHOLEFILE_H
