#include "CheckpointFolder.h"
#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>

using namespace tpsp;
using namespace tpsp::rt;
using Json = nlohmann::json;

namespace fs = std::filesystem;

/// Files of a folder that may hold weights; the first that exists is read.
static constexpr const char *weightsFiles[] = {"model.safetensors.index.json",
                                               "model.safetensors",
                                               "parameters.safetensors"};
/// The largest size of a model's configuration, in bytes.
static constexpr int64_t longestConfig = 16 << 20;
/// The file that is written.
static constexpr const char *writtenFile = "model.safetensors";

Status tpsp::rt::weightsFileOf(const std::string &path, std::string &file) {
  std::error_code none;
  file = path;
  if (!fs::is_directory(path, none))
    return {};
  for (const char *name : weightsFiles)
    if (fs::exists(fs::path(path) / name, none)) {
      file = (fs::path(path) / name).string();
      return {};
    }
  return invalid("folder '{}' has no weights: none of {}", path,
                 fmt::join(weightsFiles, ", "));
}

std::string tpsp::rt::weightsFileToWrite(const std::string &path) {
  std::error_code none;
  bool isFolder = fs::is_directory(path, none);
  return isFolder ? (fs::path(path) / writtenFile).string() : path;
}

std::string tpsp::rt::architectureBeside(const std::string &file) {
  std::string text;
  fs::path path = fs::path(file).parent_path() / "config.json";
  if (!readWhole(path.string(), longestConfig, text).ok())
    return "";
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    return "";
  Json names = config.value("architectures", Json());
  bool hasName = names.is_array() && !names.empty() && names[0].is_string();
  return hasName ? names[0].get<std::string>() : "";
}
