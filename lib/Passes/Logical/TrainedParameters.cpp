#include "TrainedParameters.h"

#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Abi/Optimizers.h"
#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

std::string tpsp::noOptimizer(StringRef name) {
  return ("no optimizer is called '" + name + "'; there are " +
          llvm::join(optimizerNames(), ", "))
      .str();
}

/// The dimensions that data axes divide, then all: one collective scatters a
/// gradient along the axes of one dimension.
static SmallVector<AxisList *> inOrderOfUse(Placement &placement,
                                            const Mesh &mesh) {
  SmallVector<AxisList *> dims;
  for (AxisList &dim : placement.dims)
    dims.push_back(&dim);
  llvm::stable_sort(dims, [&](const AxisList *a, const AxisList *b) {
    auto isOfData = [&](AxisId axis) {
      return mesh.axis(axis).role == AxisRole::Data;
    };
    return llvm::any_of(*a, isOfData) > llvm::any_of(*b, isOfData);
  });
  return dims;
}

/// The tensor's type with each axis on the first of these dimensions that it
/// divides, by the extents in `shape`. An axis that divides none, or that the
/// tensor already has, is left out.
static RankedTensorType withAxes(RankedTensorType type, ArrayRef<int64_t> shape,
                                 ArrayRef<AxisId> axes, const Mesh &mesh) {
  Placement placement = placementOf(type, mesh);
  for (AxisId axis : axes) {
    if (placement.uses(axis))
      continue;
    for (AxisList *dim : inOrderOfUse(placement, mesh)) {
      dim->push_back(axis);
      if (!firstUnevenDim(shape, placement, mesh))
        break;
      dim->pop_back();
    }
  }
  return withPlacement(type, placement, mesh);
}

namespace {

class Search {
public:
  Search(func::FuncOp function, const UpdateSettings &settings)
      : function(function), settings(settings), mesh(meshOf(function)),
        b(function.getContext()) {}

  static bool isTrained(BlockArgument argument) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    return isParameter(argument) && type && getIdx(type) &&
           isa<FloatType>(type.getElementType()) &&
           !function.getArgAttr(argument.getArgNumber(), frozenAttrName);
  }

  LogicalResult find() {
    llvm::StringSet<> ofIntegers = indicesOfIntegers(function);
    ArgumentAttrs attributes(function);
    for (BlockArgument argument : function.getArguments()) {
      if (!isTrained(argument))
        continue;
      Trained entry;
      entry.argument = argument.getArgNumber();
      entry.optimizer = optimizerOf(argument);
      if (!entry.optimizer)
        return failure();
      if (auto roles = matrixRolesOf(argument, ofIntegers))
        entry.matrix = *roles;
      else if (failed(takeOther(argument, entry.optimizer)))
        return failure();
      auto type = typeOf(argument);
      if (!getIdx(type).getPending().empty()) {
        emitErrorAt(argument)
            << "parameter '" << tensorName(argument) << "' is ["
            << subscripts(type)
            << "], a sum over ranks, which no update can be written to; give "
               "it whole, or divided, or mark it tpsp.frozen";
        return failure();
      }
      auto placed =
          withAxes(type, shapeToRun(function, type), settings.axes, mesh);
      noteUndivided(argument, placed);
      entry.hasMaster = type.getElementTypeBitWidth() < 32;
      entry.stateType =
          entry.hasMaster ? withElement(placed, b.getF32Type()) : placed;
      if (auto factor = function.getArgAttrOfType<FloatAttr>(
              entry.argument, learningRateAttrName))
        entry.learningRateFactor = factor.getValueAsDouble();
      attributes.set(entry.argument, gradientAtAttrName, getIdx(placed));
      if (settings.gathersForward)
        gatherFirst(argument, placed);
      trained.push_back(std::move(entry));
    }
    attributes.write();
    updateType(function);
    return success();
  }

  std::vector<Trained> trained;

private:
  /// The optimizer of the argument; null after a diagnostic.
  const Optimizer *optimizerOf(BlockArgument argument) {
    std::string name = settings.optimizer;
    if (auto own = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), optimizerAttrName))
      name = own.getValue().str();
    const Optimizer *optimizer = findOptimizer(name);
    if (!optimizer)
      emitErrorAt(argument) << noOptimizer(name);
    return optimizer;
  }

  /// Chooses the other optimizer for a parameter that is not a matrix.
  LogicalResult takeOther(BlockArgument argument, const Optimizer *&optimizer) {
    if (!optimizer->otherwise)
      return success();
    auto own = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     optimizerAttrName);
    if (own)
      return emitErrorAt(argument)
             << own << " trains matrices, and '" << tensorName(argument)
             << "' is none: it is not only a factor of products with rows and "
                "columns, or integers look up in it; leave out "
             << optimizerAttrName << " or name another";
    optimizer = &optimizer->otherwise();
    return success();
  }

  /// Reports the requested axes that do not divide the state.
  void noteUndivided(BlockArgument argument, RankedTensorType placed) {
    Placement placement = placementOf(placed, mesh);
    AxisList left;
    for (AxisId axis : settings.axes)
      if (!placement.uses(axis) && mesh.size(axis) > 1)
        left.push_back(axis);
    if (!left.empty())
      remark::missed(
          argument.getLoc(),
          remark::RemarkOpts::name("state").category("tpsp-build-update"))
          << remark::reason("{0} divides no index of '{1}' evenly, so every "
                            "rank of it has its state whole",
                            mesh.names(left), tensorName(argument));
  }

  /// Changes the argument's type to `placed`, and gathers it before its first
  /// use, so that the gather belongs to that use's layer.
  void gatherFirst(BlockArgument argument, RankedTensorType placed) {
    auto type = typeOf(argument);
    if (placed == type || argument.use_empty())
      return;
    Operation *first = *argument.user_begin();
    for (Operation *user : argument.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    argument.setType(placed);
    b.setInsertionPoint(first);
    auto whole = ReshardOp::create(b, withoutSourceName(first->getLoc()), type,
                                   argument);
    setName(whole, b.getStringAttr(tensorName(argument)));
    argument.replaceAllUsesExcept(whole, whole);
  }

  func::FuncOp function;
  const UpdateSettings &settings;
  Mesh mesh;
  OpBuilder b;
};

} // namespace

FailureOr<std::vector<Trained>>
tpsp::findTrained(func::FuncOp function, const UpdateSettings &settings) {
  Search search(function, settings);
  if (failed(search.find()))
    return failure();
  return std::move(search.trained);
}

void tpsp::freezeOthers(func::FuncOp function) {
  auto mark = UnitAttr::get(function.getContext());
  ArgumentAttrs attributes(function);
  for (BlockArgument argument : function.getArguments())
    if (!Search::isTrained(argument) &&
        !attributes.get(argument.getArgNumber(), receivedAttrName) &&
        isa<FloatType>(getElementTypeOrSelf(argument.getType())))
      attributes.set(argument.getArgNumber(), frozenAttrName, mark);
  attributes.write();
}
