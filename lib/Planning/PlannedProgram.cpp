#include "tpsp/Planning/PlannedProgram.h"

#include "HandedTensors.h"
#include "ReadFacts.h"
#include "tpsp/Compile/ParseModel.h"
#include "tpsp/Passes/Program/LayerRuns.h"

#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/ProgramTypes.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tpsp;

PlannedProgram::PlannedProgram(OwningOpRef<ModuleOp> module)
    : module(std::move(module)) {}
PlannedProgram::~PlannedProgram() = default;

/// Removes the mesh, and every subscript with it.
static void forgetPlacements(ModuleOp module) {
  if (MeshOp mesh = findMesh(module))
    mesh.erase();
  replaceTensorTypes(module, withoutPlacement);
}

static llvm::Error configure(ModuleOp module,
                             const PlannedProgramOptions &options) {
  PassManager pm(module.getContext());
  addConfiguration(pm, /*mesh=*/{}, options.extents, options.dtype);
  if (succeeded(pm.run(module)))
    return llvm::Error::success();
  return llvm::createStringError(
      "the program cannot have the element type and the extents asked for");
}

llvm::Expected<std::unique_ptr<PlannedProgram>>
PlannedProgram::read(MLIRContext &context, StringRef path,
                     const PlannedProgramOptions &options) {
  llvm::Expected<OwningOpRef<ModuleOp>> parsed =
      parseModel(context, path,
                 /*isRevised=*/!options.pad.empty() ||
                     !options.extents.empty() || options.forgetsPlacements);
  if (!parsed)
    return parsed.takeError();
  if (!options.pad.empty())
    leavePaddingOpen(**parsed);
  llvm::Expected<func::FuncOp> function =
      selectFunction(**parsed, options.function);
  if (!function)
    return function.takeError();
  // Without a mesh nothing is sharded, so every tensor counts as unplaced.
  if (options.forgetsPlacements || !findMesh(**parsed))
    forgetPlacements(**parsed);
  if (llvm::Error error = configure(**parsed, options))
    return error;
  std::unique_ptr<PlannedProgram> result(
      new PlannedProgram(std::move(*parsed)));
  llvm::Expected<planner::ProgramFacts> facts =
      programFacts(*result->module, *function, options.forGpu, options.pad);
  if (!facts)
    return facts.takeError();
  result->program = std::move(*facts);
  return result;
}

SmallVector<size_t> PlannedProgram::layersOfRuns(size_t shortest) const {
  auto function = module.get().lookupSymbol<func::FuncOp>(program.program);
  return llvm::map_to_vector(layerRuns(function, shortest),
                             [](const LayerRun &run) { return run.size(); });
}

static void writeMesh(ModuleOp module, const planner::Candidate &candidate) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Attribute> names, roles;
  SmallVector<int64_t> sizes;
  for (const planner::CandidateAxis &axis : candidate.axes) {
    names.push_back(builder.getStringAttr(axis.name));
    roles.push_back(builder.getStringAttr(nameOf(axis.use.role)));
    sizes.push_back(axis.size);
  }
  Location loc = module.getLoc();
  StringRef symbol = "mesh";
  if (MeshOp written = findMesh(module)) {
    loc = written.getLoc();
    symbol = written.getSymName();
    // A written axis keeps its role, or its lack of a role.
    for (size_t i = 0; i < written.getAxisRoles().size(); ++i)
      roles[i] = written.getAxisRoles()[i];
    builder.setInsertionPoint(written);
    MeshOp::create(builder, loc, builder.getStringAttr(symbol),
                   builder.getArrayAttr(names),
                   builder.getDenseI64ArrayAttr(sizes),
                   builder.getArrayAttr(roles));
    written.erase();
    return;
  }
  MeshOp::create(
      builder, loc, builder.getStringAttr(symbol), builder.getArrayAttr(names),
      builder.getDenseI64ArrayAttr(sizes), builder.getArrayAttr(roles));
}

/// Updates function types, which repeat the types of arguments and results.
static void updateFunctionTypes(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Block &body = function.getBody().front();
    function.setType(
        FunctionType::get(module.getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
  }
}

OwningOpRef<ModuleOp>
PlannedProgram::place(const planner::Candidate &candidate) const {
  OwningOpRef<ModuleOp> placed = module.get().clone();
  writeMesh(*placed, candidate);
  Mesh mesh = meshOf(*placed);
  auto function = placed->lookupSymbol<func::FuncOp>(program.program);
  auto divide = [&](Value value, const planner::Subscripts &subscripts) {
    Placement placement(subscripts.size());
    for (auto [dim, axes] : llvm::zip_equal(placement.dims, subscripts))
      dim.assign(axes.begin(), axes.end());
    value.setType(withPlacement(typeOf(value), placement, mesh));
  };
  for (auto [handed, tensor] :
       llvm::zip_equal(handedTensors(*placed, function), program.tensors))
    if (tensor.isFree)
      for (Value value : handed.values)
        divide(value, subscriptsOf(tensor, candidate));
  // A number has no index to divide: it is the same on every rank.
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (typeOf(result).getRank() == 0 && isUnplaced(result.getType()) &&
        !isa_and_nonnull<func::CallOp>(result.getDefiningOp()))
      divide(result, {});
  if (placesAttention(candidate))
    for (auto [value, tensor] :
         llvm::zip_equal(attentionTensors(*placed), program.attentionTensors))
      if (tensor.isFree)
        divide(value, attentionSubscripts(tensor, candidate));
  updateFunctionTypes(*placed);
  return placed;
}
