/// Files of named tensors in the safetensors format: eight bytes, little
/// endian, of the header's length; the header, a JSON object
///
///     {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
///
/// and the tensors' elements, row-major and little endian, one tensor after the
/// other. Offsets count from the end of the header.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORS_H
#define TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORS_H

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tpsp::rt {

struct SafetensorsTensor {
  std::string name;
  /// As the format calls it: "F32", "F16", ...
  std::string dtype;
  std::vector<int64_t> shape;
  /// From the start of the file.
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Where in a list a tensor of a name is.
using TensorNumbers = std::unordered_map<std::string, size_t>;

/// An open file, of which nothing is believed unchecked. Every tensor's bytes
/// lie in the file and belong to no other tensor. They are as many as its shape
/// and type need, if the type is one that we know.
class SafetensorsReader {
public:
  static Status open(const std::string &path, SafetensorsReader &out);

  /// In the order of the file's bytes.
  const std::vector<SafetensorsTensor> &tensors() const { return list; }
  /// Null if there is none of that name.
  const SafetensorsTensor *find(const std::string &name) const;

  /// Reads the bytes [begin, begin + bytes) of a tensor. Thread-safe.
  Status read(const SafetensorsTensor &tensor, int64_t begin, int64_t bytes,
              void *destination) const;

private:
  std::string path;
  FileHandle file;
  std::vector<SafetensorsTensor> list;
  TensorNumbers numbers;
};

/// Writes a whole file or none.
class SafetensorsWriter {
public:
  /// Begins a file of `tensors`, of which names, types (F64, F32, BF16, F16 or
  /// I32) and shapes are given. Their order does not matter.
  static Status create(const std::string &path,
                       std::vector<SafetensorsTensor> tensors,
                       std::unique_ptr<SafetensorsWriter> &out);
  /// For a part of a file of the same tensors that another process has begun
  /// (WholeFile::join).
  static Status join(const std::string &path, int64_t number,
                     std::vector<SafetensorsTensor> tensors,
                     std::unique_ptr<SafetensorsWriter> &out);
  SafetensorsWriter(const SafetensorsWriter &) = delete;
  SafetensorsWriter &operator=(const SafetensorsWriter &) = delete;

  /// With their places; in the order of the file.
  const std::vector<SafetensorsTensor> &tensors() const { return list; }

  /// Null if there is none of that name.
  const SafetensorsTensor *find(const std::string &name) const;

  /// Writes bytes of a tensor from its byte `begin` on. Thread-safe. Every byte
  /// is to be written before finish().
  Status write(const SafetensorsTensor &tensor, int64_t begin,
               const void *source, int64_t bytes);

  Status finish() { return file.finish(); }

private:
  SafetensorsWriter() = default;

  WholeFile file;
  std::vector<SafetensorsTensor> list;
  TensorNumbers numbers;
};

/// The element type (TPSP_RT_F32, ...) that files call `formatName`; none if it
/// is none of ours.
std::optional<int64_t> elementTypeOf(const std::string &formatName);

/// What files call an element type; null if they do not have it.
const char *formatNameOf(int64_t dtype);

/// 'name' with what is not printable escaped, cut to a reasonable length.
std::string quotedName(const std::string &name);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_SAFETENSORS_H
