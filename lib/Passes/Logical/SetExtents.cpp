// tpsp-set-extents: gives indices of the program other extents.
#include "Passes/Program/IndexFamilies.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/ProgramTypes.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace tpsp {
#define GEN_PASS_DEF_SETEXTENTS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// An index's old and new extents.
struct Change {
  int64_t from, to;
};

/// Whether a number is a power of an extent, as formulas use it. Scores are
/// divided by the root of the features, means by a count.
bool isOf(double number, int64_t extent) {
  for (double power : {-1.0, -0.5, 0.5, 1.0})
    if (std::abs(number / std::pow(double(extent), power) - 1) < 1e-6)
      return true;
  return false;
}

/// Adds the indices that the product of scores sums over.
void addSummed(Operation *product, llvm::SetVector<StringRef> &names) {
  auto indexed = dyn_cast_or_null<IndexedOpInterface>(product);
  if (!indexed || !indexed.isSumOfProducts())
    return;
  for (Value operand : product->getOperands())
    for (StringRef name : indexNames(operand.getType()))
      if (!getIdx(product->getResult(0)).dimOf(name))
        names.insert(name);
}

/// Finds the operation that computes an operation's first operand, through
/// operations on the elements of one tensor. Must be asked in program order, so
/// that a chain of them is walked once.
class Makers {
public:
  /// Null if the operand comes from an argument.
  Operation *of(Operation *op) {
    Operation *maker = op->getOperand(0).getDefiningOp();
    if (maker && maker->getNumOperands() == 1)
      maker = behind.lookup(maker);
    if (op->getNumOperands() == 1)
      behind[op] = maker;
    return maker;
  }

private:
  /// The makers, for operations of one operand.
  llvm::DenseMap<Operation *, Operation *> behind;
};

/// The indices whose extents may be in a factor of `op`, whose operand comes
/// from `maker`.
llvm::SetVector<StringRef> indicesBehind(Operation *op, Operation *maker) {
  llvm::SetVector<StringRef> names;
  if (auto feature = op->getAttrOfType<StringAttr>("feature"))
    names.insert(feature.getValue());
  else
    addSummed(maker, names);
  return names;
}

/// Changes the program's extents.
class Extents {
public:
  Extents(ModuleOp module) : module(module), families(module) {}

  /// "s=8192"
  LogicalResult want(StringRef entry) {
    auto [name, text] = entry.split('=');
    int64_t extent = 0;
    if (name.empty() || text.getAsInteger(10, extent) || extent < 1)
      return error() << "expected index=extent with an extent of "
                        "at least 1, not '"
                     << entry << "'";
    if (!families.knows(name))
      return error() << "the program has no index '" << name
                     << "'; its indices are "
                     << llvm::join(families.names(), ", ");
    ArrayRef<int64_t> old = families.extentsOf(families.familyOf(name));
    if (old.size() > 1)
      return error() << "index '" << name << "' has extents " << old[0]
                     << " and " << old[1]
                     << "; give what is not the same index another name";
    auto [place, isNew] =
        changes.try_emplace(families.familyOf(name), Change{old[0], extent});
    if (!isNew && place->second.to != extent)
      return error() << "index '" << name
                     << "' is renamed to one that is to have "
                     << "extent " << place->second.to << ", and so cannot have "
                     << extent;
    return success();
  }

  LogicalResult apply() {
    WalkResult checked = module.walk([&](Operation *op) {
      noteBounds(op);
      return failed(checkFactor(op)) ? WalkResult::interrupt()
                                     : WalkResult::advance();
    });
    if (checked.wasInterrupted() || failed(checkBounds()))
      return failure();
    replaceTensorTypes(
        module, [&](RankedTensorType tensor) { return changed(tensor); });
    return success();
  }

private:
  /// Begins an error at a function, because a module may have no line.
  InFlightDiagnostic error() {
    auto functions = module.getOps<func::FuncOp>();
    return functions.empty() ? emitErrorAt(module)
                             : emitErrorAt(*functions.begin());
  }

  const Change *changeOf(StringRef name) const {
    auto found = changes.find(families.familyOf(name));
    return found == changes.end() ? nullptr : &found->second;
  }

  RankedTensorType changed(RankedTensorType type) const {
    SmallVector<int64_t> shape(type.getShape());
    for (auto [extent, name] : llvm::zip_equal(shape, indexNames(type)))
      if (const Change *change = changeOf(name))
        extent = change->to;
    return RankedTensorType::get(shape, type.getElementType(),
                                 type.getEncoding());
  }

  /// Refuses a factor that a changed extent explains, and no unchanged one.
  LogicalResult checkFactor(Operation *op) {
    if (op->getNumOperands() == 0)
      return success();
    Operation *maker = makers.of(op);
    auto factor = op->getAttrOfType<FloatAttr>("scale");
    if (!factor)
      factor = op->getAttrOfType<FloatAttr>("factor");
    if (!factor)
      return success();
    StringRef stale;
    for (StringRef name : indicesBehind(op, maker)) {
      int64_t extent = families.extentsOf(families.familyOf(name))[0];
      if (extent < 2 || !isOf(factor.getValueAsDouble(), extent))
        continue;
      const Change *change = changeOf(name);
      if (!change || change->from == change->to)
        return success();
      stale = name;
    }
    if (stale.empty())
      return success();
    return emitErrorAt(op) << "the factor " << factor.getValueAsDouble()
                           << " is of index '" << stale << "' with extent "
                           << changeOf(stale)->from << "; write the one of "
                           << changeOf(stale)->to << " into the program, too";
  }

  /// Records the old and new bounds of integers.
  void noteBounds(Operation *op) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!indexed || !integerWidth(operand.get()))
        continue;
      int64_t bound = indexed.getIntegerBound(operand.getOperandNumber());
      for (const auto &[name, change] : changes)
        if (bound > 0 && change.from == bound)
          bounds.push_back(change);
    }
  }

  LogicalResult checkBounds() {
    for (auto function : module.getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments()) {
        auto below = function.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), belowAttrName);
        for (const Change &change : bounds)
          if (below && below.getInt() <= change.from &&
              below.getInt() > change.to)
            return emitErrorAt(argument)
                   << belowAttrName << " = " << below.getInt()
                   << " is of an index of extent " << change.from
                   << "; write a bound of at most " << change.to;
      }
    return success();
  }

  ModuleOp module;
  IndexFamilies families;
  Makers makers;
  llvm::MapVector<StringRef, Change> changes;
  SmallVector<Change> bounds;
};

struct SetExtents : public WithOptions<tpsp::impl::SetExtentsBase<SetExtents>,
                                       &CompileOptions::extents> {
  void runOnOperation() override {
    Extents wanted(getOperation());
    for (StringRef entry : options().extents)
      if (failed(wanted.want(entry)))
        return signalPassFailure();
    if (failed(wanted.apply()))
      signalPassFailure();
  }
};

} // namespace
