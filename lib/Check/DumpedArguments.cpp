#include "tpsp/Check/DumpedArguments.h"

#include "Form.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <cmath>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

/// Whether an entry of the dump is this argument.
static bool isArgument(const DumpEntry &entry, const PlanBuffer &tensor) {
  switch (entry.role) {
  case DumpRole::Parameter:
    return tensor.kind == BufferKind::Parameter && tensor.name == entry.name;
  case DumpRole::Activation:
    return (tensor.kind == BufferKind::Input ||
            tensor.kind == BufferKind::State) &&
           !tensor.isCotangent() && tensor.name == entry.name;
  case DumpRole::Cotangent:
    return tensor.isCotangent() && tensor.name == "g[" + entry.name + "]";
  default:
    return false;
  }
}

/// The whole tensor that the ranks have; half a sentence if they have none.
static std::string putTogether(const PlacedTensor &tensor,
                               const DumpEntry &entry,
                               std::vector<double> &out) {
  RankValues values;
  for (const std::optional<DumpedTensor> &each : entry.ranks)
    values.push_back(each ? each->values : std::vector<double>());
  fillOtherStages(tensor.buffer(), tensor.mesh(), values);
  for (size_t rank = 0; rank < values.size(); ++rank)
    if (values[rank].empty())
      return fmt::format("rank {} lacks it", rank);
  std::optional<Form> form = formOf(tensor, entry);
  if (!form)
    return "its shapes are not those of the program";
  if (!form->pending.empty())
    values = summed(tensor.mesh(), values, form->pending);
  out = wholeOf(tensor, *form, values, 0);
  return "";
}

std::string DumpedArguments::titleOf(const PlanBuffer &argument) {
  if (argument.kind == BufferKind::Parameter)
    return "param:" + argument.name;
  // The cotangent of z is called g[z].
  return argument.isCotangent()
             ? "cot:" + argument.name.substr(2, argument.name.size() - 3)
             : "act:" + argument.name;
}

void DumpedArguments::take(const PlanBuffer &tensor, const rt::RankMesh &mesh,
                           const DumpEntry &entry) {
  std::vector<double> whole;
  std::string problem = putTogether(PlacedTensor(tensor, mesh), entry, whole);
  if (problem.empty())
    values[tensor.number] = {entry.title(), std::move(whole)};
  else
    leftOut[entry.title()] = problem;
}

Status DumpedArguments::take(const Plan &plan, const Dump &dump) {
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
  if (dump.numRanks != mesh.numRanks())
    return {};
  for (const PlanBuffer &tensor : plan.tensors())
    for (const DumpEntry &entry : dump.entries)
      if (tensor.isArgument() && isArgument(entry, tensor))
        take(tensor, mesh, entry);
  return {};
}

/// Whether no element of a whole tensor is on two ranks.
static bool hasNoCopies(const DumpEntry &entry, size_t elements) {
  size_t count = 0;
  for (const std::optional<DumpedTensor> &each : entry.ranks)
    count += each ? each->values.size() : 0;
  return count == elements;
}

Status DumpedArguments::takeAndFree(const Plan &plan, Dump &dump) {
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
  if (dump.numRanks != mesh.numRanks())
    return {};
  for (const PlanBuffer &tensor : plan.tensors())
    for (DumpEntry &entry : dump.entries) {
      if (!tensor.isArgument() || !isArgument(entry, tensor))
        continue;
      take(tensor, mesh, entry);
      const std::vector<double> *whole = find(tensor);
      entry.isTaken = whole && hasNoCopies(entry, whole->size());
      for (std::optional<DumpedTensor> &each : entry.ranks)
        if (entry.isTaken && each)
          each->values = {};
    }
  return {};
}

const std::vector<double> *
DumpedArguments::find(const PlanBuffer &tensor) const {
  auto found = values.find(tensor.number);
  return found == values.end() ? nullptr : &found->second.whole;
}

Status DumpedArguments::fill(const PlanBuffer &tensor, const rt::Shard &shard,
                             void *memory) const {
  const std::vector<double> *all = find(tensor);
  if (!all)
    return others->fill(tensor, shard, memory);
  shard.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      double value = (*all)[global + i];
      if (rt::isInteger(tensor.dtype))
        rt::storeInteger(std::isfinite(value) ? int64_t(value) : 0,
                         tensor.dtype, memory, local + i);
      else
        rt::storeFloat(value, tensor.dtype, memory, local + i);
    }
  });
  return {};
}

Status DumpedArguments::whole(const PlanBuffer &tensor,
                              std::vector<double> &out) const {
  const std::vector<double> *all = find(tensor);
  if (!all)
    return others->whole(tensor, out);
  asked.insert(values.at(tensor.number).title);
  out = *all;
  return {};
}

bool DumpedArguments::isGiven(const PlanBuffer &tensor) const {
  return find(tensor) || others->isGiven(tensor);
}
