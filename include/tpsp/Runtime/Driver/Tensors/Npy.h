/// Reads files of NumPy's format (.npy), which hold one array: the bytes
///
///     \x93NUMPY, version (1.0, 2.0 or 3.0), length of the header
///     {'descr': '<i4', 'fortran_order': False, 'shape': (4, 64), }
///
/// and the elements, row-major.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_NPY_H
#define TPSP_RUNTIME_DRIVER_TENSORS_NPY_H

#include "tpsp/Abi/FileHandle.h"

#include <string>
#include <vector>

namespace tpsp::rt {

/// The contents of the header, and where the elements begin. The reader checks
/// the type and the number of bytes.
struct NpyHeader {
  /// "<i4"
  std::string type;
  std::vector<int64_t> shape;
  /// The byte of the file at which the elements begin.
  int64_t begin = 0;
};

/// Reads the header of an open file of `fileBytes` bytes. Refuses a file that
/// is not in this format, or is in Fortran order, with half a sentence ("it is
/// cut short").
Status readNpyHeader(const FileHandle &file, int64_t fileBytes, NpyHeader &out);

/// The half sentence about elements of a type that is not in `known`: "'<i4'
/// and '<i8'".
Status unknownNpyType(const std::string &type, const std::string &known);

/// An open file, whose header and size have been checked: it has as many bytes
/// as its type and shape need.
class NpyReader {
public:
  /// Refuses, in one sentence, a file that is not in this format, is cut, big
  /// endian or in Fortran order, or has an unsupported type.
  static Status open(const std::string &path, NpyReader &out);

  /// Whether a file begins like one of this format; false if it cannot be read.
  static bool looksLike(const std::string &path);

  /// The element type: TPSP_RT_F32, ...
  int64_t dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return extents; }

  /// Reads the bytes [begin, begin + bytes) of the elements. Thread-safe.
  Status read(int64_t begin, int64_t bytes, void *destination) const;

private:
  Status readHeader(int64_t fileBytes);

  std::string path;
  FileHandle file;
  int64_t type = 0;
  std::vector<int64_t> extents;
  /// The byte at which the elements begin, and their number of bytes.
  int64_t begin = 0, bytes = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_NPY_H
