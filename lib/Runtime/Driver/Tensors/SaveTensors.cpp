#include "tpsp/Runtime/Driver/Tensors/Weights.h"

#include "CheckpointFolder.h"
#include "StoredParameter.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/PartialTensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

using namespace tpsp;
using namespace tpsp::rt;

static std::vector<const PlanBuffer *> select(const Plan &plan,
                                              SavedTensors which) {
  std::vector<const PlanBuffer *> selected;
  BufferKind kind =
      which == SavedTensors::State ? BufferKind::State : BufferKind::Parameter;
  for (const PlanBuffer &tensor : plan.tensors())
    if (which == SavedTensors::All ? tensor.kind != BufferKind::Choice
                                   : tensor.kind == kind)
      selected.push_back(&tensor);
  return selected;
}

/// The place of a tensor in a file. A parameter's name says where it lies; all
/// other tensors have their own name.
static StoredParameter writtenPlace(const PlanBuffer &tensor,
                                    SavedTensors which) {
  PlanBuffer plain = tensor;
  if (which != SavedTensors::Parameters)
    plain.kind = BufferKind::Input;
  return StoredParameter(plain);
}

namespace {

/// A tensor of the file to be written.
struct FileTensor {
  SafetensorsTensor tensor;
  /// The parts present so far: positions [begin, end) of the dimension that is
  /// cut.
  std::vector<std::pair<int64_t, int64_t>> parts;
};

} // namespace

/// Keyed by name; parts of one tensor share an entry.
using FileTensors = std::map<std::string, FileTensor>;

static Status clash(const PlanBuffer &tensor, const std::string &name,
                    SavedTensors which) {
  bool areParameters = which == SavedTensors::Parameters;
  const char *what = areParameters ? "parameter" : "tensor";
  if (tensor.name == name)
    return invalid("two {}s are called {}; in a file names must differ: "
                   "give one of them another {}",
                   what, quotedName(name),
                   areParameters ? "tpsp.param" : "tpsp.name");
  return invalid("{} {} is a part of {}, as another of other shape, type "
                 "or place is",
                 what, quotedName(tensor.name), quotedName(name));
}

/// Adds one part of a tensor to the entry of the file. Parts come in any order,
/// so the extent along which they are cut grows with them.
static bool addPart(const StoredParameter &place, const std::string &format,
                    FileTensor &out) {
  SafetensorsTensor &whole = out.tensor;
  if (whole.shape.empty() && whole.dtype.empty()) {
    whole.dtype = format;
    whole.shape = place.shape();
    if (place.isCut())
      whole.shape[place.cutDimension()] = 0;
  } else if (!place.isCut()) {
    return false;
  }
  std::vector<int64_t> shape = place.shape();
  if (whole.dtype != format || whole.shape.size() != shape.size())
    return false;
  if (place.isCut()) {
    int64_t &extent = whole.shape[place.cutDimension()];
    extent = std::max(extent, place.end());
    shape[place.cutDimension()] = extent;
    out.parts.emplace_back(place.begin(), place.end());
  }
  return whole.shape == shape;
}

/// Whether the parts of each tensor cover every position exactly once.
static Status checkWhole(FileTensors &tensors) {
  for (auto &[name, whole] : tensors) {
    std::sort(whole.parts.begin(), whole.parts.end());
    int64_t next = 0;
    for (auto [begin, end] : whole.parts) {
      if (begin != next)
        return invalid("the program's parts of {} {} at position {}; "
                       "--save writes whole tensors",
                       quotedName(name),
                       begin > next ? "have a gap" : "overlap",
                       std::min(begin, next));
      next = end;
    }
  }
  return {};
}

static Status fileTensors(const Plan &plan, SavedTensors which,
                          FileTensors &out) {
  for (const PlanBuffer *tensor : select(plan, which)) {
    const char *format = formatNameOf(tensor->dtype);
    if (!format)
      return invalid("{} {} is {}; files are written in f64, f32, bf16, "
                     "f16 or i32",
                     nameOf(tensor->kind), quotedName(tensor->name),
                     elementName(tensor->dtype));
    StoredParameter place = writtenPlace(*tensor, which);
    for (const std::string &name : place.tensors()) {
      FileTensor &whole = out[name];
      whole.tensor.name = name;
      if (!addPart(place, format, whole))
        return clash(*tensor, name, which);
    }
  }
  return checkWhole(out);
}

Status tpsp::rt::checkSavable(const Plan &plan, SavedTensors which) {
  FileTensors tensors;
  return fileTensors(plan, which, tensors);
}

namespace {

/// The place of one tensor in the file to be written.
class WrittenRuns {
public:
  WrittenRuns(const PlanBuffer &tensor, SavedTensors which,
              SafetensorsWriter &writer)
      : place(writtenPlace(tensor, which)), writer(writer),
        element(elementBytes(tensor.dtype)) {
    for (const std::string &name : place.tensors())
      tensors.push_back(writer.find(name));
    if (place.isCut())
      extent = tensors.front()->shape[place.cutDimension()];
  }

  /// Writes the elements [first, first + count), which begin at `source`.
  Status write(int64_t first, int64_t count, const char *source) {
    Status status;
    place.forEachRun(extent, first, count,
                     [&](size_t tensor, int64_t at, int64_t from, int64_t n) {
                       if (status.ok())
                         status = writer.write(
                             *tensors[tensor], at * element,
                             source + (from - first) * element, n * element);
                     });
    return status;
  }

private:
  StoredParameter place;
  SafetensorsWriter &writer;
  int64_t element, extent = 0;
  std::vector<const SafetensorsTensor *> tensors;
};

} // namespace

/// Writes a rank's part of one tensor.
static Status savePart(const Shard &shard, const void *memory,
                       const PlanBuffer &tensor, WrittenRuns &runs) {
  int64_t element = elementBytes(tensor.dtype);
  auto *bytes = static_cast<const char *>(memory);
  Status status;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    if (status.ok())
      status = runs.write(global, n, bytes + local * element);
  });
  return status;
}

/// Writes the combined summands of a partial tensor. `runs` is null in
/// processes that do not write.
static Status saveCombined(World &world, const Plan &plan,
                           const PlanBuffer &tensor, WrittenRuns *runs,
                           Status &failure) {
  std::vector<double> values;
  Status status = gatherTensor(world, plan, tensor, values);
  if (!status.ok() || !failure.ok() || !runs)
    return status;
  int64_t elements = values.size();
  std::vector<char> bytes(elements * elementBytes(tensor.dtype));
  for (int64_t i = 0; i < elements; ++i)
    if (isInteger(tensor.dtype))
      storeInteger(int64_t(values[i]), tensor.dtype, bytes.data(), i);
    else
      storeFloat(values[i], tensor.dtype, bytes.data(), i);
  failure = runs->write(0, elements, bytes.data());
  return {};
}

namespace {

/// A file to which each process writes its ranks' parts, if all processes see
/// the folder. Otherwise the process with rank 0 writes alone, and receives the
/// others' parts.
class SharedFile {
public:
  SharedFile(World &world, const Plan &plan, SavedTensors which)
      : world(world), plan(plan), which(which) {}

  Status write(const std::string &path) {
    TPSP_TRY(open(path));
    for (const PlanBuffer *tensor : select(plan, which))
      TPSP_TRY(writeTensor(*tensor));
    return finish(path);
  }

private:
  /// The process with rank 0 begins the file. The others join it if all of them
  /// find it.
  Status open(const std::string &path) {
    FileTensors wanted;
    TPSP_TRY(fileTensors(plan, which, wanted));
    std::vector<SafetensorsTensor> tensors;
    for (const auto &entry : wanted)
      tensors.push_back(entry.second.tensor);
    int64_t number = 0;
    if (world.hasFirstRank()) {
      failure = SafetensorsWriter::create(path, tensors, writer);
      number = failure.ok() ? WholeFile::number() : 0;
    }
    TPSP_TRY(world.sumOverProcesses(number));
    int64_t absent = number == 0;
    if (number != 0 && !world.hasFirstRank())
      absent = !SafetensorsWriter::join(path, number, tensors, writer).ok();
    TPSP_TRY(world.sumOverProcesses(absent));
    isShared = absent == 0;
    if (!isShared && !world.hasFirstRank())
      writer.reset();
    return {};
  }

  Status writeTensor(const PlanBuffer &tensor) {
    std::unique_ptr<WrittenRuns> runs;
    if (writer)
      runs = std::make_unique<WrittenRuns>(tensor, which, *writer);
    if (!tensor.pending.empty())
      return saveCombined(world, plan, tensor,
                          world.hasFirstRank() ? runs.get() : nullptr, failure);
    auto isFirst = [&](int64_t rank) {
      return isFirstHolder(tensor, world.mesh().coordinates(rank));
    };
    if (!isShared)
      return world.inspect(*tensor.offset, tensor.bytes, isFirst,
                           [&](int64_t rank, const void *memory) {
                             return writePart(tensor, rank, memory, *runs);
                           });
    return world.run([&](Rank &rank) -> Status {
      if (!isFirst(rank.number()))
        return {};
      std::vector<char> copy;
      return rank.inspect(
          *tensor.offset, tensor.bytes, copy, [&](const void *memory) {
            return writePart(tensor, rank.number(), memory, *runs);
          });
    });
  }

  /// Called on the ranks' threads.
  Status writePart(const PlanBuffer &tensor, int64_t rank, const void *memory,
                   WrittenRuns &runs) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure.ok())
        return {};
    }
    Shard shard(tensor, plan.mesh, world.mesh().coordinates(rank));
    Status written = savePart(shard, memory, tensor, runs);
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok())
      failure = written;
    return {};
  }

  /// Puts the file in its place when all parts are stored.
  Status finish(const std::string &path) {
    if (isShared && !world.hasFirstRank() && failure.ok())
      failure = writer->finish();
    int64_t failures = !failure.ok();
    if (isShared)
      TPSP_TRY(world.sumOverProcesses(failures));
    if (!failure.ok() || !world.hasFirstRank())
      return failure;
    // The other process reports the reason.
    if (failures > 0)
      return {
          TPSP_RT_ABORTED,
          fmt::format("another process cannot write its part of '{}'", path)};
    return writer->finish();
  }

  World &world;
  const Plan &plan;
  const SavedTensors which;
  /// Null in processes that do not write.
  std::unique_ptr<SafetensorsWriter> writer;
  bool isShared = false;
  /// Kept apart from the run's own failures: a full disk is no rank's fault,
  /// and no reason to give up the world.
  Status failure;
  std::mutex mutex;
};

} // namespace

Status tpsp::rt::saveTensors(World &world, const Plan &plan,
                             const std::string &path, SavedTensors which) {
  TPSP_TRY(checkSavable(plan, which));
  return SharedFile(world, plan, which).write(weightsFileToWrite(path));
}
