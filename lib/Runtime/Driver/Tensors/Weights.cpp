#include "tpsp/Runtime/Driver/Tensors/Weights.h"

#include "CheckpointFolder.h"
#include "FileFit.h"
#include "StoredParameter.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

using namespace tpsp;
using namespace tpsp::rt;

/// The element type of a file's tensor, if it can be read: F64, F32 or a 16-bit
/// type.
static std::optional<int64_t> readableType(const SafetensorsTensor &tensor) {
  std::optional<int64_t> dtype = elementTypeOf(tensor.dtype);
  if (dtype &&
      (*dtype == TPSP_RT_F64 || *dtype == TPSP_RT_F32 || halfFloat(*dtype)))
    return dtype;
  return std::nullopt;
}

/// Finds a stored tensor by its name. A base model, which was saved without the
/// head, lacks the first word of its tensors' names.
static const SafetensorsTensor *findTensor(const SafetensorsSet &file,
                                           const std::string &name) {
  if (const SafetensorsTensor *found = file.find(name))
    return found;
  return file.find(name.substr(name.find('.') + 1));
}

/// The place of a parameter in the file: under its own name, or where the name
/// says.
static StoredParameter placeOf(const PlanBuffer &parameter,
                               const SafetensorsSet &file) {
  if (!file.find(parameter.name))
    return StoredParameter(parameter);
  PlanBuffer plain = parameter;
  plain.kind = BufferKind::Input;
  return StoredParameter(plain);
}

/// How a tensor differs from the wanted one; empty if it does not.
static std::string differenceOf(const PlanBuffer &wanted,
                                const StoredParameter &place,
                                const std::string &name,
                                const SafetensorsTensor *found) {
  if (!found)
    return fmt::format("{} is missing, {} of [{}]", quotedName(name),
                       elementName(wanted.dtype),
                       fmt::join(place.shape(), ", "));
  if (!readableType(*found))
    return fmt::format(
        "{} is {}, which is not read (F64, F32, BF16 and F16 are)",
        quotedName(name), quotedName(found->dtype));
  if (place.isPlain())
    return shapeDifference(wanted, found->shape);
  if (place.fits(found->shape))
    return "";
  return fmt::format("{} is [{}], which has no part [{}] of {}",
                     quotedName(name), fmt::join(found->shape, ", "),
                     fmt::join(place.shape(), ", "), quotedName(wanted.name));
}

/// How a parameter and its tensors in the file differ; empty if they do not.
static std::string differenceOf(const PlanBuffer &wanted,
                                const SafetensorsSet &file) {
  StoredParameter place = placeOf(wanted, file);
  const SafetensorsTensor *first = findTensor(file, place.tensors().front());
  for (const std::string &name : place.tensors()) {
    const SafetensorsTensor *found = findTensor(file, name);
    std::string difference = differenceOf(wanted, place, name, found);
    if (difference.empty() && found->shape != first->shape)
      difference =
          fmt::format("{} is [{}], but {} is [{}]", quotedName(name),
                      fmt::join(found->shape, ", "), quotedName(first->name),
                      fmt::join(first->shape, ", "));
    if (!difference.empty())
      return difference;
  }
  return "";
}

/// The tensors of a file that a parameter takes.
static void takenOf(const PlanBuffer &parameter, const SafetensorsSet &file,
                    std::set<std::string> &out) {
  StoredParameter place = placeOf(parameter, file);
  for (const std::string &name : place.tensors())
    if (const SafetensorsTensor *found = findTensor(file, name))
      out.insert(found->name);
}

/// Describes the tensors of a file that the program does not use; empty if it
/// uses all.
static std::string unusedIn(const SafetensorsSet &file, const std::string &path,
                            const Plan &plan,
                            const std::set<std::string> &given) {
  std::set<std::string> parameters, arguments;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.kind == BufferKind::Input)
      arguments.insert(tensor.name);
    else if (tensor.isArgument())
      takenOf(tensor, file, parameters);
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
  std::string found;
  TPSP_TRY(weightsFileOf(path, found));
  TPSP_TRY(SafetensorsSet::open(found, file));
  warning = unusedIn(file, path, plan, given);
  std::vector<std::string> differences;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (tensor.kind != BufferKind::Parameter || given.count(tensor.name) > 0)
      continue;
    if (std::string difference = differenceOf(tensor, file);
        !difference.empty())
      differences.push_back(difference);
  }
  if (differences.empty())
    return {};
  // A single file may lie in any folder, next to another model's config.json.
  bool isFolder = found != path;
  std::string model = isFolder ? architectureBeside(found) : "";
  return invalid("'{}'{} does not fit the program: {}", path,
                 model.empty() ? "" : ", a " + model + ",",
                 listOf(differences, "; "));
}

/// Reads the elements [begin, begin + count) of a tensor, a block at a time.
/// Calls visit(element, values, n) with n f64 values from `element` on.
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

namespace {

/// A parameter's tensors in a file.
class StoredRuns {
public:
  StoredRuns(const SafetensorsSet &file, const PlanBuffer &parameter)
      : place(placeOf(parameter, file)) {
    for (const std::string &name : place.tensors())
      tensors.push_back(findTensor(file, name));
    if (place.isCut())
      extent = tensors.front()->shape[place.cutDimension()];
  }

  /// Visits the parameter's elements [first, first + count), in runs that are
  /// contiguous in one tensor: visit(tensor, at, from, n).
  template <typename Visit>
  Status forEachRun(int64_t first, int64_t count, Visit visit) const {
    Status status;
    place.forEachRun(extent, first, count,
                     [&](size_t tensor, int64_t at, int64_t from, int64_t n) {
                       if (status.ok())
                         status = visit(*tensors[tensor], at, from, n);
                     });
    return status;
  }

private:
  StoredParameter place;
  std::vector<const SafetensorsTensor *> tensors;
  int64_t extent = 0;
};

} // namespace

/// Reads n elements from element `at` of `stored` into `memory`, from its
/// element `to` on.
static Status readInto(const SafetensorsSet &file,
                       const SafetensorsTensor &stored, int64_t at, int64_t n,
                       int64_t dtype, void *memory, int64_t to) {
  const char *format = formatNameOf(dtype);
  int64_t element = elementBytes(dtype);
  if (format && stored.dtype == format)
    return file.read(stored.name, at * element, n * element,
                     static_cast<char *>(memory) + to * element);
  return readBlocks(file, stored, at, n,
                    [&](int64_t next, const double *values, int64_t count) {
                      store(values, count, dtype, memory, to + next - at);
                    });
}

Status WeightsSource::fill(const PlanBuffer &tensor, const Shard &shard,
                           void *memory) const {
  if (tensor.kind != BufferKind::Parameter)
    return inputs->fill(tensor, shard, memory);
  StoredRuns runs(file, tensor);
  Status status;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    if (!status.ok())
      return;
    status =
        runs.forEachRun(global, n,
                        [&](const SafetensorsTensor &stored, int64_t at,
                            int64_t from, int64_t count) {
                          return readInto(file, stored, at, count, tensor.dtype,
                                          memory, local + from - global);
                        });
  });
  return status;
}

Status WeightsSource::whole(const PlanBuffer &tensor,
                            std::vector<double> &out) const {
  if (tensor.kind != BufferKind::Parameter)
    return inputs->whole(tensor, out);
  out.resize(tensor.elements());
  return StoredRuns(file, tensor)
      .forEachRun(0, tensor.elements(),
                  [&](const SafetensorsTensor &stored, int64_t begin,
                      int64_t from, int64_t count) {
                    return readBlocks(
                        file, stored, begin, count,
                        [&](int64_t at, const double *values, int64_t n) {
                          // Rounded to the parameter's type, as the parameter
                          // is stored.
                          std::vector<char> rounded(n *
                                                    elementBytes(tensor.dtype));
                          store(values, n, tensor.dtype, rounded.data(), 0);
                          for (int64_t i = 0; i < n; ++i)
                            out[from + at - begin + i] =
                                loadFloat(rounded.data(), tensor.dtype, i);
                        });
                  });
}
