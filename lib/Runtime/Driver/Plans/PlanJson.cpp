// Writes and reads the description of a compiled plan as JSON.
#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

#include "Runtime/Driver/Files/EnumJson.h"
#include "StoredOrder.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/EnumNames.h"
#include "tpsp/Abi/FlatCut.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/JsonFault.h"
#include "tpsp/Runtime/WorldConfig.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>

using Json = nlohmann::json;

// An attribute is [number of its type, value], because JSON has only one kind
// of number.
template <> struct nlohmann::adl_serializer<tpsp::reference::Attribute> {
  using Attribute = tpsp::reference::Attribute;

  static void to_json(Json &json, const Attribute &attribute) {
    json = Json::array({attribute.index()});
    // Written as text, because JSON has no infinity.
    if (const double *number = std::get_if<double>(&attribute))
      json.push_back(fmt::format("{:a}", *number));
    else
      std::visit([&](const auto &value) { json.push_back(value); }, attribute);
  }

  static void from_json(const Json &json, Attribute &attribute) {
    read(json.at(0).get<size_t>(), json.at(1), attribute);
  }

private:
  template <size_t Type = 0>
  static void read(size_t type, const Json &json, Attribute &attribute) {
    if constexpr (Type < std::variant_size_v<Attribute>) {
      using Value = std::variant_alternative_t<Type, Attribute>;
      if (type != Type)
        return read<Type + 1>(type, json, attribute);
      if constexpr (std::is_same_v<Value, double>)
        attribute = std::strtod(json.get<std::string>().c_str(), nullptr);
      else
        attribute = json.get<Value>();
    } else {
      throw std::out_of_range("an attribute of an unknown type");
    }
  }
};

template <> struct tpsp::EnumNames<tpsp::reference::Element> {
  static constexpr const char *all[] = {"f64", "f32", "bf16", "f16", "integer"};
};

// An unknown value is written as null.
template <typename Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  static void to_json(Json &json, const std::optional<Value> &value) {
    json = value ? Json(*value) : Json(nullptr);
  }
  static void from_json(const Json &json, std::optional<Value> &value) {
    value.reset();
    if (!json.is_null())
      value = json.get<Value>();
  }
};

namespace tpsp::reference {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ValueType, indices, shape, element)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Operation, name, location, result, operands,
                                   attributes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Program, values, arguments, operations,
                                   results, cotangents, gradients, updates,
                                   lossScale, lossScaleArgument, reducedIn,
                                   reduced, summedIn, microBatches)

} // namespace tpsp::reference

namespace tpsp {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeshAxis, name, size)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanBuffer, name, kind, number, subscripts,
                                   shape, cutDim, parts, padding, axes, pending,
                                   pendingMax, dtype, below, mean, deviation,
                                   initialDeviation, data, of, isMaster,
                                   isScalar, isSum, isForGradient, updatedBy,
                                   stages, stageAxis, pool, offset, bytes,
                                   location)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EpilogueWork, operations, transcendentals,
                                   elementBytes, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MatmulWork, m, n, k, batch, steps,
                                   transposeA, transposeB, alignment, isGrouped,
                                   epilogue)

/// Calls `visit(name, field)` for every field.
template <typename Work, typename Visit>
static void visitFields(Work &work, const Visit &visit) {
  ScoreOptions::visitAll(work, visit);
  visit("heads", work.heads);
  visit("queries", work.queries);
  visit("keys", work.keys);
  visit("features", work.features);
  visit("valueFeatures", work.valueFeatures);
  visit("isGradient", work.isGradient);
  visit("queryStart", work.queryStart);
  visit("hidesKeys", work.hidesKeys);
}

static void to_json(Json &json, const AttentionWork &work) {
  visitFields(work,
              [&](const char *name, const auto &field) { json[name] = field; });
}

static void from_json(const Json &json, AttentionWork &work) {
  visitFields(work, [&](const char *name, auto &field) {
    json.at(name).get_to(field);
  });
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelWork, grid, operations,
                                   transcendentals, elementBytes,
                                   stridedElements, scatteredElements)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CollectiveWork, kind, axes, group, bytes,
                                   bytesSent, row)

/// Written as an array, because a plan has many: [buffer, begin, length, count,
/// pitch, whether it writes].
static void to_json(Json &json, const PlanAccess &access) {
  const BufferPart &part = access.part;
  json = Json::array({access.buffer, part.begin, part.length, part.count,
                      part.pitch, access.isWrite});
}

static void from_json(const Json &json, PlanAccess &access) {
  json.at(0).get_to(access.buffer);
  json.at(1).get_to(access.part.begin);
  json.at(2).get_to(access.part.length);
  json.at(3).get_to(access.part.count);
  json.at(4).get_to(access.part.pitch);
  json.at(5).get_to(access.isWrite);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanCommand, kind, call, value, location,
                                   stream, phase, segment, event, dtype, matmul,
                                   attention, kernel, collective, epilogue,
                                   accesses)

static void to_json(Json &json, const LedgerRow &row) {
  json = {{"location", row.location}, {"commands", row.commands}};
  LedgerRow::visitAll(
      row, [&](const char *name, const auto &field) { json[name] = field; });
}

static void from_json(const Json &json, LedgerRow &row) {
  json.at("location").get_to(row.location);
  json.at("commands").get_to(row.commands);
  LedgerRow::visitAll(
      row, [&](const char *name, auto &field) { json.at(name).get_to(field); });
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PaddedIndex, name, extent, heldExtent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanSegment, name, runs, work, chunk, stages,
                                   peer)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanPool, bytes, offset, slots)

/// Written as an array, because a plan has many: [segment, micro-batch].
static void to_json(Json &json, const StepAction &action) {
  json = Json::array({action.segment, action.microBatch});
}

static void from_json(const Json &json, StepAction &action) {
  json.at(0).get_to(action.segment);
  json.at(1).get_to(action.microBatch);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, program, mesh, padded, buffers,
                                   commands, segments, microBatches, stageAxis,
                                   pools, stageArenas, ledger, arenaBytes,
                                   savedBytes, serialBytes, numStreams,
                                   numEvents, transposeCopies)

} // namespace tpsp

namespace tpsp::rt {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StoredActions, actions, begin, length, times,
                                   shift)

static std::vector<StoredOrder> ordersOf(const Plan &plan) {
  std::vector<StoredOrder> orders;
  for (const std::vector<StepAction> &order : plan.order)
    orders.push_back(storedOrder(order));
  return orders;
}

static void readOrders(const Json &json, Plan &plan) {
  for (const StoredOrder &order : json.get<std::vector<StoredOrder>>())
    if (!expandOrder(order, plan.order.emplace_back()))
      throw std::invalid_argument("a stage repeats actions that it lacks");
}

static void to_json(Json &json, const PlanDescription &description) {
  json = {{"plan", *description.plan},
          {"orders", ordersOf(*description.plan)},
          {"model", description.model},
          {"modelHash", description.modelHash},
          {"dtype", description.dtype},
          {"processor", description.processor},
          {"reference", description.reference}};
}

static void from_json(const Json &json, PlanDescription &description) {
  auto plan = std::make_shared<Plan>(json.at("plan").get<Plan>());
  readOrders(json.at("orders"), *plan);
  description.plan = std::move(plan);
  json.at("model").get_to(description.model);
  json.at("modelHash").get_to(description.modelHash);
  json.at("dtype").get_to(description.dtype);
  json.at("processor").get_to(description.processor);
  json.at("reference").get_to(description.reference);
}

static bool isNumberIn(int64_t number, size_t count) {
  return number >= 0 && uint64_t(number) < count;
}

/// Whether a part lies in a buffer of `bytes` bytes, with its runs one after
/// another.
static bool isConsistent(const BufferPart &part, int64_t bytes) {
  if (part.begin < 0 || part.length < 0 || part.count < 1 ||
      part.begin > bytes || part.length > bytes - part.begin)
    return false;
  return part.count == 1 ||
         (part.length > 0 && part.pitch >= part.length &&
          part.count - 1 <= (bytes - part.begin - part.length) / part.pitch);
}

/// Whether a command's numbers refer to existing streams, events, axes and
/// buffers.
static bool isConsistent(const PlanCommand &command, const Plan &plan) {
  if (!isNumberIn(command.stream, plan.numStreams) ||
      !isNumberIn(command.segment, plan.segments.size()) ||
      (command.isEvent() && !isNumberIn(command.event, plan.numEvents)))
    return false;
  for (AxisId axis : command.collective.axes)
    if (!isNumberIn(axis, plan.mesh.size()))
      return false;
  return std::all_of(command.accesses.begin(), command.accesses.end(),
                     [&](const PlanAccess &access) {
                       return isNumberIn(access.buffer, plan.buffers.size()) &&
                              isConsistent(access.part,
                                           plan.buffers[access.buffer].bytes);
                     });
}

/// Whether ledger rows and the commands that perform them refer to each other.
static bool isLedgerConsistent(const Plan &plan) {
  size_t performing = 0;
  for (const PlanCommand &command : plan.commands) {
    if (command.collective.row < -1)
      return false;
    performing += command.collective.row >= 0;
  }
  for (size_t row = 0; row < plan.ledger.size(); ++row) {
    const std::vector<int64_t> &commands = plan.ledger[row].commands;
    if (commands.empty() || commands.size() > performing)
      return false;
    performing -= commands.size();
    for (size_t i = 0; i < commands.size(); ++i)
      if (!isNumberIn(commands[i], plan.commands.size()) ||
          (i > 0 && commands[i] <= commands[i - 1]) ||
          plan.commands[commands[i]].collective.row != int64_t(row))
        return false;
  }
  return performing == 0;
}

/// The bytes of a rank's part. -1 if the axes of two dimensions do not divide
/// them, or if the whole tensor has more bytes than 64 bits can count.
static int64_t partBytes(const PlanBuffer &tensor, const Plan &plan) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t width = elementBytes(tensor.dtype), whole = width, block = 1,
          pieces = 1;
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    int64_t padding = tensor.padding.empty() ? 0 : tensor.padding[dim];
    if (tensor.shape[dim] < 1 || padding < 0 ||
        tensor.shape[dim] > most - padding)
      return -1;
    int64_t extent = tensor.heldExtent(dim), ranks = 1, parts = 1;
    std::vector<int64_t> sizes;
    for (int64_t axis : tensor.axes[dim])
      sizes.push_back(plan.mesh[axis].size);
    size_t even = evenAxes(extent, sizes);
    for (size_t i = 0; i < sizes.size(); ++i)
      (i < even ? ranks : parts) *= sizes[i];
    if (whole <= 0 || extent > most / whole || ranks > plan.numRanks() ||
        parts > plan.numRanks() || (parts > 1 && pieces > 1))
      return -1;
    whole *= extent;
    block *= extent / ranks;
    pieces *= parts;
  }
  return pieceOf(block, pieces) * width;
}

/// Whether a tensor's parts are in the arena and its axes in the mesh.
static bool isConsistent(const PlanBuffer &tensor, const Plan &plan) {
  if (!tensor.lasts())
    return true;
  if (tensor.below < 0 || tensor.axes.size() != tensor.shape.size() ||
      (!tensor.padding.empty() && tensor.padding.size() != tensor.shape.size()))
    return false;
  std::vector<int64_t> all = tensor.pending;
  for (const std::vector<int64_t> &axes : tensor.axes)
    all.insert(all.end(), axes.begin(), axes.end());
  for (int64_t axis : all)
    if (!isNumberIn(axis, plan.mesh.size()))
      return false;
  if (tensor.cutDim < -1 || tensor.cutDim >= int64_t(tensor.shape.size()))
    return false;
  if (tensor.parts != (tensor.isCut() ? plan.microBatches : 1) ||
      tensor.bytes % tensor.parts != 0 ||
      (tensor.isCut() && tensor.heldExtent(tensor.cutDim) % tensor.parts != 0))
    return false;
  return tensor.bytes == partBytes(tensor, plan);
}

/// Whether a buffer has a valid place in the arena. An unused buffer needs
/// none.
static bool isInArena(const PlanBuffer &buffer, const Plan &plan) {
  if (!buffer.offset)
    return !buffer.lasts();
  return *buffer.offset >= 0 && buffer.bytes >= 0 &&
         buffer.bytes <= plan.arenaBytes &&
         *buffer.offset <= plan.arenaBytes - buffer.bytes;
}

/// Whether a program's numbers refer to its own values, results and arguments.
static bool isConsistent(const reference::Program &reference) {
  auto areBelow = [](const std::vector<size_t> &numbers, size_t count) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](size_t number) { return number < count; });
  };
  return reference.arguments <= reference.values.size() &&
         areBelow(reference.results, reference.values.size()) &&
         areBelow(reference.cotangents, reference.results.size()) &&
         areBelow(reference.gradients, reference.arguments) &&
         areBelow(reference.reduced, reference.arguments) &&
         reference.lossScaleArgument < int64_t(reference.arguments) &&
         reference.updates <= reference.operations.size();
}

/// The value of the program that a tensor holds, or whose gradient it holds.
/// Arguments are in the same order in the plan and in the program.
static const reference::ValueType &valueOf(const PlanBuffer &tensor,
                                           const reference::Program &reference,
                                           size_t argument) {
  if (tensor.isArgument())
    return reference::argumentType(reference, argument);
  size_t number = tensor.number, results = reference.results.size();
  return reference
      .values[number < results ? reference.results[number]
                               : reference.gradients[number - results]];
}

static bool hasShapesOf(const reference::Program &reference, const Plan &plan) {
  size_t arguments = 0;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (valueOf(tensor, reference, arguments).shape != tensor.shape)
      return false;
    arguments += tensor.isArgument();
  }
  return true;
}

static bool isConsistent(const Plan &plan) {
  if (plan.arenaBytes < 0 || plan.numStreams < 1 || plan.segments.empty() ||
      plan.microBatches < 1 ||
      !std::is_sorted(plan.commands.begin(), plan.commands.end(),
                      [](const PlanCommand &a, const PlanCommand &b) {
                        return a.segment < b.segment;
                      }) ||
      plan.numStreams > maxStreams || plan.numEvents < 0)
    return false;
  auto isAction = [&](const StepAction &action) {
    return isNumberIn(action.segment, plan.segments.size()) &&
           isNumberIn(action.microBatch, size_t(plan.microBatches));
  };
  for (const std::vector<StepAction> &order : plan.order)
    if (!std::all_of(order.begin(), order.end(), isAction))
      return false;
  if (!plan.order.empty() && int64_t(plan.order.size()) != plan.numStages())
    return false;
  for (const PlanBuffer &buffer : plan.buffers)
    if (!isInArena(buffer, plan) || !isConsistent(buffer, plan))
      return false;
  for (const PlanCommand &command : plan.commands)
    if (!isConsistent(command, plan))
      return false;
  return isLedgerConsistent(plan);
}

static bool isConsistent(const PlanDescription &description) {
  const Plan &plan = *description.plan;
  size_t arguments = 0, results = 0;
  if (!isConsistent(plan))
    return false;
  for (const PlanBuffer &tensor : plan.tensors()) {
    arguments += tensor.isArgument();
    results += !tensor.isArgument() || tensor.updatedBy >= 0;
  }
  for (const PlanBuffer &tensor : plan.tensors())
    if (!isNumberIn(tensor.number, tensor.isArgument() ? arguments : results) ||
        tensor.updatedBy < -1 || tensor.updatedBy >= int64_t(results))
      return false;
  const reference::Program &reference = description.reference;
  return arguments == reference.arguments + reference.cotangents.size() &&
         results == reference.numResults() && isConsistent(reference) &&
         hasShapesOf(reference, plan);
}

std::string toJson(const PlanDescription &description) {
  return Json(description).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status fromJson(const std::string &text, PlanDescription &out) {
  try {
    Json::parse(text).get_to(out);
  } catch (const Json::exception &) {
    std::string fault = jsonFault(text);
    return invalid("the plan's description cannot be read: {}; emit the plan "
                   "again",
                   fault.empty() ? "a key is missing or of another type"
                                 : fault);
  } catch (const std::exception &error) {
    return invalid("the plan's description cannot be read: {}", error.what());
  }
  RankMesh mesh;
  TPSP_TRY(RankMesh::create(out.plan->mesh, mesh));
  if (!isConsistent(out))
    return invalid("the plan's description contradicts itself");
  return {};
}

} // namespace tpsp::rt
