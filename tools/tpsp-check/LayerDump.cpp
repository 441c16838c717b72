#include "LayerDump.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <set>

using namespace tpsp;
using namespace tpsp::checktool;
using namespace tpsp::check;
using rt::Status;

/// The model's name of a tensor of a part. A state's parameter is the model's,
/// and a number of the step is of all parts.
static std::string modelName(const ModelPart &part, const PlanBuffer &buffer) {
  size_t bracket = buffer.name.find('[');
  if (buffer.isScalar || buffer.isStepState())
    return buffer.name;
  if (buffer.kind != BufferKind::State || bracket == std::string::npos)
    return part.fullName(buffer.name);
  std::string parameter = buffer.name.substr(bracket + 1);
  parameter.pop_back();
  return buffer.name.substr(0, bracket + 1) + part.fullName(parameter) + "]";
}

std::shared_ptr<const Plan> tpsp::checktool::named(const ModelPart &part,
                                                   const Plan &plan) {
  auto out = std::make_shared<Plan>(plan);
  for (PlanBuffer &buffer : out->buffers)
    buffer.name = modelName(part, buffer);
  for (LedgerRow &row : out->ledger)
    row.tensor = part.fullName(row.tensor);
  return out;
}

/// The name in the model of a tensor of a plan, as a dump has it.
static std::string dumpedName(const PlanBuffer &tensor) {
  bool isGradient = tensor.name.compare(0, 2, "g[") == 0;
  return isGradient ? tensor.name.substr(2, tensor.name.size() - 3)
                    : tensor.name;
}

Status LayerDump::open(int64_t stages) {
  stageAxis = stages;
  if (!options.names.empty())
    TPSP_TRY(NameMap::read(options.names, names));
  DumpReading titlesAlone;
  titlesAlone.withValues = false;
  return readDump(options.numbers, titles, titlesAlone);
}

void LayerDump::forEach(
    const std::function<void(const DumpEntry &, const std::string &)> &visit)
    const {
  for (const DumpEntry &entry : titles.entries)
    for (const std::string &name : names.namesFor(entry.name))
      visit(entry, name);
}

std::vector<std::string> LayerDump::innerValues(const ModelPart &part) const {
  std::vector<std::string> inner;
  std::string prefix = part.name.empty() ? "" : part.name + ".";
  forEach([&](const DumpEntry &entry, const std::string &name) {
    if ((entry.role == DumpRole::Activation ||
         entry.role == DumpRole::Cotangent) &&
        name.compare(0, prefix.size(), prefix) == 0)
      inner.push_back(name.substr(prefix.size()));
  });
  return inner;
}

Status LayerDump::read(const ModelPart &part, const Plan &plan, LayerUse use,
                       Dump &out) const {
  std::set<std::string> wanted;
  for (const PlanBuffer &tensor : plan.tensors())
    wanted.insert(dumpedName(tensor));
  auto isOfPart = [&](DumpRole role, const std::string &name) {
    switch (role) {
    case DumpRole::Norm:
      return false;
    case DumpRole::Loss:
      return use == LayerUse::Gradients && part.name.empty();
    case DumpRole::Updated:
      return use == LayerUse::Update && !part.shared.count(name) &&
             wanted.count(name) > 0;
    case DumpRole::Gradient:
      return use == LayerUse::Gradients && !part.shared.count(name) &&
             wanted.count(name) > 0;
    case DumpRole::Cotangent:
      return !part.shared.count(name) && wanted.count(name) > 0;
    default:
      return wanted.count(name) > 0;
    }
  };
  return read(plan, isOfPart, out);
}

Status LayerDump::readNorm(Dump &out) const {
  DumpReading reading;
  reading.keeps = [](DumpRole role, const std::string &) {
    return role == DumpRole::Norm;
  };
  return readDump(options.numbers, out, reading);
}

Status
LayerDump::read(const Plan &plan,
                const std::function<bool(DumpRole, const std::string &)> &keeps,
                Dump &out) const {
  DumpReading reading;
  // Maps of names rearrange values.
  reading.keepsBytes = options.names.empty();
  reading.keeps = [&](DumpRole role, const std::string &name) {
    std::vector<std::string> all = names.namesFor(name);
    return std::any_of(all.begin(), all.end(), [&](const std::string &each) {
      return keeps(role, each);
    });
  };
  TPSP_TRY(readDump(options.numbers, out, reading));
  TPSP_TRY(names.apply(namedExtentsOf(plan), out));
  auto isOther = [&](const DumpEntry &entry) {
    return !keeps(entry.role, entry.name);
  };
  out.entries.erase(
      std::remove_if(out.entries.begin(), out.entries.end(), isOther),
      out.entries.end());
  return fillStages(plan, out);
}

/// Gives the ranks of stages that lack a tensor what the ranks of their place
/// on another stage have.
Status LayerDump::fillStages(const Plan &plan, Dump &dump) const {
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
  if (stageAxis < 0 || dump.numRanks != mesh.numRanks())
    return {};
  for (DumpEntry &entry : dump.entries)
    for (int64_t rank = 0; rank < dump.numRanks; ++rank) {
      rt::RankGroup group;
      TPSP_TRY(mesh.group(rank, {stageAxis}, group));
      for (int64_t other : group.ranks)
        if (!entry.ranks[rank] && entry.ranks[other])
          entry.ranks[rank] = entry.ranks[other];
    }
  return {};
}

/// The name without g[].
static std::string nameOfResult(const PlanBuffer &cotangent) {
  return cotangent.name.substr(2, cotangent.name.size() - 3);
}

void tpsp::checktool::scaleCotangents(const Plan &plan, double factor,
                                      Dump &dump) {
  std::set<std::string> given;
  for (DumpEntry &entry : dump.entries) {
    if (entry.role != DumpRole::Cotangent)
      continue;
    given.insert(entry.name);
    for (std::optional<DumpedTensor> &each : entry.ranks)
      if (each)
        for (double &value : each->values)
          value *= factor;
  }
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (!tensor.isCotangent() || tensor.deviation != 0 ||
        !tensor.shape.empty() || given.count(nameOfResult(tensor)))
      continue;
    DumpEntry &entry = dump.entries.emplace_back();
    entry.role = DumpRole::Cotangent;
    entry.name = nameOfResult(tensor);
    entry.ranks.assign(dump.numRanks, DumpedTensor{TPSP_RT_F64, {}, {factor}});
  }
}

bool tpsp::checktool::addZeroState(const Plan &plan, Dump &dump) {
  std::set<std::string> given;
  for (const DumpEntry &entry : dump.entries)
    if (entry.role == DumpRole::Activation)
      given.insert(entry.name);
  bool isAny = false;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (tensor.kind != BufferKind::State || tensor.isStepState() ||
        tensor.isMaster || given.count(tensor.name))
      continue;
    DumpedTensor zeros{TPSP_RT_F64, tensor.shape, {}};
    int64_t elements = 1;
    for (int64_t extent : tensor.shape)
      elements *= extent;
    zeros.values.assign(elements, 0);
    DumpEntry &entry = dump.entries.emplace_back();
    entry.role = DumpRole::Activation;
    entry.name = tensor.name;
    entry.ranks.assign(dump.numRanks, zeros);
    isAny = true;
  }
  return isAny;
}

void tpsp::checktool::keepRole(DumpRole role, Dump &dump) {
  auto isOther = [&](const DumpEntry &entry) { return entry.role != role; };
  dump.entries.erase(
      std::remove_if(dump.entries.begin(), dump.entries.end(), isOther),
      dump.entries.end());
}
