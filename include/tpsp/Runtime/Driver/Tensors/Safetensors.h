/// Reads and writes files of named tensors in the safetensors format. A file
/// begins with the header's length, eight bytes, little endian. Then comes the
/// header, a JSON object
///
///     {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
///
/// and then the tensors' elements, row-major and little endian, one tensor
/// after the other. Offsets count from the end of the header.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORS_H
#define TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORS_H

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tpsp::rt {

struct SafetensorsTensor {
  std::string name;
  /// The format's name for the type: "F32", "F16", ...
  std::string dtype;
  std::vector<int64_t> shape;
  /// Byte offset from the start of the file.
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// The header's `__metadata__`: texts by their keys.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Maps a tensor's name to its position in a list.
using TensorNumbers = std::unordered_map<std::string, size_t>;

/// An open file, whose header has been checked. Every tensor's bytes lie in the
/// file and belong to no other tensor. Their number fits the tensor's shape and
/// type, if the type is known.
class SafetensorsReader {
public:
  static Status open(const std::string &path, SafetensorsReader &out);

  /// The tensors in the order of the file's bytes.
  const std::vector<SafetensorsTensor> &tensors() const { return list; }
  /// The tensor of that name, or null.
  const SafetensorsTensor *find(const std::string &name) const;
  /// The texts that the header has besides tensors. Entries that are not texts
  /// are left out.
  const SafetensorsMetadata &metadata() const { return texts; }

  /// Reads the bytes [begin, begin + bytes) of a tensor. Thread-safe.
  Status read(const SafetensorsTensor &tensor, int64_t begin, int64_t bytes,
              void *destination) const;

private:
  std::string path;
  FileHandle file;
  std::vector<SafetensorsTensor> list;
  SafetensorsMetadata texts;
  TensorNumbers numbers;
};

/// Writes a file completely or not at all.
class SafetensorsWriter {
public:
  /// Begins a file of `tensors`, whose names, types (F64, F32, BF16, F16 or
  /// I32) and shapes are set. Their order does not matter.
  /// `metadata` is added to the header's.
  static Status create(const std::string &path,
                       std::vector<SafetensorsTensor> tensors,
                       std::unique_ptr<SafetensorsWriter> &out,
                       const SafetensorsMetadata &metadata = {});
  /// Joins a file of the same tensors that another process has begun
  /// (WholeFile::join), in order to write a part of it.
  static Status join(const std::string &path, int64_t number,
                     std::vector<SafetensorsTensor> tensors,
                     std::unique_ptr<SafetensorsWriter> &out);
  SafetensorsWriter(const SafetensorsWriter &) = delete;
  SafetensorsWriter &operator=(const SafetensorsWriter &) = delete;

  /// The tensors with their offsets, in the order of the file.
  const std::vector<SafetensorsTensor> &tensors() const { return list; }

  /// The tensor of that name, or null.
  const SafetensorsTensor *find(const std::string &name) const;

  /// Writes bytes of a tensor from its byte `begin` on. Thread-safe. Every byte
  /// must be written before finish().
  Status write(const SafetensorsTensor &tensor, int64_t begin,
               const void *source, int64_t bytes);

  Status finish() { return file.finish(); }

private:
  SafetensorsWriter() = default;

  WholeFile file;
  std::vector<SafetensorsTensor> list;
  TensorNumbers numbers;
};

/// The element type (TPSP_RT_F32, ...) that files call `formatName`, if tpsp
/// has it.
std::optional<int64_t> elementTypeOf(const std::string &formatName);

/// The name of an element type in files; null if the format lacks it.
const char *formatNameOf(int64_t dtype);

/// The name in quotes, with unprintable characters escaped, cut to a reasonable
/// length.
std::string quotedName(const std::string &name);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORS_H
