#include "tpsp/Runtime/Driver/Weights.h"

#include "FileFit.h"
#include "PartialTensor.h"
#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>

using namespace tpsp;
using namespace tpsp::rt;

/// What the format calls an element type; null if files do not have it.
static const char *formatName(int64_t dtype) {
  if (dtype == TPSP_RT_F64)
    return "F64";
  if (dtype == TPSP_RT_F32)
    return "F32";
  if (dtype == TPSP_RT_I32)
    return "I32";
  const HalfFloat *half = halfFloat(dtype);
  return half ? half->formatName : nullptr;
}

/// The element type of a file's tensor, if we read it: F64, F32 or of 16 bits.
static std::optional<int64_t> readableType(const SafetensorsTensor &tensor) {
  std::optional<int64_t> dtype = elementTypeOf(tensor.dtype);
  if (dtype &&
      (*dtype == TPSP_RT_F64 || *dtype == TPSP_RT_F32 || halfFloat(*dtype)))
    return dtype;
  return std::nullopt;
}

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

static std::vector<const PlanBuffer *> parametersOf(const Plan &plan) {
  return select(plan, SavedTensors::Parameters);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// How a parameter and its tensor in the file differ; empty if they do not.
static std::string differenceOf(const PlanBuffer &wanted,
                                const SafetensorsTensor *found) {
  std::string name = quotedName(wanted.name);
  if (!found)
    return fmt::format("{} is missing, {} of [{}]", name,
                       elementName(wanted.dtype),
                       fmt::join(wanted.shape, ", "));
  if (!readableType(*found))
    return fmt::format(
        "{} is {}, which is not read (F64, F32, BF16 and F16 are)", name,
        quotedName(found->dtype));
  return shapeDifference(wanted, found->shape);
}

/// What of a file is not used though it is there, in words; empty if all is.
static std::string unusedIn(const SafetensorsSet &file, const std::string &path,
                            const Plan &plan,
                            const std::set<std::string> &given) {
  std::set<std::string> parameters, arguments;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isArgument())
      (tensor.kind == BufferKind::Input ? arguments : parameters)
          .insert(tensor.name);
  std::vector<std::string> extras, inputs;
  for (const std::string &name : file.names())
    if (arguments.count(name) && !given.count(name))
      inputs.push_back(quotedName(name));
    else if (!arguments.count(name) && !parameters.count(name))
      extras.push_back(quotedName(name));
  std::string text;
  if (!extras.empty())
    text = fmt::format("'{}' has tensors that the program does not take: {}",
                       path, listOf(extras, ", "));
  if (!inputs.empty())
    text += fmt::format("{}{} of '{}' {}; give {} with --inputs",
                        text.empty() ? "" : "; ", listOf(inputs, ", "), path,
                        inputs.size() > 1
                            ? "are inputs, which --weights does not give"
                            : "is an input, which --weights does not give",
                        inputs.size() > 1 ? "them" : "it");
  return text;
}

Status WeightsSource::open(const std::string &path, const Plan &plan,
                           std::string &warning,
                           const std::set<std::string> &given) {
  warning.clear();
  if (Status s = SafetensorsSet::open(path, file); !s.ok())
    return s;
  warning = unusedIn(file, path, plan, given);
  std::vector<std::string> differences;
  for (const PlanBuffer *parameter : parametersOf(plan)) {
    if (given.count(parameter->name))
      continue;
    if (std::string difference =
            differenceOf(*parameter, file.find(parameter->name));
        !difference.empty())
      differences.push_back(difference);
  }
  if (differences.empty())
    return {};
  return {TPSP_RT_INVALID, fmt::format("'{}' does not fit the program: {}",
                                       path, listOf(differences, "; "))};
}

/// Reads the elements [begin, begin + count) of a tensor, a block at a time:
/// visit(element, values, n) with n f64 values from `element` on.
template <typename Visit>
static Status readBlocks(const SafetensorsSet &file,
                         const SafetensorsTensor &tensor, int64_t begin,
                         int64_t count, Visit visit) {
  constexpr int64_t block = 1 << 16;
  int64_t dtype = *readableType(tensor), element = elementBytes(dtype);
  int64_t end = begin + count;
  std::vector<char> bytes(std::min(block, count) * element);
  std::vector<double> values(std::min(block, count));
  for (; begin < end; begin += block) {
    int64_t n = std::min(block, end - begin);
    TPSP_TRY(
        file.read(tensor.name, begin * element, n * element, bytes.data()));
    for (int64_t i = 0; i < n; ++i)
      values[i] = loadFloat(bytes.data(), dtype, i);
    visit(begin, values.data(), n);
  }
  return {};
}

/// Stores values as elements of `dtype` from element `at` of `memory` on.
static void store(const double *values, int64_t n, int64_t dtype, void *memory,
                  int64_t at) {
  for (int64_t i = 0; i < n; ++i)
    storeFloat(values[i], dtype, memory, at + i);
}

Status WeightsSource::fill(const PlanBuffer &tensor, const Shard &shard,
                           void *memory) const {
  if (tensor.kind != BufferKind::Parameter)
    return inputs->fill(tensor, shard, memory);
  const SafetensorsTensor &stored = *file.find(tensor.name);
  const char *format = formatName(tensor.dtype);
  bool isSame = format && stored.dtype == format;
  int64_t element = elementBytes(tensor.dtype);
  Status status;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    if (!status.ok())
      return;
    if (isSame)
      status = file.read(tensor.name, global * element, n * element,
                         static_cast<char *>(memory) + local * element);
    else
      status = readBlocks(file, stored, global, n,
                          [&](int64_t at, const double *values, int64_t count) {
                            store(values, count, tensor.dtype, memory,
                                  local + at - global);
                          });
  });
  return status;
}

Status WeightsSource::whole(const PlanBuffer &tensor,
                            std::vector<double> &out) const {
  if (tensor.kind != BufferKind::Parameter)
    return inputs->whole(tensor, out);
  int64_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= extent;
  out.resize(elements);
  return readBlocks(file, *file.find(tensor.name), 0, elements,
                    [&](int64_t at, const double *values, int64_t n) {
                      // As it is stored: rounded to the parameter's type.
                      std::vector<char> stored(n * elementBytes(tensor.dtype));
                      store(values, n, tensor.dtype, stored.data(), 0);
                      for (int64_t i = 0; i < n; ++i)
                        out[at + i] = loadFloat(stored.data(), tensor.dtype, i);
                    });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Status tpsp::rt::checkSavable(const Plan &plan, SavedTensors which) {
  std::set<std::string> names;
  for (const PlanBuffer *tensor : select(plan, which)) {
    std::string name = quotedName(tensor->name);
    if (!formatName(tensor->dtype))
      return {TPSP_RT_INVALID,
              fmt::format("{} {} is {}; files are written in f64, f32, bf16, "
                          "f16 or i32",
                          nameOf(tensor->kind), name,
                          elementName(tensor->dtype))};
    if (!names.insert(tensor->name).second)
      return {TPSP_RT_INVALID,
              fmt::format("two {}s are called {}; in a file names must differ",
                          which == SavedTensors::Parameters ? "parameter"
                                                            : "tensor",
                          name)};
  }
  return {};
}

/// Writes a rank's part of one tensor.
static Status savePart(const Shard &shard, const void *memory,
                       const PlanBuffer &tensor, const SafetensorsTensor &place,
                       SafetensorsWriter &writer) {
  int64_t element = elementBytes(tensor.dtype);
  auto *bytes = static_cast<const char *>(memory);
  Status status;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    if (status.ok())
      status = writer.write(place, global * element, bytes + local * element,
                            n * element);
  });
  return status;
}

/// Writes what the ranks' summands of a partial tensor come to; null: not here.
static Status saveCombined(World &world, const Plan &plan,
                           const PlanBuffer &tensor,
                           const SafetensorsTensor *place,
                           SafetensorsWriter *writer, Status &failure) {
  std::vector<double> values;
  Status status = combinePartial(world, plan, tensor, values);
  if (!status.ok() || !failure.ok() || !writer)
    return status;
  int64_t elements = values.size();
  std::vector<char> bytes(elements * elementBytes(tensor.dtype));
  for (int64_t i = 0; i < elements; ++i)
    if (isInteger(tensor.dtype))
      storeInteger(int64_t(values[i]), tensor.dtype, bytes.data(), i);
    else
      storeFloat(values[i], tensor.dtype, bytes.data(), i);
  failure = writer->write(*place, 0, bytes.data(), bytes.size());
  return {};
}

/// Opens the file; of several processes, that with rank 0 does.
static Status beginFile(const World &world,
                        const std::vector<const PlanBuffer *> &selected,
                        const std::string &path,
                        std::unique_ptr<SafetensorsWriter> &writer) {
  if (!world.hasFirstRank())
    return {};
  std::vector<SafetensorsTensor> tensors;
  for (const PlanBuffer *one : selected)
    tensors.push_back({one->name, formatName(one->dtype), one->shape, 0, 0});
  return SafetensorsWriter::create(path, std::move(tensors), writer);
}

Status tpsp::rt::saveTensors(World &world, const Plan &plan,
                             const std::string &path, SavedTensors which) {
  if (Status s = checkSavable(plan, which); !s.ok())
    return s;
  std::unique_ptr<SafetensorsWriter> writer;
  std::vector<const PlanBuffer *> selected = select(plan, which);
  // Kept apart from the run's own failures: a disk that is full is no reason to
  // give up the world, nor any rank's fault.
  std::mutex mutex;
  Status failure = beginFile(world, selected, path, writer);
  std::map<std::string, const SafetensorsTensor *> places;
  if (writer)
    for (const SafetensorsTensor &place : writer->tensors())
      places[place.name] = &place;
  for (const PlanBuffer *tensor : selected) {
    if (!tensor->pending.empty()) {
      if (Status s = saveCombined(world, plan, *tensor, places[tensor->name],
                                  writer.get(), failure);
          !s.ok())
        return s;
      continue;
    }
    auto coordinates = [&](int64_t rank) {
      return world.mesh().coordinates(rank);
    };
    auto save = [&](int64_t rank, const void *memory) -> Status {
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (!failure.ok())
          return {};
      }
      Shard shard(*tensor, plan.mesh, coordinates(rank));
      Status written =
          savePart(shard, memory, *tensor, *places.at(tensor->name), *writer);
      std::lock_guard<std::mutex> lock(mutex);
      if (failure.ok())
        failure = written;
      return {};
    };
    Status status = world.inspect(
        *tensor->offset, tensor->bytes,
        [&](int64_t rank) { return isFirstHolder(*tensor, coordinates(rank)); },
        save);
    if (!status.ok())
      return status;
  }
  if (!failure.ok() || !writer)
    return failure;
  return writer->finish();
}
