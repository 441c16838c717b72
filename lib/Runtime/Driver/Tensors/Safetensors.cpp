#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

using namespace tpsp;
using namespace tpsp::rt;
using Json = nlohmann::json;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "files are little endian, and so are memory images of them");

/// Bytes of the length before the header.
static constexpr int64_t prefixBytes = 8;
/// The format's own limit on the header.
static constexpr int64_t maxHeaderBytes = 100'000'000;
/// The only key of the header that is not a tensor.
static constexpr const char *metadataKey = "__metadata__";

std::string tpsp::rt::quotedName(const std::string &name) {
  constexpr size_t longest = 80;
  std::string text =
      Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
  text = text.substr(1, text.size() - 2);
  if (text.size() > longest)
    text = text.substr(0, longest) + "...";
  return "'" + text + "'";
}

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

/// Bytes of an element, or 0 for an unknown type.
static int64_t elementBytesOf(const std::string &dtype) {
  constexpr std::tuple<const char *, int64_t> types[] = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4},     {"I32", 4},
      {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2},     {"U16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (auto [name, bytes] : types)
    if (dtype == name)
      return bytes;
  return 0;
}

std::optional<int64_t> tpsp::rt::elementTypeOf(const std::string &formatName) {
  constexpr std::pair<const char *, int64_t> types[] = {{"F32", TPSP_RT_F32},
                                                        {"F64", TPSP_RT_F64},
                                                        {"I32", TPSP_RT_I32},
                                                        {"I64", TPSP_RT_I64}};
  for (auto [name, dtype] : types)
    if (formatName == name)
      return dtype;
  for (const HalfFloat &half : halfFloats)
    if (formatName == half.formatName)
      return half.dtype;
  return std::nullopt;
}

const char *tpsp::rt::formatNameOf(int64_t dtype) {
  if (dtype == TPSP_RT_F64)
    return "F64";
  if (dtype == TPSP_RT_F32)
    return "F32";
  if (dtype == TPSP_RT_I32)
    return "I32";
  const HalfFloat *half = halfFloat(dtype);
  return half ? half->formatName : nullptr;
}

/// The product of a shape and an element's size; false if it is too large.
static bool multiply(const std::vector<int64_t> &shape, int64_t element,
                     int64_t &out) {
  out = element;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(out, extent, &out))
      return false;
  return true;
}

/// Reads a list of numbers from 0 to 2^63 - 1.
static bool readNumbers(const Json &tensor, const char *key,
                        std::vector<int64_t> &out) {
  auto entry = tensor.find(key);
  if (entry == tensor.end() || !entry->is_array())
    return false;
  for (const Json &number : *entry) {
    if (!number.is_number_unsigned() ||
        number.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
      return false;
    out.push_back(number.get<int64_t>());
  }
  return true;
}

/// Checks one entry of the header. Sets `out`, whose offset counts from the end
/// of the header.
static Status readTensor(const std::string &name, const Json &value,
                         int64_t dataBytes, SafetensorsTensor &out) {
  auto wrong = [&](const std::string &what) {
    return invalid("tensor {} {}", quotedName(name), what);
  };
  out.name = name;
  if (!value.is_object())
    return wrong("is not described by a JSON object");
  auto dtype = value.find("dtype");
  if (dtype == value.end() || !dtype->is_string())
    return wrong("has no dtype, a string");
  out.dtype = dtype->get<std::string>();
  if (!readNumbers(value, "shape", out.shape))
    return wrong("has no shape, a list of sizes from 0 up");
  std::vector<int64_t> range;
  if (!readNumbers(value, "data_offsets", range) || range.size() != 2 ||
      range[0] > range[1])
    return wrong("has no data_offsets, a list of its first byte and the one "
                 "behind its last");
  if (range[1] > dataBytes)
    return wrong(fmt::format("ends at byte {} of the data, but the file has "
                             "only {}: it is cut short",
                             range[1], dataBytes));
  out.offset = range[0];
  out.bytes = range[1] - range[0];
  int64_t element = elementBytesOf(out.dtype), needed = 0;
  if (element == 0)
    return {};
  if (!multiply(out.shape, element, needed))
    return wrong(fmt::format("has the shape [{}], which is too large",
                             fmt::join(out.shape, ", ")));
  if (needed != out.bytes)
    return wrong(fmt::format("is {} of [{}], {} bytes, but its data_offsets "
                             "[{}, {}] hold {}",
                             out.dtype, fmt::join(out.shape, ", "), needed,
                             range[0], range[1], out.bytes));
  return {};
}

/// Sorts the tensors by offset. They must follow one another from 0 to
/// `dataBytes` without overlap or gap.
static Status checkPlaces(std::vector<SafetensorsTensor> &tensors,
                          int64_t dataBytes) {
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return std::tie(a.offset, a.bytes) < std::tie(b.offset, b.bytes);
  });
  int64_t end = 0;
  auto gapUntil = [&](int64_t next) {
    return invalid("bytes {} to {} of the data are of no tensor", end, next);
  };
  const SafetensorsTensor *last = nullptr;
  for (const SafetensorsTensor &tensor : tensors) {
    if (tensor.offset < end)
      return invalid("tensors {} and {} overlap: bytes {} to {}, and {} to {}",
                     quotedName(last->name), quotedName(tensor.name),
                     last->offset, end, tensor.offset,
                     tensor.offset + tensor.bytes);
    if (tensor.offset > end)
      return gapUntil(tensor.offset);
    end = tensor.offset + tensor.bytes;
    last = &tensor;
  }
  if (end < dataBytes)
    return gapUntil(dataBytes);
  return {};
}

/// Parses with a callback, because a plain parse would keep only one of two
/// tensors with the same name, and would accept any depth. The format has no
/// deeper level than the numbers of a list.
static Status parseJson(const std::string &text, Json &header) {
  constexpr int deepest = 3;
  std::set<std::string> names;
  std::optional<std::string> twice;
  auto keep = [&](int depth, Json::parse_event_t event, Json &value) {
    if (depth == 1 && event == Json::parse_event_t::key &&
        !names.insert(value.get<std::string>()).second && !twice)
      twice = value.get<std::string>();
    return depth <= deepest;
  };
  if (text[0] == '{')
    header = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (!header.is_object())
    return invalid("its header is not a JSON object");
  if (twice)
    return invalid("it has two tensors {}", quotedName(*twice));
  return {};
}

/// The texts of the header's metadata; others are left out.
static SafetensorsMetadata textsOf(const Json &metadata) {
  SafetensorsMetadata texts;
  for (const auto &[key, value] : metadata.items())
    if (value.is_string())
      texts.emplace(key, value.get<std::string>());
  return texts;
}

static Status parseHeader(const std::string &text, int64_t dataBytes,
                          std::vector<SafetensorsTensor> &out,
                          SafetensorsMetadata &metadata) {
  Json header;
  TPSP_TRY(parseJson(text, header));
  for (const auto &[name, value] : header.items()) {
    if (name == metadataKey) {
      metadata = textsOf(value);
      continue;
    }
    SafetensorsTensor tensor;
    TPSP_TRY(readTensor(name, value, dataBytes, tensor));
    out.push_back(std::move(tensor));
  }
  TPSP_TRY(checkPlaces(out, dataBytes));
  for (SafetensorsTensor &tensor : out)
    tensor.offset += prefixBytes + static_cast<int64_t>(text.size());
  return {};
}

//===----------------------------------------------------------------------===//
// SafetensorsReader
//===----------------------------------------------------------------------===//

static TensorNumbers numbered(const std::vector<SafetensorsTensor> &list) {
  TensorNumbers numbers;
  for (size_t i = 0; i < list.size(); ++i)
    numbers.emplace(list[i].name, i);
  return numbers;
}

static const SafetensorsTensor *
findIn(const std::vector<SafetensorsTensor> &list, const TensorNumbers &numbers,
       const std::string &name) {
  auto found = numbers.find(name);
  return found == numbers.end() ? nullptr : &list[found->second];
}

static Status readFile(const FileHandle &file, int64_t bytes,
                       std::vector<SafetensorsTensor> &out,
                       SafetensorsMetadata &metadata) {
  if (bytes < prefixBytes)
    return invalid("it has {} bytes, fewer than the {} of a "
                   "safetensors header's length",
                   bytes, prefixBytes);
  uint64_t length = 0;
  TPSP_TRY(readAt(file, 0, prefixBytes, &length));
  int64_t rest = bytes - prefixBytes;
  if (length > uint64_t(rest) || length > uint64_t(maxHeaderBytes) ||
      length < 2)
    return invalid(
        "its header would have {} bytes, of the {} that follow: it is cut "
        "short or no safetensors file",
        length, rest);
  std::string text(length, '\0');
  TPSP_TRY(readAt(file, prefixBytes, length, text.data()));
  return parseHeader(text, rest - static_cast<int64_t>(length), out, metadata);
}

static Status cannotRead(const std::string &path, const Status &why) {
  return {why.code(), fmt::format("cannot read '{}': {}", path, why.message())};
}

Status SafetensorsReader::open(const std::string &path,
                               SafetensorsReader &out) {
  out.path = path;
  out.list.clear();
  out.texts.clear();
  int64_t bytes = 0;
  Status status = openToRead(path, out.file, bytes);
  if (status.ok())
    status = readFile(out.file, bytes, out.list, out.texts);
  out.numbers = numbered(out.list);
  return status.ok() ? status : cannotRead(path, status);
}

const SafetensorsTensor *
SafetensorsReader::find(const std::string &name) const {
  return findIn(list, numbers, name);
}

Status SafetensorsReader::read(const SafetensorsTensor &tensor, int64_t begin,
                               int64_t bytes, void *destination) const {
  if (begin < 0 || bytes < 0 || begin > tensor.bytes ||
      bytes > tensor.bytes - begin)
    return invalid("{} bytes at byte {} of tensor {} of {}", bytes, begin,
                   quotedName(tensor.name), tensor.bytes);
  Status status = readAt(file, tensor.offset + begin, bytes, destination);
  return status.ok() ? status : cannotRead(path, status);
}

//===----------------------------------------------------------------------===//
// SafetensorsWriter
//===----------------------------------------------------------------------===//

/// Sorts the tensors and gives each its place after the header, whose text is
/// returned. Larger elements come first, so that all tensors are aligned.
static Status layOut(std::vector<SafetensorsTensor> &tensors,
                     const SafetensorsMetadata &metadata, std::string &text) {
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    int64_t aBytes = elementBytesOf(a.dtype), bBytes = elementBytesOf(b.dtype);
    return std::tie(bBytes, a.name) < std::tie(aBytes, b.name);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  // Older readers of models refuse a file without it.
  header[metadataKey] = {{"format", "pt"}};
  for (const auto &[key, value] : metadata)
    header[metadataKey][key] = value;
  int64_t end = 0;
  for (SafetensorsTensor &tensor : tensors) {
    if (header.contains(tensor.name))
      return invalid("a file cannot have {} tensor {}",
                     tensor.name == metadataKey ? "a" : "a second",
                     quotedName(tensor.name));
    tensor.offset = end;
    if (!multiply(tensor.shape, elementBytesOf(tensor.dtype), tensor.bytes) ||
        __builtin_add_overflow(end, tensor.bytes, &end))
      return invalid("tensor {} is too large", quotedName(tensor.name));
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {tensor.offset, end}}};
  }
  text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  for (SafetensorsTensor &tensor : tensors)
    tensor.offset += prefixBytes + static_cast<int64_t>(text.size());
  return {};
}

Status SafetensorsWriter::create(const std::string &path,
                                 std::vector<SafetensorsTensor> tensors,
                                 std::unique_ptr<SafetensorsWriter> &out,
                                 const SafetensorsMetadata &metadata) {
  std::string header;
  TPSP_TRY(layOut(tensors, metadata, header));
  std::unique_ptr<SafetensorsWriter> writer(new SafetensorsWriter);
  TPSP_TRY(writer->file.create(path));
  writer->list = std::move(tensors);
  writer->numbers = numbered(writer->list);
  uint64_t length = header.size();
  TPSP_TRY(writer->file.write(0, &length, prefixBytes));
  TPSP_TRY(writer->file.write(prefixBytes, header.data(), header.size()));
  out = std::move(writer);
  return {};
}

const SafetensorsTensor *
SafetensorsWriter::find(const std::string &name) const {
  return findIn(list, numbers, name);
}

Status SafetensorsWriter::join(const std::string &path, int64_t number,
                               std::vector<SafetensorsTensor> tensors,
                               std::unique_ptr<SafetensorsWriter> &out) {
  std::string header;
  TPSP_TRY(layOut(tensors, {}, header));
  std::unique_ptr<SafetensorsWriter> writer(new SafetensorsWriter);
  TPSP_TRY(writer->file.join(path, number));
  writer->list = std::move(tensors);
  writer->numbers = numbered(writer->list);
  out = std::move(writer);
  return {};
}

Status SafetensorsWriter::write(const SafetensorsTensor &tensor, int64_t begin,
                                const void *source, int64_t bytes) {
  if (begin < 0 || bytes < 0 || begin > tensor.bytes ||
      bytes > tensor.bytes - begin)
    return invalid("{} bytes at byte {} of tensor {} of {}", bytes, begin,
                   quotedName(tensor.name), tensor.bytes);
  return file.write(tensor.offset + begin, source, bytes);
}
