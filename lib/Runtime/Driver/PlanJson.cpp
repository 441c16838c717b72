// The description of a compiled plan as JSON.
#include "tpsp/Runtime/Driver/PlanFile.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/WorldConfig.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <type_traits>

using Json = nlohmann::json;

// An attribute is [number of its type, value]: JSON has one kind of number.
template <> struct nlohmann::adl_serializer<tpsp::reference::Attribute> {
  using Attribute = tpsp::reference::Attribute;

  static void to_json(Json &json, const Attribute &attribute) {
    json = Json::array({attribute.index()});
    // Infinity is no JSON number.
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

namespace tpsp::reference {

NLOHMANN_JSON_SERIALIZE_ENUM(Element, {{Element::F64, "f64"},
                                       {Element::F32, "f32"},
                                       {Element::BF16, "bf16"},
                                       {Element::F16, "f16"},
                                       {Element::Integer, "integer"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ValueType, indices, shape, element)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Operation, name, location, operands,
                                   attributes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Program, values, arguments, operations,
                                   results, cotangents, gradients)

} // namespace tpsp::reference

namespace tpsp::rt {

NLOHMANN_JSON_SERIALIZE_ENUM(ManifestTensor::Kind,
                             {{ManifestTensor::Kind::Input, "input"},
                              {ManifestTensor::Kind::Parameter, "parameter"},
                              {ManifestTensor::Kind::Output, "output"},
                              {ManifestTensor::Kind::Gradient, "gradient"},
                              {ManifestTensor::Kind::Choice, "choice"}})
NLOHMANN_JSON_SERIALIZE_ENUM(TraceCommand::Kind,
                             {{TraceCommand::Kind::Compute, "compute"},
                              {TraceCommand::Kind::Collective, "collective"},
                              {TraceCommand::Kind::Event, "event"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeshAxis, name, size)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ManifestTensor, name, kind, number,
                                   subscripts, shape, axes, pending, pendingMax,
                                   dtype, below, mean, deviation, of, offset,
                                   bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ManifestCollective, kind, axes, index, phase,
                                   bytes, group, tensor, reason, location,
                                   commands)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ManifestEpilogue, matmul, location, steps,
                                   commands)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ManifestAttention, call, value, location,
                                   commands)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Manifest, program, mesh, arenaBytes,
                                   savedBytes, tensors, collectives,
                                   matmulFlops, commands, streams, events,
                                   transposeCopies, epilogues, attention)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TraceCommand, kind, name, location,
                                   collective, reads)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TraceBuffer, bytes, lasts, users, name,
                                   location)

/// What is the same as in the manifest is not written, nor are spans.
static void to_json(Json &json, const StepTrace &trace) {
  json = {{"program", trace.program},
          {"setting", trace.setting},
          {"commands", trace.commands},
          {"buffers", trace.buffers}};
}

static void from_json(const Json &json, StepTrace &trace) {
  json.at("program").get_to(trace.program);
  json.at("setting").get_to(trace.setting);
  json.at("commands").get_to(trace.commands);
  json.at("buffers").get_to(trace.buffers);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanDescription, manifest, model, modelHash,
                                   dtype, processor, trace, reference)

static bool isNumberIn(int64_t number, size_t count) {
  return number >= 0 && uint64_t(number) < count;
}

/// Whether a trace's numbers are of things that there are.
static bool isConsistent(const StepTrace &trace, const Manifest &manifest) {
  size_t commands = trace.commands.size();
  if (commands != size_t(manifest.commands))
    return false;
  for (const TraceCommand &command : trace.commands) {
    if (command.collective >= 0 &&
        !isNumberIn(command.collective, manifest.collectives.size()))
      return false;
    for (int64_t read : command.reads)
      if (!isNumberIn(read, commands))
        return false;
  }
  for (const TraceBuffer &buffer : trace.buffers)
    for (int64_t user : buffer.users)
      if (!isNumberIn(user, commands))
        return false;
  return true;
}

/// The bytes of a rank's part; -1 if the axes do not divide the shape, or the
/// whole tensor is more than 64 bits count.
static int64_t partBytes(const ManifestTensor &tensor,
                         const Manifest &manifest) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t whole = elementBytes(tensor.dtype), part = whole;
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    int64_t extent = tensor.shape[dim], ranks = 1;
    for (int64_t axis : tensor.axes[dim])
      ranks *= manifest.mesh[axis].size;
    if (whole <= 0 || extent < 1 || extent > most / whole ||
        ranks > manifest.numRanks() || extent % ranks != 0)
      return -1;
    whole *= extent;
    part *= extent / ranks;
  }
  return part;
}

/// Whether a tensor's parts are in the arena and its axes in the mesh.
static bool isConsistent(const ManifestTensor &tensor,
                         const Manifest &manifest) {
  if (tensor.offset < 0 || tensor.bytes < 0 || tensor.below < 0 ||
      tensor.bytes > manifest.arenaBytes ||
      tensor.offset > manifest.arenaBytes - tensor.bytes ||
      tensor.axes.size() != tensor.shape.size())
    return false;
  std::vector<int64_t> all = tensor.pending;
  for (const std::vector<int64_t> &axes : tensor.axes)
    all.insert(all.end(), axes.begin(), axes.end());
  for (int64_t axis : all)
    if (!isNumberIn(axis, manifest.mesh.size()))
      return false;
  return tensor.bytes == partBytes(tensor, manifest);
}

/// Whether a program's numbers are of what it has.
static bool isConsistent(const reference::Program &reference) {
  auto areBelow = [](const std::vector<size_t> &numbers, size_t count) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](size_t number) { return number < count; });
  };
  return reference.arguments <= reference.values.size() &&
         areBelow(reference.results, reference.values.size()) &&
         areBelow(reference.cotangents, reference.results.size()) &&
         areBelow(reference.gradients, reference.arguments);
}

/// The value of a program that a tensor has, or is the gradient of; arguments
/// are in the order of both.
static const reference::ValueType &valueOf(const ManifestTensor &tensor,
                                           const reference::Program &reference,
                                           size_t argument) {
  if (tensor.isArgument())
    return reference::argumentType(reference, argument);
  size_t number = tensor.number, results = reference.results.size();
  return reference
      .values[number < results ? reference.results[number]
                               : reference.gradients[number - results]];
}

static bool hasShapesOf(const reference::Program &reference,
                        const Manifest &manifest) {
  size_t arguments = 0;
  for (const ManifestTensor &tensor : manifest.tensors) {
    if (valueOf(tensor, reference, arguments).shape != tensor.shape)
      return false;
    arguments += tensor.isArgument();
  }
  return true;
}

static bool isConsistent(const PlanDescription &description) {
  const Manifest &manifest = description.manifest;
  size_t arguments = 0, results = 0;
  if (manifest.arenaBytes < 0 || manifest.streams < 1 ||
      manifest.streams > maxStreams || manifest.events < 0)
    return false;
  for (const ManifestTensor &tensor : manifest.tensors) {
    if (!isConsistent(tensor, manifest))
      return false;
    ++(tensor.isArgument() ? arguments : results);
  }
  for (const ManifestTensor &tensor : manifest.tensors)
    if (!isNumberIn(tensor.number, tensor.isArgument() ? arguments : results))
      return false;
  const reference::Program &reference = description.reference;
  return arguments == reference.arguments + reference.cotangents.size() &&
         results == reference.results.size() + reference.gradients.size() &&
         isConsistent(reference) && hasShapesOf(reference, manifest) &&
         isConsistent(description.trace, manifest);
}

std::string toJson(const PlanDescription &description) {
  return Json(description).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status fromJson(const std::string &text, PlanDescription &out) {
  try {
    Json::parse(text).get_to(out);
  } catch (const std::exception &error) {
    return {
        TPSP_RT_INVALID,
        fmt::format("the plan's description cannot be read: {}", error.what())};
  }
  RankMesh mesh;
  if (Status s = RankMesh::create(out.manifest.mesh, mesh); !s.ok())
    return s;
  if (!isConsistent(out))
    return {TPSP_RT_INVALID, "the plan's description contradicts itself"};
  // What is not written twice.
  StepTrace ranks = emptyTrace(out.manifest);
  out.trace.collectives = std::move(ranks.collectives);
  out.trace.ranks = std::move(ranks.ranks);
  out.trace.arenaBytes = ranks.arenaBytes;
  return {};
}

} // namespace tpsp::rt
