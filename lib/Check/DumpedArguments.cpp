#include "tpsp/Check/DumpedArguments.h"

#include "Form.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
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

Status DumpedArguments::take(const Plan &plan, const Dump &dump) {
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
  for (const PlanBuffer &tensor : plan.tensors())
    for (const DumpEntry &entry : dump.entries) {
      bool isWhole = std::all_of(entry.ranks.begin(), entry.ranks.end(),
                                 [](const auto &each) { return bool(each); });
      if (!tensor.isArgument() || !isArgument(entry, tensor) || !isWhole ||
          dump.numRanks != mesh.numRanks())
        continue;
      PlacedTensor placed(tensor, mesh);
      std::optional<Form> form = formOf(placed, entry);
      if (!form || form->kind == Form::Cut || !form->order.empty() ||
          !form->pending.empty())
        continue;
      RankValues parts;
      for (const std::optional<DumpedTensor> &each : entry.ranks)
        parts.push_back(each->values);
      values[tensor.number] =
          form->kind == Form::Whole ? parts.front() : placed.wholeAt(parts, 0);
      titles.insert(entry.title());
    }
  return {};
}

Status DumpedArguments::fill(const PlanBuffer &tensor, const rt::Shard &shard,
                             void *memory) const {
  auto found = values.find(tensor.number);
  if (found == values.end())
    return others->fill(tensor, shard, memory);
  const std::vector<double> &all = found->second;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      double value = all[global + i];
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
  auto found = values.find(tensor.number);
  if (found == values.end())
    return others->whole(tensor, out);
  out = found->second;
  return {};
}

bool DumpedArguments::isGiven(const PlanBuffer &tensor) const {
  return values.count(tensor.number) > 0 || others->isGiven(tensor);
}
