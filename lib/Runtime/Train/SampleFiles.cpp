#include "tpsp/Runtime/Train/SampleFiles.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/Inputs.h"
#include "tpsp/Runtime/Driver/Tensors/IntegerRange.h"
#include "tpsp/Runtime/Driver/Tensors/Npy.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

struct tpsp::train::SampleType {
  /// The type's name in each format; null if the format lacks it.
  const char *npy, *safetensors;
  int64_t bytes;
  bool isInteger;
  /// The element at `memory`, which may be unaligned: `number` of any type, and
  /// `integer` of integers.
  double (*number)(const unsigned char *memory);
  int64_t (*integer)(const unsigned char *memory);
};

/// The element of the C++ type T.
template <typename T> static T loaded(const unsigned char *memory) {
  T value;
  std::memcpy(&value, memory, sizeof(T));
  return value;
}

template <typename T> static double numberOf(const unsigned char *memory) {
  return double(loaded<T>(memory));
}
template <typename T> static int64_t integerOf(const unsigned char *memory) {
  return int64_t(loaded<T>(memory));
}

/// An element of 16 bits that C++ has no type for.
template <int64_t dtype> static double halfOf(const unsigned char *memory) {
  auto bits = loaded<uint16_t>(memory);
  return loadFloat(&bits, dtype, 0);
}

template <typename T>
static constexpr SampleType integers(const char *npy, const char *safetensors) {
  return {npy, safetensors, sizeof(T), true, numberOf<T>, integerOf<T>};
}

static constexpr SampleType types[] = {
    {"<f4", "F32", 4, false, numberOf<float>, nullptr},
    {"<f8", "F64", 8, false, numberOf<double>, nullptr},
    {"<f2", "F16", 2, false, halfOf<TPSP_RT_F16>, nullptr},
    {nullptr, "BF16", 2, false, halfOf<TPSP_RT_BF16>, nullptr},
    integers<uint8_t>("|u1", "U8"),
    integers<int8_t>("|i1", "I8"),
    integers<uint16_t>("<u2", "U16"),
    integers<int16_t>("<i2", "I16"),
    integers<int32_t>("<i4", "I32"),
    integers<int64_t>("<i8", "I64"),
};

static const SampleType *findType(const char *SampleType::*format,
                                  const std::string &name) {
  for (const SampleType &type : types)
    if (type.*format && name == type.*format)
      return &type;
  return nullptr;
}

int64_t StoredSamples::perSample() const {
  int64_t elements = 1;
  for (size_t dim = 1; dim < shape.size(); ++dim)
    elements *= shape[dim];
  return elements;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

bool SampleFiles::isNamed(const std::string &operand) {
  InputsFile file = parseInputsFile(operand);
  return !file.name.empty() ||
         fs::path(file.path).extension() == ".safetensors";
}

Status SampleFiles::add(const std::string &name, StoredSamples stored) {
  if (stored.shape.empty() || stored.shape.front() < 1)
    return invalid("'{}': '{}' has shape [{}], and its first index numbers "
                   "samples; give at least one",
                   stored.path, name, fmt::join(stored.shape, ", "));
  if (!tensors.empty() && stored.shape.front() != samples)
    return invalid("'{}' has {} samples of '{}', and '{}' has {} of '{}'; a "
                   "sample takes one of each",
                   stored.path, stored.shape.front(), name,
                   tensors.begin()->second.path, samples,
                   tensors.begin()->first);
  samples = stored.shape.front();
  std::string path = stored.path;
  auto [before, isNew] = tensors.emplace(name, std::move(stored));
  if (isNew)
    return {};
  return invalid("'{}' is given twice, by '{}' and by '{}'", name,
                 before->second.path, path);
}

static Status readNpy(const std::string &path, StoredSamples &out) {
  FileHandle handle;
  NpyHeader header;
  int64_t bytes = 0;
  TPSP_TRY(openToRead(path, handle, bytes));
  TPSP_TRY(readNpyHeader(handle, bytes, header));
  out.typeName = header.type;
  out.type = findType(&SampleType::npy, header.type);
  if (!out.type)
    return unknownNpyType(header.type, "samples are floats of 16, 32 or 64 "
                                       "bits, or integers of up to 64");
  out.shape = header.shape;
  out.begin = header.begin;
  int64_t elements = 1, behind = bytes - header.begin;
  for (int64_t extent : header.shape)
    if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements))
      return invalid("its header says a shape that no file has");
  if (behind % out.type->bytes == 0 && behind / out.type->bytes == elements)
    return {};
  return invalid("its header says {} elements of {} bytes, and {} bytes follow",
                 elements, out.type->bytes, behind);
}

Status SampleFiles::openNpy(const std::string &path, const std::string &name) {
  StoredSamples stored;
  if (Status s = readNpy(path, stored); !s.ok())
    return {s.code(), fmt::format("cannot read '{}': {}", path, s.message())};
  auto file = std::make_shared<MappedFile>();
  TPSP_TRY(MappedFile::open(path, *file));
  stored.file = std::move(file);
  stored.path = path;
  return add(name, std::move(stored));
}

Status SampleFiles::openSafetensors(const std::string &path) {
  SafetensorsReader reader;
  TPSP_TRY(SafetensorsReader::open(path, reader));
  auto file = std::make_shared<MappedFile>();
  TPSP_TRY(MappedFile::open(path, *file));
  for (const SafetensorsTensor &tensor : reader.tensors())
    TPSP_TRY(add(tensor.name,
                 {file, path, findType(&SampleType::safetensors, tensor.dtype),
                  tensor.dtype, tensor.shape, tensor.offset}));
  return {};
}

Status SampleFiles::open(const std::vector<std::string> &operands,
                         SampleFiles &out) {
  SampleFiles files;
  for (const std::string &operand : operands) {
    InputsFile file = parseInputsFile(operand);
    bool isSafetensors = fs::path(file.path).extension() == ".safetensors";
    if (isSafetensors && !file.name.empty())
      return invalid("'{}' says itself what its tensors are called; give it "
                     "without '{}='",
                     file.path, file.name);
    files.opened.push_back(file.path);
    TPSP_TRY(isSafetensors ? files.openSafetensors(file.path)
                           : files.openNpy(file.path, file.name));
  }
  out = std::move(files);
  return {};
}

//===----------------------------------------------------------------------===//
// Checks against the program
//===----------------------------------------------------------------------===//

/// Says why samples do not fit an argument; empty if they do.
static std::string differenceOf(const PlanBuffer &wanted,
                                const StoredSamples &stored) {
  if (!stored.type)
    return fmt::format("it is of '{}', and samples are of F64, F32, F16, BF16 "
                       "or integers",
                       stored.typeName);
  if (isInteger(wanted.dtype) && !stored.type->isInteger)
    return fmt::format("it is of '{}', and the argument takes integers",
                       stored.typeName);
  bool fits = wanted.shape.size() == stored.shape.size() &&
              std::equal(wanted.shape.begin() + 1, wanted.shape.end(),
                         stored.shape.begin() + 1);
  if (fits)
    return "";
  return fmt::format(
      "it has shape [{}], and the argument [{}] takes samples "
      "of [{}] along a first index",
      fmt::join(stored.shape, ", "), wanted.subscripts,
      fmt::join(wanted.shape.begin() + 1, wanted.shape.end(), ", "));
}

Status SampleFiles::check(const Plan &plan) const {
  std::map<std::string, const PlanBuffer *> inputs;
  std::vector<std::string> names;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.kind == BufferKind::Input && !tensor.isScalar &&
        !tensor.isCotangent() && !tensor.shape.empty()) {
      inputs.emplace(tensor.name, &tensor);
      names.push_back("'" + tensor.name + "'");
    }
  for (const auto &[name, stored] : tensors) {
    auto found = inputs.find(name);
    if (found == inputs.end())
      return invalid("'{}' gives '{}', which is no input of the program; its "
                     "inputs are {}",
                     stored.path, name, fmt::join(names, ", "));
    if (std::string text = differenceOf(*found->second, stored); !text.empty())
      return invalid("'{}' does not fit '{}': {}", stored.path, name, text);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Filling
//===----------------------------------------------------------------------===//

/// Copies n elements, from the file's element `from` to element `to` of
/// `memory`. Returns the first integer that is out of the argument's range.
static std::optional<int64_t> copy(const PlanBuffer &tensor,
                                   const StoredSamples &stored, int64_t from,
                                   int64_t n, void *memory, int64_t to) {
  const SampleType &type = *stored.type;
  const unsigned char *at =
      stored.file->data() + stored.begin + from * type.bytes;
  if (!isInteger(tensor.dtype)) {
    for (int64_t i = 0; i < n; ++i)
      storeFloat(type.number(at + i * type.bytes), tensor.dtype, memory,
                 to + i);
    return std::nullopt;
  }
  const IntegerRange range = integerRange(tensor);
  for (int64_t i = 0; i < n; ++i) {
    int64_t value = type.integer(at + i * type.bytes);
    if (!range.has(value))
      return value;
    storeInteger(value, tensor.dtype, memory, to + i);
  }
  return std::nullopt;
}

Status SampleFiles::fill(const PlanBuffer &tensor, const Shard &shard,
                         const std::function<int64_t(int64_t)> &sampleOf,
                         void *memory) const {
  const StoredSamples &stored = tensors.at(tensor.name);
  const int64_t each = stored.perSample();
  Status status;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    while (n > 0 && status.ok()) {
      int64_t sample = sampleOf(global / each), within = global % each;
      int64_t count = std::min(n, each - within);
      if (std::optional<int64_t> wrong = copy(
              tensor, stored, sample * each + within, count, memory, local))
        status = invalid("'{}' at sample {} has {}, and '{}' takes integers "
                         "from {} to {}",
                         stored.path, sample, *wrong, tensor.name,
                         integerRange(tensor).least, integerRange(tensor).most);
      global += count;
      local += count;
      n -= count;
    }
  });
  return status;
}
