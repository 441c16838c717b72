#include "tpsp/Runtime/Train/Checkpoint.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Inputs.h"
#include "tpsp/Runtime/Driver/Safetensors.h"
#include "tpsp/Runtime/Driver/Weights.h"
#include "tpsp/Runtime/Driver/WholeFile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;
using Json = nlohmann::json;

namespace fs = std::filesystem;

namespace tpsp::train {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainingPosition, step, samples, seed,
                                   tokens, length)
} // namespace tpsp::train

static constexpr const char *parametersFile = "parameters.safetensors";
static constexpr const char *stateFile = "state.safetensors";
static constexpr const char *positionFile = "training.json";
/// The bytes that a position may have.
static constexpr int64_t longestPosition = 1 << 20;
static constexpr const char *finishedPrefix = "step-";
static constexpr const char *unfinishedPrefix = ".saving-";

static Status cannot(const char *verb, const fs::path &path,
                     const std::error_code &error) {
  return {TPSP_RT_INTERNAL, fmt::format("cannot {} '{}': {}", verb,
                                        path.string(), error.message())};
}

/// The folders in `out` whose names begin so, sorted by name.
static std::vector<fs::path> foldersIn(const fs::path &out,
                                       const std::string &prefix) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const fs::directory_entry &entry : fs::directory_iterator(out, none))
    if (entry.is_directory(none) &&
        entry.path().filename().string().rfind(prefix, 0) == 0)
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

static bool isCheckpoint(const fs::path &path) {
  std::error_code none;
  return fs::is_regular_file(path / positionFile, none);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Status tpsp::train::checkCheckpoint(const Plan &plan) {
  TPSP_TRY(checkSavable(plan, SavedTensors::Parameters));
  return checkSavable(plan, SavedTensors::State);
}

static bool isFinite(const PlanBuffer &tensor, const void *memory) {
  int64_t elements = tensor.bytes / elementBytes(tensor.dtype);
  for (int64_t i = 0; i < elements; ++i)
    if (!std::isfinite(loadFloat(memory, tensor.dtype, i)))
      return false;
  return true;
}

Status tpsp::train::checkFinite(World &world, const Plan &plan) {
  return world.run([&](Rank &rank) -> Status {
    std::vector<char> copy;
    for (const PlanBuffer &tensor : plan.tensors()) {
      if (tensor.updatedBy < 0)
        continue;
      auto check = [&](const void *memory) -> Status {
        if (isFinite(tensor, memory))
          return {};
        return invalid("{} is not finite any more", quotedName(tensor.name));
      };
      TPSP_TRY(rank.inspect(*tensor.offset, tensor.bytes, copy, check));
    }
    return {};
  });
}

/// What was renamed in a folder stays so only when the folder is on disk.
static Status syncFolder(const fs::path &path) {
  FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.isOpen() && (::fsync(folder.get()) == 0 || errno == EINVAL))
    return {};
  return cannot("write", path, std::error_code(errno, std::generic_category()));
}

static Status makeFolder(const fs::path &path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? cannot("make folder", path, error) : Status();
}

/// Puts what was written in its place, whole. The same step may be there, of a
/// run that was resumed before it: the two change places.
static Status publish(const fs::path &unfinished, const fs::path &finished) {
  TPSP_TRY(syncFolder(unfinished));
  std::error_code error;
  bool isThere = fs::exists(finished, error);
  if (isThere && ::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD,
                             finished.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(unfinished, error);
    return syncFolder(finished.parent_path());
  }
  // A file system that cannot do that.
  if (isThere)
    fs::remove_all(finished, error);
  fs::rename(unfinished, finished, error);
  if (error)
    return cannot("write", finished, error);
  return syncFolder(finished.parent_path());
}

/// Under another name first: what is killed meanwhile leaves no half of a
/// checkpoint.
static void removeOld(const fs::path &out, int64_t keep) {
  std::vector<fs::path> all = foldersIn(out, finishedPrefix);
  std::error_code error;
  for (int64_t i = 0; keep > 0 && i + keep < int64_t(all.size()); ++i) {
    fs::path doomed = out / (unfinishedPrefix + all[i].filename().string());
    fs::rename(all[i], doomed, error);
    fs::remove_all(error ? all[i] : doomed, error);
  }
}

Status tpsp::train::prepareFolder(const std::string &out) {
  TPSP_TRY(makeFolder(out));
  std::error_code none;
  for (const fs::path &path : foldersIn(out, unfinishedPrefix))
    fs::remove_all(path, none);
  return {};
}

Status tpsp::train::saveCheckpoint(World &world, const Plan &plan,
                                   const std::string &out,
                                   const TrainingPosition &position,
                                   int64_t keep) {
  std::string name = fmt::format("{}{:08}", finishedPrefix, position.step);
  fs::path finished = fs::path(out) / name;
  fs::path unfinished = fs::path(out) / (unfinishedPrefix + name);
  bool writes = world.hasFirstRank();
  Status status = writes ? makeFolder(unfinished) : Status();
  // All processes show their tensors, whatever became of the folder.
  for (auto [file, which] :
       {std::pair(parametersFile, SavedTensors::Parameters),
        std::pair(stateFile, SavedTensors::State)}) {
    Status saved =
        saveTensors(world, plan, (unfinished / file).string(), which);
    if (status.ok())
      status = saved;
  }
  if (!writes)
    return status;
  if (status.ok())
    status = writeText((unfinished / positionFile).string(),
                       Json(position).dump(2) + "\n");
  if (status.ok())
    status = publish(unfinished, finished);
  if (!status.ok()) {
    std::error_code none;
    fs::remove_all(unfinished, none);
    return status;
  }
  removeOld(out, keep);
  return {};
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Status tpsp::train::findCheckpoint(const std::string &path,
                                   std::string &checkpoint) {
  checkpoint = path;
  if (isCheckpoint(path))
    return {};
  std::vector<fs::path> all = foldersIn(path, finishedPrefix);
  while (!all.empty() && !isCheckpoint(all.back()))
    all.pop_back();
  if (all.empty())
    return invalid("there is no checkpoint in '{}'", path);
  checkpoint = all.back().string();
  return {};
}

Status tpsp::train::readPosition(const std::string &checkpoint,
                                 TrainingPosition &out) {
  std::string path = (fs::path(checkpoint) / positionFile).string();
  std::string text;
  if (Status read = readWhole(path, longestPosition, text); !read.ok())
    return invalid("cannot read '{}': {}", path, read.message());
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    TrainingPosition position = json.get<TrainingPosition>();
    if (position.step < 0 || position.samples < 0 || position.length < 1)
      return invalid("'{}' has a position that no run has", path);
    out = position;
    return {};
  } catch (const Json::exception &) {
    return invalid("'{}' is not the position of a training run", path);
  }
}

Status tpsp::train::openCheckpoint(const std::string &checkpoint,
                                   const Plan &plan,
                                   std::unique_ptr<TensorSource> others,
                                   std::unique_ptr<TensorSource> &out) {
  auto parameters = std::make_unique<WeightsSource>(std::move(others));
  std::string unused;
  TPSP_TRY(parameters->open((fs::path(checkpoint) / parametersFile).string(),
                            plan, unused));
  if (!unused.empty())
    return {TPSP_RT_INVALID, unused};
  auto source = std::make_unique<InputsSource>();
  TPSP_TRY(source->openFile({(fs::path(checkpoint) / stateFile).string(), ""},
                            plan));
  std::set<std::string> given = source->given();
  std::vector<std::string> missing;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.kind == BufferKind::State && given.count(tensor.name) == 0)
      missing.push_back(quotedName(tensor.name));
  if (!missing.empty())
    return invalid("checkpoint '{}' lacks {}; --weights takes its "
                   "parameters alone, and begins with new state",
                   checkpoint, fmt::join(missing, ", "));
  source->setOthers(std::move(parameters));
  out = std::move(source);
  return {};
}
