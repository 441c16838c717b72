#include "tpsp/Runtime/Train/Checkpoint.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/JsonWriter.h"
#include "tpsp/Runtime/Driver/Files/FileHash.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"
#include "tpsp/Runtime/Driver/Tensors/Inputs.h"
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"
#include "tpsp/Runtime/Driver/Tensors/Weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

namespace fs = std::filesystem;

namespace tpsp::train {

/// training.json: a position, and the hashes of the other files.
struct StoredPosition {
  TrainingPosition position;
  /// Hexadecimal, by the file's name. Files of different checkpoints must not
  /// be mixed. Empty for an older checkpoint.
  std::map<std::string, std::string> files;
};

template <typename Object>
static void fields(Object &field, StoredPosition &stored) {
  TrainingPosition &position = stored.position;
  field("step", position.step);
  field("samples", position.samples);
  field("seed", position.seed);
  field("tokens", position.tokens);
  field("length", position.length, Rule{1, 1});
  field("settings", position.settings, optional);
  field("files", stored.files, optional);
}

} // namespace tpsp::train

static constexpr const char *parametersFile = "parameters.safetensors";
static constexpr const char *stateFile = "state.safetensors";
static constexpr const char *tensorFiles[] = {parametersFile, stateFile};
static constexpr const char *positionFile = "training.json";
/// The largest size of a position's file, in bytes.
static constexpr int64_t longestPosition = 1 << 20;
static constexpr const char *finishedPrefix = "step-";
static constexpr const char *unfinishedPrefix = ".saving-";
static constexpr const char *replacedSuffix = "-replaced";

static Status cannot(const char *verb, const fs::path &path,
                     const std::error_code &error) {
  return {TPSP_RT_INTERNAL, fmt::format("cannot {} '{}': {}", verb,
                                        path.string(), error.message())};
}

/// Orders folders by name. A replaced folder comes before the one that replaces
/// it.
static bool isEarlier(const fs::path &one, const fs::path &other) {
  auto key = [](const fs::path &path) {
    std::string name = path.filename().string();
    size_t suffix = name.rfind(replacedSuffix);
    return std::pair(name.substr(0, suffix), suffix == name.npos);
  };
  return key(one) < key(other);
}

/// The folders in `out` whose names begin with `prefix`, in order.
static std::vector<fs::path> foldersIn(const fs::path &out,
                                       const std::string &prefix) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const fs::directory_entry &entry : fs::directory_iterator(out, none))
    if (entry.is_directory(none) &&
        entry.path().filename().string().rfind(prefix, 0) == 0)
      found.push_back(entry.path());
  std::sort(found.begin(), found.end(), isEarlier);
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
      if (tensor.updatedBy < 0 || !tensor.isHeldAt(rank.coordinates()))
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

/// A rename in a folder is lasting only when the folder itself is on disk.
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

/// Renames the folder before removing it, so that a process that is killed
/// meanwhile leaves no incomplete checkpoint.
static void removeCheckpoint(const fs::path &path) {
  std::error_code error;
  fs::path doomed =
      path.parent_path() / (unfinishedPrefix + path.filename().string());
  fs::rename(path, doomed, error);
  if (!error)
    fs::remove_all(doomed, error);
}

/// Puts a written checkpoint in its place. A run that resumed from an earlier
/// step may find a checkpoint of the same step there. The two are then
/// exchanged. If the file system cannot do that, the older one stays a
/// checkpoint under another name until the newer one is in place.
static Status publish(const fs::path &unfinished, const fs::path &finished) {
  TPSP_TRY(syncFolder(unfinished));
  std::error_code error;
  bool isThere = fs::exists(finished, error);
  if (isThere && ::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD,
                             finished.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(unfinished, error);
    return syncFolder(finished.parent_path());
  }
  fs::path replaced = finished;
  replaced += replacedSuffix;
  if (isThere)
    fs::rename(finished, replaced, error);
  if (!error)
    fs::rename(unfinished, finished, error);
  if (error)
    return cannot("write", finished, error);
  TPSP_TRY(syncFolder(finished.parent_path()));
  if (fs::exists(replaced, error))
    removeCheckpoint(replaced);
  return {};
}

static void removeOld(const fs::path &out, int64_t keep) {
  std::vector<fs::path> all = foldersIn(out, finishedPrefix);
  for (int64_t i = 0; keep > 0 && i + keep < int64_t(all.size()); ++i)
    removeCheckpoint(all[i]);
}

static Status writePosition(const fs::path &folder,
                            const TrainingPosition &position) {
  StoredPosition stored{position, {}};
  for (const char *name : tensorFiles) {
    uint64_t hash = 0;
    TPSP_TRY(hashFile((folder / name).string(), HashedPart::Whole, hash));
    stored.files[name] = fmt::format("{:016x}", hash);
  }
  return writeText((folder / positionFile).string(),
                   writtenFields(stored).dump(2) + "\n");
}

/// Removes the temporary files of WholeFile.
static void removeUnfinishedFiles(const fs::path &out) {
  std::error_code none;
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(out, none))
    if (entry.is_regular_file(none) && entry.path().extension() == ".tmp")
      files.push_back(entry.path());
  for (const fs::path &path : files)
    fs::remove(path, none);
}

void tpsp::train::prepareFolder(const std::string &out) {
  std::error_code none;
  removeUnfinishedFiles(out);
  for (const fs::path &path : foldersIn(out, unfinishedPrefix))
    fs::remove_all(path, none);
  for (const fs::path &path : foldersIn(out, finishedPrefix)) {
    fs::path replaced = path;
    replaced += replacedSuffix;
    if (isCheckpoint(path) && isCheckpoint(replaced))
      removeCheckpoint(replaced);
  }
}

/// Saves all tensors. All processes contribute theirs, even if the folder could
/// not be written.
static Status saveAllTensors(World &world, const Plan &plan,
                             const fs::path &folder) {
  Status status;
  for (auto [file, which] :
       {std::pair(parametersFile, SavedTensors::Parameters),
        std::pair(stateFile, SavedTensors::State)}) {
    Status saved = saveTensors(world, plan, (folder / file).string(), which);
    if (status.ok())
      status = saved;
  }
  return status;
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
  if (Status saved = saveAllTensors(world, plan, unfinished); status.ok())
    status = saved;
  if (writes && status.ok())
    status = writePosition(unfinished, position);
  if (writes && status.ok())
    status = publish(unfinished, finished);
  if (!status.ok()) {
    std::error_code none;
    if (writes)
      fs::remove_all(unfinished, none);
    return status;
  }
  if (writes)
    removeOld(out, keep);
  return world.waitForFirst();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool tpsp::train::hasCheckpoints(const std::string &path) {
  return !foldersIn(path, finishedPrefix).empty();
}

/// The last folder of a run should be complete, because it was renamed to its
/// place. If it is not, files were removed from it, and the user must know
/// before resuming.
static Status incomplete(const std::vector<fs::path> &all) {
  std::string older;
  for (const fs::path &path : all)
    if (isCheckpoint(path))
      older = path.string();
  return invalid(
      "'{}' has no {}, so it is no checkpoint; {}", all.back().string(),
      positionFile,
      older.empty()
          ? "remove it, and begin anew"
          : fmt::format("remove it, and the last one is '{}'", older));
}

Status tpsp::train::findCheckpoint(const std::string &path,
                                   std::string &checkpoint) {
  checkpoint = path;
  if (isCheckpoint(path))
    return {};
  std::vector<fs::path> all = foldersIn(path, finishedPrefix);
  if (all.empty())
    return invalid("there is no checkpoint in '{}'", path);
  if (!isCheckpoint(all.back()))
    return incomplete(all);
  checkpoint = all.back().string();
  return {};
}

/// Reads the files that `files` of training.json lists, with their hashes.
static Status readHashes(const std::map<std::string, std::string> &files,
                         const fs::path &folder, std::vector<AgreedFile> &out) {
  std::string path = (folder / positionFile).string();
  for (const char *name : tensorFiles) {
    AgreedFile file{"--resume", (folder / name).string()};
    auto found = files.find(name);
    std::string text = found == files.end() ? "" : found->second;
    const char *end = text.data() + text.size();
    uint64_t hash = 0;
    auto parsed = std::from_chars(text.data(), end, hash, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end)
      return invalid("'{}' says '{}' of '{}', which is no hash", path, text,
                     name);
    file.expected = hash;
    file.expectedBy = "'" + path + "'";
    out.push_back(std::move(file));
  }
  return {};
}

static Status checkThere(const fs::path &folder) {
  std::error_code none;
  for (const char *name : tensorFiles)
    if (!fs::is_regular_file(folder / name, none))
      return invalid("checkpoint '{}' lacks '{}'; give --resume another one",
                     folder.string(), name);
  return {};
}

Status tpsp::train::readCheckpoint(const std::string &checkpoint,
                                   TrainingPosition &position,
                                   std::vector<AgreedFile> &files,
                                   std::string &warning) {
  std::string path = (fs::path(checkpoint) / positionFile).string();
  std::string text, problem;
  OrderedJson json;
  Status read = readWhole(path, longestPosition, text);
  if (read.ok())
    read = parseJson(text, json);
  if (!read.ok())
    return invalid("cannot read '{}': {}", path, read.message());
  StoredPosition stored;
  readFields(json, {"", problem}, stored);
  if (!problem.empty())
    return invalid("'{}' is not the position of a training run: {}", path,
                   problem);
  position = stored.position;
  files = {{"--resume", path}};
  TPSP_TRY(checkThere(checkpoint));
  if (!stored.files.empty())
    return readHashes(stored.files, checkpoint, files);
  for (const char *name : tensorFiles)
    files.push_back({"--resume", (fs::path(checkpoint) / name).string()});
  warning = fmt::format("'{}' is of an older version and does not say which "
                        "tensors belong to it; they are taken as they are",
                        path);
  return {};
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
