#include "tpsp/Check/Dump.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Runtime/Driver/Comparison/ReferenceArguments.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::check;
using rt::invalid;
using rt::quotedName;
using rt::Status;

/// A dump has at most as many ranks as a mesh.
static constexpr int64_t mostRanks = 65536;

std::string DumpEntry::title() const {
  return name.empty() ? nameOf(role) : fmt::format("{}:{}", nameOf(role), name);
}

void DumpedTensor::decode() {
  if (bytes.empty())
    return;
  values.resize(int64_t(bytes.size()) / rt::elementBytes(dtype));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = rt::loadNumber(bytes.data(), dtype, int64_t(i));
  bytes = {};
}

void tpsp::check::parseTitle(const std::string &title, DumpRole &role,
                             std::string &name) {
  role = DumpRole::Gradient;
  name = title;
  for (DumpRole alone : {DumpRole::Loss, DumpRole::Norm})
    if (title == nameOf(alone)) {
      role = alone;
      name.clear();
    }
  size_t colon = title.find(':');
  if (colon == std::string::npos)
    return;
  for (size_t i = 0; i < size_t(DumpRole::Loss); ++i)
    if (title.substr(0, colon) == nameOf(DumpRole(i))) {
      role = DumpRole(i);
      name = title.substr(colon + 1);
    }
}

/// Reads a whole number that fills the text.
static bool parseNumber(std::string_view text, int64_t &out) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

/// The parts of a text between commas.
static std::vector<std::string> partsOf(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    // A comma within brackets belongs to its part.
    size_t end = begin;
    int depth = 0;
    for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
      depth += (text[end] == '(') - (text[end] == ')');
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Splits "tp=3".
static bool parseEntry(const std::string &text, std::string &key,
                       std::string &value) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return false;
  key = text.substr(0, equals);
  value = text.substr(equals + 1);
  return true;
}

/// Reads "dp=1,tp=0"; false if the text is something else.
static bool parseSizes(const std::string &text,
                       std::vector<std::pair<std::string, int64_t>> &out) {
  out.clear();
  if (text.empty())
    return true;
  for (const std::string &part : partsOf(text)) {
    std::string key, value;
    int64_t number = 0;
    if (!parseEntry(part, key, value) || !parseNumber(value, number))
      return false;
    out.push_back({key, number});
  }
  return true;
}

bool tpsp::check::parseMesh(const std::string &text,
                            std::vector<MeshAxis> &out) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  if (!parseSizes(text, sizes))
    return false;
  out.clear();
  for (const auto &[name, size] : sizes)
    out.push_back({name, size});
  rt::RankMesh mesh;
  return rt::RankMesh::create(out, mesh).ok();
}

namespace {

/// Reads the files of a dump, one after another.
class DumpReader {
public:
  DumpReader(Dump &out, const DumpReading &reading)
      : out(out), reading(reading) {}

  Status read() {
    TPSP_TRY(findFiles());
    TPSP_TRY(checkMemory());
    for (int64_t rank = 0; rank < out.numRanks; ++rank)
      TPSP_TRY(readFile(rank));
    for (auto &[title, entry] : entries)
      out.entries.push_back(std::move(entry));
    if (out.entries.empty() && !reading.keeps)
      return invalid("the files of '{}' have no tensors; write gradients, "
                     "parameters or activations (docs/Check.md)",
                     out.path);
    return {};
  }

private:
  std::string pathOf(int64_t rank) const {
    return fmt::format("{}/rank{}.safetensors", out.path, rank);
  }

  /// Files must be numbered from 0 without a gap.
  Status findFiles() {
    namespace fs = std::filesystem;
    std::error_code error;
    if (!fs::is_directory(out.path, error))
      return invalid("'{}' is no folder; --numbers takes the folder of the "
                     "ranks' files, rank0.safetensors and so on",
                     out.path);
    std::vector<int64_t> found;
    for (const auto &file : fs::directory_iterator(out.path, error)) {
      std::string name = file.path().filename().string();
      int64_t rank = 0;
      if (file.path().extension() == ".safetensors" &&
          name.compare(0, 4, "rank") == 0 &&
          parseNumber(file.path().stem().string().substr(4), rank) && rank >= 0)
        found.push_back(rank);
    }
    if (error)
      return invalid("cannot read '{}': {}", out.path, error.message());
    std::sort(found.begin(), found.end());
    if (found.empty())
      return invalid("'{}' has no rank0.safetensors; write a file for each "
                     "rank (docs/Check.md)",
                     out.path);
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i] != int64_t(i))
        return invalid("'{}' has rank{}.safetensors but no "
                       "rank{}.safetensors; every rank writes a file",
                       out.path, found.back(), i);
    if (int64_t(found.size()) > mostRanks)
      return invalid("'{}' has files of {} ranks, and a mesh has at most {}",
                     out.path, found.size(), mostRanks);
    out.numRanks = int64_t(found.size());
    taken.assign(found.size(), false);
    return {};
  }

  bool isRead(const rt::SafetensorsTensor &tensor) const {
    DumpRole role;
    std::string name;
    parseTitle(tensor.name, role, name);
    return !reading.keeps || reading.keeps(role, name);
  }

  bool staysBytes(DumpRole role) const {
    return reading.keepsBytes &&
           (role == DumpRole::Gradient || role == DumpRole::Updated);
  }

  /// The bytes that the values of a tensor take.
  int64_t heldBytes(const rt::SafetensorsTensor &tensor, int64_t dtype) const {
    DumpRole role;
    std::string name;
    parseTitle(tensor.name, role, name);
    int64_t each =
        staysBytes(role) ? rt::elementBytes(dtype) : int64_t(sizeof(double));
    return tensor.bytes / rt::elementBytes(dtype) * each;
  }

  Status checkMemory() const {
    int64_t needed = 0;
    for (int64_t rank = 0; rank < out.numRanks && reading.withValues; ++rank) {
      rt::SafetensorsReader file;
      TPSP_TRY(rt::SafetensorsReader::open(pathOf(rank), file));
      for (const rt::SafetensorsTensor &tensor : file.tensors())
        if (auto dtype = rt::elementTypeOf(tensor.dtype);
            dtype && isRead(tensor))
          needed += heldBytes(tensor, *dtype);
    }
    return rt::checkHostMemory(
        needed, fmt::format("the dump '{}' in f64", out.path),
        "check it layer by layer (--layers), or dump fewer layers");
  }

  Status readFile(int64_t rank) {
    rt::SafetensorsReader file;
    TPSP_TRY(rt::SafetensorsReader::open(pathOf(rank), file));
    int64_t place = rank;
    TPSP_TRY(readMesh(rank, file.metadata()));
    TPSP_TRY(readCoordinates(rank, file.metadata(), place));
    if (taken[place])
      return invalid("'{}' says in tpsp.coords that it is of rank {}, and so "
                     "does another file",
                     pathOf(rank), place);
    taken[place] = true;
    for (const rt::SafetensorsTensor &tensor : file.tensors())
      if (isRead(tensor))
        TPSP_TRY(readTensor(rank, place, file, tensor));
    return {};
  }

  Status readMesh(int64_t rank, const rt::SafetensorsMetadata &metadata) {
    auto found = metadata.find("tpsp.rank");
    if (found != metadata.end() && found->second != fmt::to_string(rank))
      return invalid("'{}' says that it is of rank {}; name it so",
                     pathOf(rank), quotedName(found->second));
    found = metadata.find("tpsp.mesh");
    std::string text = found == metadata.end() ? "" : found->second;
    if (rank > 0 && text != meshText)
      return invalid("'{}' has the mesh {} in its metadata, and '{}' {}; the "
                     "files are not of one run",
                     pathOf(rank), quotedName(text), pathOf(0),
                     quotedName(meshText));
    meshText = text;
    if (rank > 0 || text.empty())
      return {};
    if (!parseMesh(text, out.mesh))
      return invalid("'{}' has tpsp.mesh {} in its metadata; write axes and "
                     "sizes, major first, such as dp=2,tp=3",
                     pathOf(rank), quotedName(text));
    int64_t ranks = 1;
    for (const MeshAxis &axis : out.mesh)
      ranks *= axis.size;
    if (ranks != out.numRanks)
      return invalid("'{}' has files of {} ranks, and the mesh of their "
                     "metadata, {}, has {}",
                     out.path, out.numRanks, text, ranks);
    return {};
  }

  /// Sets `place` to the row-major number of the rank's coordinates.
  Status readCoordinates(int64_t rank, const rt::SafetensorsMetadata &metadata,
                         int64_t &place) {
    auto found = metadata.find("tpsp.coords");
    if (found == metadata.end() || out.mesh.empty())
      return {};
    std::vector<std::pair<std::string, int64_t>> at;
    bool isRight =
        parseSizes(found->second, at) && at.size() == out.mesh.size();
    place = 0;
    for (size_t i = 0; isRight && i < at.size(); ++i) {
      const MeshAxis &axis = out.mesh[i];
      isRight = at[i].first == axis.name && at[i].second >= 0 &&
                at[i].second < axis.size;
      place = place * axis.size + at[i].second;
    }
    if (isRight)
      return {};
    return invalid(
        "'{}' has tpsp.coords {} in its metadata; write a coordinate "
        "for each axis of {}, in this order",
        pathOf(rank), quotedName(found->second), meshText);
  }

  Status readTensor(int64_t rank, int64_t place,
                    const rt::SafetensorsReader &file,
                    const rt::SafetensorsTensor &tensor) {
    std::optional<int64_t> dtype = rt::elementTypeOf(tensor.dtype);
    if (!dtype)
      return invalid("tensor {} of '{}' has the type {}; write F64, F32, BF16 "
                     "or F16",
                     quotedName(tensor.name), pathOf(rank), tensor.dtype);
    DumpRole role;
    std::string name;
    parseTitle(tensor.name, role, name);
    DumpEntry &entry = entries[{role, name}];
    entry.role = role;
    entry.name = name;
    entry.ranks.resize(out.numRanks);
    if (entry.ranks[place])
      return invalid("'{}' has {} twice, as {} and without grad:", pathOf(rank),
                     entry.title(), quotedName(tensor.name));
    readPlacement(file.metadata(), tensor.name, entry);
    DumpedTensor &values = entry.ranks[place].emplace();
    values.dtype = *dtype;
    values.shape = tensor.shape;
    if (!reading.withValues)
      return {};
    values.bytes.resize(tensor.bytes);
    TPSP_TRY(file.read(tensor, 0, tensor.bytes, values.bytes.data()));
    if (!staysBytes(role))
      values.decode();
    return {};
  }

  static void readPlacement(const rt::SafetensorsMetadata &metadata,
                            const std::string &name, DumpEntry &entry) {
    auto found = metadata.find("placement:" + name);
    if (found == metadata.end())
      return;
    for (const std::string &part : partsOf(found->second)) {
      std::string axis, how;
      // "_StridedShard(dim=0, sf=2)" has an equals sign of its own.
      if (parseEntry(part, axis, how))
        entry.placement[axis] = how;
    }
  }

  Dump &out;
  const DumpReading &reading;
  std::string meshText;
  /// The ranks whose file has been read.
  std::vector<bool> taken;
  std::map<std::pair<DumpRole, std::string>, DumpEntry> entries;
};

} // namespace

Status tpsp::check::readDump(const std::string &path, Dump &out,
                             const DumpReading &reading) {
  out = {};
  out.path = path;
  return DumpReader(out, reading).read();
}
