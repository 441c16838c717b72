/// Reads the tensors of one safetensors file, or of several files that an index
/// names. An index is a JSON object
///
///     {"weight_map": {"w": "model-00001-of-00002.safetensors", ...}}
///
/// whose files lie in its folder; other keys are ignored. Only the files'
/// headers are held in memory.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORSSET_H
#define TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORSSET_H

#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <map>

namespace tpsp::rt {

class SafetensorsSet {
public:
  /// Opens `path`, a safetensors file or an index. Fails, and names the file,
  /// if it is neither. Fails if a file of the index is missing, or lacks a
  /// tensor that the index says it has.
  static Status open(const std::string &path, SafetensorsSet &out);

  /// The paths of all files, the index's first if there is one.
  std::vector<std::string> paths() const;
  /// The names of all tensors, sorted.
  std::vector<std::string> names() const;
  /// The tensor of that name, or null.
  const SafetensorsTensor *find(const std::string &name) const;

  /// Reads the bytes [begin, begin + bytes) of the tensor called `name`, which
  /// must exist. Thread-safe.
  Status read(const std::string &name, int64_t begin, int64_t bytes,
              void *destination) const;

private:
  struct Stored {
    const SafetensorsReader *file;
    const SafetensorsTensor *tensor;
  };
  Status openIndex(const std::string &path);
  Status addFile(const std::string &path,
                 const std::vector<std::string> &wanted);

  /// Empty if there is no index.
  std::string indexPath;
  /// Keyed by path, so that no file is opened twice. A map's elements do not
  /// move.
  std::map<std::string, SafetensorsReader> files;
  std::map<std::string, Stored> stored;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORSSET_H
