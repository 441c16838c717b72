#include "tpsp/Runtime/Driver/Tensors/SafetensorsSet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::rt;
using Json = nlohmann::json;

/// The largest size of an index, in bytes: the format's own limit on a header.
static constexpr int64_t maxIndexBytes = 100'000'000;
/// The most names that a message lists.
static constexpr size_t listed = 5;

static Status invalid(const std::string &path, const std::string &why) {
  return {TPSP_RT_INVALID, fmt::format("cannot read '{}': {}", path, why)};
}

/// Whether a file begins like an index. A safetensors file begins with the
/// length of its header, whose upper bytes are zero.
static bool isIndex(const std::string &path) {
  char begin[8] = {};
  FileHandle file;
  int64_t bytes = 0;
  return openToRead(path, file, bytes).ok() &&
         readAt(file, 0, std::min<int64_t>(bytes, sizeof begin), begin).ok() &&
         begin[0] == '{' && begin[7] != 0;
}

/// The tensors of each file, according to an index.
using Names = std::map<std::string, std::vector<std::string>>;

static Status readIndex(const std::string &path, Names &out) {
  std::string text;
  if (Status read = readWhole(path, maxIndexBytes, text); !read.ok())
    return invalid(path, read.message());
  Json index = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object())
    return invalid(path, "it is neither a safetensors file nor an index with a "
                         "'weight_map'");
  for (const auto &[tensor, name] : index["weight_map"].items()) {
    if (!name.is_string())
      return invalid(path, fmt::format("the file of tensor {} is no name",
                                       quotedName(tensor)));
    out[name.get<std::string>()].push_back(tensor);
  }
  return {};
}

Status SafetensorsSet::addFile(const std::string &path,
                               const std::vector<std::string> &wanted) {
  SafetensorsReader &reader = files[path];
  TPSP_TRY(SafetensorsReader::open(path, reader));
  std::vector<std::string> missing;
  for (const std::string &name : wanted) {
    const SafetensorsTensor *tensor = reader.find(name);
    if (tensor)
      stored[name] = {&reader, tensor};
    else if (missing.size() < listed)
      missing.push_back(quotedName(name));
  }
  if (missing.empty())
    return {};
  return invalid(path, fmt::format("it lacks tensors that the index says it "
                                   "has: {}",
                                   fmt::join(missing, ", ")));
}

Status SafetensorsSet::openIndex(const std::string &path) {
  Names names;
  indexPath = path;
  TPSP_TRY(readIndex(path, names));
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const auto &[name, tensors] : names) {
    // An index may only name files in its own folder.
    if (name.empty() || name == "." || name == ".." ||
        std::filesystem::path(name).filename() != name)
      return invalid(path, fmt::format("it names the file {}, which is not "
                                       "one beside it",
                                       quotedName(name)));
    TPSP_TRY(addFile((folder / name).string(), tensors));
  }
  return {};
}

Status SafetensorsSet::open(const std::string &path, SafetensorsSet &out) {
  out.stored.clear();
  out.files.clear();
  out.indexPath.clear();
  if (isIndex(path))
    return out.openIndex(path);
  SafetensorsReader &file = out.files[path];
  TPSP_TRY(SafetensorsReader::open(path, file));
  for (const SafetensorsTensor &tensor : file.tensors())
    out.stored[tensor.name] = {&file, &tensor};
  return {};
}

std::vector<std::string> SafetensorsSet::paths() const {
  std::vector<std::string> paths;
  if (!indexPath.empty())
    paths.push_back(indexPath);
  for (const auto &entry : files)
    paths.push_back(entry.first);
  return paths;
}

std::vector<std::string> SafetensorsSet::names() const {
  std::vector<std::string> names;
  for (const auto &entry : stored)
    names.push_back(entry.first);
  return names;
}

const SafetensorsTensor *SafetensorsSet::find(const std::string &name) const {
  auto it = stored.find(name);
  return it == stored.end() ? nullptr : it->second.tensor;
}

Status SafetensorsSet::read(const std::string &name, int64_t begin,
                            int64_t bytes, void *destination) const {
  const Stored &found = stored.at(name);
  return found.file->read(*found.tensor, begin, bytes, destination);
}
