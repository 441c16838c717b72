#include "tpsp/Runtime/Driver/Tensors/Npy.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <string_view>

using namespace tpsp;
using namespace tpsp::rt;

static constexpr std::string_view magic = "\x93NUMPY";
/// Usual headers are far shorter; the format's own limit is four gigabytes.
static constexpr int64_t maxHeaderBytes = 1 << 20;
/// NumPy's own limit on dimensions.
static constexpr size_t maxDimensions = 64;

static Status cannotRead(const std::string &path, const Status &why) {
  return {why.code(), fmt::format("cannot read '{}': {}", path, why.message())};
}

namespace {

/// The header's text: a dictionary, written as Python would.
class HeaderText {
public:
  explicit HeaderText(std::string_view text) : rest(text) {}

  /// Splits the text into keys and values, as they are written. Returns false
  /// if it is not a dictionary of strings to strings, words and lists of
  /// numbers.
  bool split(std::map<std::string, std::string> &out) {
    if (!take("{"))
      return false;
    while (!take("}")) {
      std::string key, value;
      if (!readString(key) || !take(":") || !readValue(value) ||
          !out.emplace(key, value).second)
        return false;
      if (!take(",") && !startsWith("}"))
        return false;
    }
    return rest.find_first_not_of(" \n") == rest.npos;
  }

private:
  bool startsWith(std::string_view token) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
    return rest.substr(0, token.size()) == token;
  }
  bool take(std::string_view token) {
    if (!startsWith(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }
  /// Reads up to `end`, and skips `end`.
  bool readUntil(char end, std::string &out) {
    size_t at = rest.find(end);
    if (at == rest.npos)
      return false;
    out += rest.substr(0, at);
    rest.remove_prefix(at + 1);
    return true;
  }
  bool readString(std::string &out) {
    for (char quote : {'\'', '"'})
      if (take({&quote, 1}))
        return readUntil(quote, out);
    return false;
  }
  bool readValue(std::string &out) {
    if (take("("))
      return readUntil(')', out);
    // A list holds the fields of a structured type.
    if (startsWith("["))
      return readUntil(']', out);
    if (startsWith("'") || startsWith("\""))
      return readString(out);
    size_t end = std::min(rest.find_first_of(",}"), rest.size());
    out = rest.substr(0, end);
    rest.remove_prefix(end);
    return true;
  }

  std::string_view rest;
};

} // namespace

/// Reads "4, 64" or "4,": numbers from 0 to 2^63 - 1.
static bool readShape(std::string_view text, std::vector<int64_t> &out) {
  const char *at = text.data(), *end = at + text.size();
  auto skip = [&] {
    while (at != end && *at == ' ')
      ++at;
  };
  for (skip(); at != end; skip()) {
    int64_t extent = 0;
    auto parsed = std::from_chars(at, end, extent);
    if (parsed.ec != std::errc() || extent < 0 || out.size() == maxDimensions)
      return false;
    out.push_back(extent);
    at = parsed.ptr;
    skip();
    if (at != end && *at++ != ',')
      return false;
  }
  return true;
}

static Status readType(const std::string &descr, int64_t &out) {
  constexpr std::pair<const char *, int64_t> types[] = {
      {"<i4", TPSP_RT_I32}, {"<i8", TPSP_RT_I64}, {"<f4", TPSP_RT_F32},
      {"<f8", TPSP_RT_F64}, {"<f2", TPSP_RT_F16},
  };
  for (auto [name, dtype] : types)
    if (descr == name) {
      out = dtype;
      return {};
    }
  return unknownNpyType(descr, "'<i4', '<i8', '<f4', '<f8' and '<f2' are read, "
                               "and bf16 from safetensors");
}

Status tpsp::rt::unknownNpyType(const std::string &type,
                                const std::string &known) {
  if (type[0] == '>')
    return invalid("it is big endian ({}); save it with "
                   ".astype('<{}')",
                   quotedName(type), type.substr(1));
  return invalid("its elements are {}; {}", quotedName(type), known);
}

/// Reads the text of the header, and finds where it ends.
static Status readText(const FileHandle &file, int64_t fileBytes,
                       std::string &text, int64_t &end) {
  constexpr int64_t versionAt = magic.size(), lengthAt = versionAt + 2;
  // The prefix is little endian, as is this machine.
  struct {
    char magic[::magic.size()];
    uint8_t major, minor;
  } prefix = {};
  uint32_t length = 0;
  if (fileBytes < lengthAt + 2)
    return invalid("it is cut short or no .npy file");
  TPSP_TRY(readAt(file, 0, lengthAt, &prefix));
  if (std::string_view(prefix.magic, magic.size()) != magic)
    return invalid("it is no .npy file");
  if (prefix.major < 1 || prefix.major > 3)
    return invalid("it has version {}.{} of its format; 1 to 3 are "
                   "read",
                   prefix.major, prefix.minor);
  int64_t width = prefix.major == 1 ? 2 : 4;
  if (fileBytes < lengthAt + width)
    return invalid("it is cut short");
  TPSP_TRY(readAt(file, lengthAt, width, &length));
  end = lengthAt + width + length;
  if (length > maxHeaderBytes || end > fileBytes)
    return invalid("its header would have {} bytes, of the {} that "
                   "follow: it is cut short or no .npy file",
                   length, fileBytes - lengthAt - width);
  text.resize(length);
  return readAt(file, lengthAt + width, length, text.data());
}

Status tpsp::rt::readNpyHeader(const FileHandle &file, int64_t fileBytes,
                               NpyHeader &out) {
  std::string text;
  NpyHeader header;
  TPSP_TRY(readText(file, fileBytes, text, header.begin));
  std::map<std::string, std::string> entries;
  if (!HeaderText(text).split(entries) || !entries.count("descr") ||
      !entries.count("fortran_order") || !entries.count("shape") ||
      entries["descr"].empty())
    return invalid("its header is no dictionary of descr, fortran_order and "
                   "shape");
  header.type = entries["descr"];
  if (entries["fortran_order"] != "False")
    return invalid("it is in Fortran order; save it with "
                   "numpy.ascontiguousarray");
  if (!readShape(entries["shape"], header.shape))
    return invalid("its shape {} is no list of extents",
                   quotedName(entries["shape"]));
  out = std::move(header);
  return {};
}

Status NpyReader::readHeader(int64_t fileBytes) {
  NpyHeader header;
  TPSP_TRY(readNpyHeader(file, fileBytes, header));
  TPSP_TRY(readType(header.type, type));
  extents = std::move(header.shape);
  begin = header.begin;
  bytes = elementBytes(type);
  for (int64_t extent : extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return invalid("its shape [{}] is too large", fmt::join(extents, ", "));
  if (bytes != fileBytes - begin)
    return invalid("{} of [{}] are {} bytes, but it has {} behind "
                   "its header",
                   elementName(type), fmt::join(extents, ", "), bytes,
                   fileBytes - begin);
  return {};
}

Status NpyReader::open(const std::string &path, NpyReader &out) {
  out.path = path;
  out.extents.clear();
  int64_t fileBytes = 0;
  Status status = openToRead(path, out.file, fileBytes);
  if (status.ok())
    status = out.readHeader(fileBytes);
  return status.ok() ? status : cannotRead(path, status);
}

bool NpyReader::looksLike(const std::string &path) {
  FileHandle file;
  int64_t bytes = 0;
  char begin[magic.size()] = {};
  return openToRead(path, file, bytes).ok() && bytes >= int64_t(magic.size()) &&
         readAt(file, 0, magic.size(), begin).ok() &&
         std::string_view(begin, magic.size()) == magic;
}

Status NpyReader::read(int64_t from, int64_t count, void *destination) const {
  if (from < 0 || count < 0 || from > bytes || count > bytes - from)
    return invalid("{} bytes at byte {} of '{}', which has {}", count, from,
                   path, bytes);
  Status status = readAt(file, begin + from, count, destination);
  return status.ok() ? status : cannotRead(path, status);
}
