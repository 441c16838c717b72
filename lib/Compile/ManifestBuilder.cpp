// The manifest of a plan.
#include "tpsp/Compile/Compiler.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Passes/Plan/PlanAttention.h"
#include "tpsp/Passes/Program/SourceName.h"

using namespace mlir;
using namespace tpsp;
using rt::ManifestTensor;

static ManifestTensor::Kind kindOf(StringRef kind) {
  if (kind == plan::parameterKind)
    return ManifestTensor::Kind::Parameter;
  if (kind == plan::outputKind)
    return ManifestTensor::Kind::Output;
  if (kind == plan::gradientKind)
    return ManifestTensor::Kind::Gradient;
  if (kind == plan::choiceKind)
    return ManifestTensor::Kind::Choice;
  return ManifestTensor::Kind::Input;
}

static int64_t axisNumber(plan::ProgramOp program, StringAttr name) {
  return llvm::find(program.getAxes(), Attribute(name)) -
         program.getAxes().begin();
}

static ManifestTensor describe(plan::ProgramOp program, plan::BufferOp buffer) {
  auto type = cast<RankedTensorType>(*buffer.getTensor());
  IdxAttr idx = getIdx(type);
  ManifestTensor tensor;
  tensor.name = buffer.getName().value_or("").str();
  tensor.kind = kindOf(buffer.getKind());
  tensor.number = buffer.getNumber().value_or(0);
  tensor.subscripts = subscripts(type);
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  for (ArrayAttr axes : idx.getAxes()) {
    tensor.axes.emplace_back();
    for (auto axis : axes.getAsRange<StringAttr>())
      tensor.axes.back().push_back(axisNumber(program, axis));
  }
  for (StringAttr axis : idx.getPending())
    tensor.pending.push_back(axisNumber(program, axis));
  tensor.pendingMax = idx.getPendingMax();
  tensor.dtype = plan::runtimeType(type.getElementType());
  if (auto below = buffer->getAttrOfType<IntegerAttr>(plan::belowAttrName))
    tensor.below = below.getInt();
  if (auto mean = buffer->getAttrOfType<FloatAttr>(plan::meanAttrName))
    tensor.mean = mean.getValueAsDouble();
  if (auto deviation =
          buffer->getAttrOfType<FloatAttr>(plan::deviationAttrName))
    tensor.deviation = deviation.getValueAsDouble();
  for (StringRef name : {plan::cotangentOfAttrName, plan::gradientOfAttrName})
    if (auto of = buffer->getAttrOfType<IntegerAttr>(name))
      tensor.of = of.getInt();
  tensor.offset = *buffer.getOffset();
  tensor.bytes = plan::bytesOf(buffer.getType());
  return tensor;
}

static std::string locationOf(Operation *op) {
  auto file = op->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
         std::to_string(file.getColumn());
}

static rt::ManifestCollective describe(Operation *command,
                                       DictionaryAttr ledger) {
  rt::ManifestCollective row;
  auto text = [&](StringRef key) {
    return ledger.getAs<StringAttr>(key).getValue().str();
  };
  row.kind = command->getName().stripDialect().str();
  for (auto axis : ledger.getAs<ArrayAttr>("axes").getAsRange<StringAttr>())
    row.axes.push_back(axis.getValue().str());
  row.index = text("index");
  row.phase = text("phase");
  row.bytes = ledger.getAs<IntegerAttr>("bytes").getInt();
  row.group = ledger.getAs<IntegerAttr>("group").getInt();
  row.tensor = text("tensor");
  row.reason = text("reason");
  row.location = locationOf(command);
  return row;
}

namespace {

/// The ledger, in which the parts of a collective that was cut are one row.
class LedgerRows {
public:
  explicit LedgerRows(std::vector<rt::ManifestCollective> &rows) : rows(rows) {}

  void add(rt::ManifestCollective row, DictionaryAttr ledger, int64_t command) {
    row.commands = {command};
    auto whole = ledger.getAs<IntegerAttr>("whole");
    if (!whole) {
      rows.push_back(std::move(row));
      return;
    }
    auto [known, isNew] = rowOf.try_emplace(whole.getInt(), rows.size());
    if (isNew) {
      row.kind = ledger.getAs<StringAttr>("kind").getValue().str();
      rows.push_back(std::move(row));
      return;
    }
    rows[known->second].bytes += row.bytes;
    rows[known->second].commands.push_back(command);
  }

private:
  std::vector<rt::ManifestCollective> &rows;
  llvm::DenseMap<int64_t, size_t> rowOf;
};

} // namespace

namespace {

/// The epilogues, in which the parts of a matmul that was cut are one row.
class EpilogueRows {
public:
  explicit EpilogueRows(std::vector<rt::ManifestEpilogue> &rows) : rows(rows) {}

  void add(plan::MatmulOp matmul) {
    rt::ManifestEpilogue row{sourceName(matmul.getLoc()).value_or(""),
                             locationOf(matmul),
                             {},
                             /*commands=*/0};
    std::string key = row.location;
    for (rt::EpilogueStep step : plan::epilogueOf(matmul)) {
      row.steps.push_back(rt::nameOf(step));
      key += std::string(" ") + rt::nameOf(step);
    }
    if (row.steps.empty())
      return;
    auto [known, isNew] = rowOf.try_emplace(key, rows.size());
    if (isNew)
      rows.push_back(std::move(row));
    ++rows[known->second].commands;
  }

private:
  std::vector<rt::ManifestEpilogue> &rows;
  llvm::StringMap<size_t> rowOf;
};

} // namespace

namespace {

/// The calls of attention, in which micro-batches and what is redone are one
/// row.
class AttentionRows {
public:
  explicit AttentionRows(std::vector<rt::ManifestAttention> &rows)
      : rows(rows) {}

  void add(plan::CommandOpInterface op) {
    rt::ManifestAttention row{op.getCall().str(),
                              sourceName(op->getLoc()).value_or(""),
                              locationOf(op), /*commands=*/0};
    auto [known, isNew] = rowOf.try_emplace(
        row.call + " " + row.value + " " + row.location, rows.size());
    if (isNew)
      rows.push_back(std::move(row));
    ++rows[known->second].commands;
  }

private:
  std::vector<rt::ManifestAttention> &rows;
  llvm::StringMap<size_t> rowOf;
};

} // namespace

static double flopsOf(plan::MatmulOp matmul) {
  double flops = 2;
  for (int64_t size : matmul.getSizes())
    flops *= static_cast<double>(size);
  for (ArrayRef<int64_t> loops : {matmul.getBatch(), matmul.getAccumulate()})
    for (size_t i = 0; i < loops.size(); i += 4)
      flops *= static_cast<double>(loops[i]);
  return flops;
}

rt::Manifest tpsp::manifestOf(ModuleOp module, StringRef name) {
  auto program = module.lookupSymbol<plan::ProgramOp>(name);
  rt::Manifest manifest;
  manifest.program = name.str();
  for (auto [axis, size] : llvm::zip_equal(
           program.getAxes().getAsRange<StringAttr>(), program.getSizes()))
    manifest.mesh.push_back({axis.getValue().str(), size});
  manifest.arenaBytes = program.getArenaBytes().value_or(0);
  manifest.savedBytes = program.getSavedBytes().value_or(0);
  if (auto streams = program->getAttrOfType<IntegerAttr>("streams"))
    manifest.streams = streams.getInt();
  if (auto events = program->getAttrOfType<IntegerAttr>("events"))
    manifest.events = events.getInt();
  if (auto misses = program->getAttrOfType<IntegerAttr>("layout_misses"))
    manifest.transposeCopies = misses.getInt();

  LedgerRows rows(manifest.collectives);
  EpilogueRows epilogues(manifest.epilogues);
  AttentionRows attention(manifest.attention);
  for (Operation &op : program.getBody().front()) {
    if (auto buffer = dyn_cast<plan::BufferOp>(op)) {
      if (buffer.getTensor())
        manifest.tensors.push_back(describe(program, buffer));
      continue;
    }
    if (!isa<plan::CommandOpInterface>(op))
      continue;
    if (auto ledger = op.getAttrOfType<DictionaryAttr>("ledger"))
      rows.add(describe(&op, ledger), ledger, manifest.commands);
    ++manifest.commands;
    if (auto matmul = dyn_cast<plan::MatmulOp>(op)) {
      manifest.matmulFlops += flopsOf(matmul);
      epilogues.add(matmul);
    }
    if (std::optional<AttentionWork> work = attentionWork(&op)) {
      manifest.matmulFlops += work->flops();
      attention.add(cast<plan::CommandOpInterface>(op));
    }
  }
  return manifest;
}
