/// Tensors of one safetensors file, or of several that an index names, read
/// alike. An index is a JSON object
///
///     {"weight_map": {"w": "model-00001-of-00002.safetensors", ...}}
///
/// whose files lie beside it; other keys do not matter. Of its files only the
/// headers are held in memory.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORSSET_H
#define TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORSSET_H

#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <map>

namespace tpsp::rt {

class SafetensorsSet {
public:
  /// Opens `path`, a safetensors file or an index. Fails, and names the file,
  /// for what is neither. Fails for a file of the index that is not there, and
  /// for tensors that a file lacks though the index says it has them.
  static Status open(const std::string &path, SafetensorsSet &out);

  /// The paths of all files, the index's first if there is one.
  std::vector<std::string> paths() const;
  /// Sorted by name.
  std::vector<std::string> names() const;
  /// Null if there is none of that name.
  const SafetensorsTensor *find(const std::string &name) const;

  /// Reads the bytes [begin, begin + bytes) of the tensor called `name`, which
  /// there is. Thread-safe.
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

  /// Empty: there is no index.
  std::string indexPath;
  /// By path, so that none is opened twice and none moves.
  std::map<std::string, SafetensorsReader> files;
  std::map<std::string, Stored> stored;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORSSET_H
