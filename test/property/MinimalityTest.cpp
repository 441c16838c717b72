// The collectives of whole small programs, forward and backward: before fusing,
// their number and their bytes are the sum of the best that brute force finds
// for each operation; fusing and bucketing never make them more.
#include "Generator.h"
#include "Options.h"
#include "PlacementOracle.h"
#include "Shrink.h"

#include "Passes/Collectives/Ledger.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/InitAll.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::property;
using oracle::Layout;
using oracle::OperationPrice;
using oracle::PlacementOracle;

namespace {

/// Collectives, each axis of several ranks for itself, and bytes per rank.
struct Total {
  uint64_t collectives = 0;
  int64_t bytes = 0;

  Total &operator+=(const Total &other) {
    collectives += other.collectives;
    bytes += other.bytes;
    return *this;
  }
  bool operator==(const Total &other) const {
    return collectives == other.collectives && bytes == other.bytes;
  }
};

std::ostream &operator<<(std::ostream &stream, const Total &total) {
  return stream << total.collectives << " collectives, " << total.bytes << " B";
}

int64_t elementBytes(Type type) {
  return cast<RankedTensorType>(type).getElementTypeBitWidth() / 8;
}

oracle::Shape shapeOf(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return oracle::Shape(shape.begin(), shape.end());
}

bool isMaximum(Type type) {
  return !getIdx(type).getPending().empty() && getIdx(type).getPendingMax();
}

/// A module from the logical level to its collectives, counted at each stage.
class Counting {
public:
  Counting(ModuleOp module) : module(module), mesh(meshOf(module)) {
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
      sizes.push_back(mesh.size(axis));
  }

  /// Inserts, and compares with brute force; what is wrong, or nothing.
  std::string insert() {
    module.walk([&](IndexedOpInterface op) {
      Type type = op->getResult(0).getType();
      wanted[op] = isUnplaced(type) ? Type() : type;
      if (!op->hasAttr(goalAttrName))
        alone.insert(op);
    });
    if (!run(createInsertCollectives()))
      return "the collectives were not inserted";
    inserted = count();
    std::string problem;
    Total sum;
    module.walk([&](IndexedOpInterface op) {
      OperationPrice mine = priceOf(op);
      sum += {mine.collectives, mine.bytes};
      ++operations;
      // Sums that are taken later, with others, are not chosen alone.
      if (!alone.contains(op) || waits(op))
        return;
      std::optional<OperationPrice> best = bestOf(op);
      directToo += best && !(mine < *best);
      if (!best || isWorse(mine, *best))
        problem = op->getName().getStringRef().str() + " has " + text(mine) +
                  "; brute force: " + (best ? text(*best) : "nothing legal");
    });
    if (problem.empty() && !(sum == inserted))
      problem = "the operations' collectives are " + text(sum) +
                ", the program's " + text(inserted);
    return problem;
  }

  /// Fuses and buckets; what has become more, or nothing.
  std::string fuse() {
    if (!run(createFuseCollectives()))
      return "the collectives were not fused";
    fused = count();
    if (fused.collectives > inserted.collectives ||
        fused.bytes > inserted.bytes)
      return "inserted: " + text(inserted) + "; fused: " + text(fused);
    if (!run(createBucketCollectives()))
      return "the collectives were not bucketed";
    Total bucketed = count();
    if (bucketed.collectives > fused.collectives ||
        bucketed.bytes != fused.bytes)
      return "fused: " + text(fused) + "; bucketed: " + text(bucketed);
    return "";
  }

  Total inserted, fused;
  uint64_t operations = 0;
  /// Operations whose price is that of brute force. The others are cheaper than
  /// it, because an axis leaves its index and comes back.
  uint64_t directToo = 0;

private:
  /// planTransition does not know how large axes are. Where they are not alike,
  /// another order of the same collectives may send fewer bytes. And where axes
  /// have roles, these come before bytes.
  bool isWorse(OperationPrice mine, OperationPrice best) const {
    std::set<int64_t> different(sizes.begin(), sizes.end());
    different.erase(1);
    bool hasRoles = false;
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
      hasRoles |= mesh.axis(axis).role != AxisRole::None;
    if (different.size() > 1 || hasRoles)
      mine.bytes = best.bytes = 0;
    return best < mine;
  }

  static std::string text(const OperationPrice &price) {
    return text(Total{price.collectives, price.bytes}) + ", work " +
           std::to_string(int64_t(price.work));
  }
  static std::string text(const Total &total) {
    std::ostringstream stream;
    stream << total;
    return stream.str();
  }

  bool run(std::unique_ptr<Pass> pass) {
    PassManager pm(module.getContext());
    pm.addPass(std::move(pass));
    return succeeded(pm.run(module));
  }

  Total count() const {
    Total total;
    module->walk([&](CollectiveOpInterface op) { total += priceOf(op); });
    return total;
  }

  /// By the ring algorithm, from the types alone.
  Total priceOf(CollectiveOpInterface op) const {
    CollectiveKind kind = op.getCollectiveKind();
    if (kind == CollectiveKind::Slice)
      return {};
    auto axes = op->getAttrOfType<ArrayAttr>("axes");
    int64_t group = 1;
    Total total;
    for (auto axis : axes.getAsRange<StringAttr>()) {
      int64_t size = mesh.size(*mesh.find(axis.getValue()));
      group *= size;
      total.collectives += size > 1;
    }
    for (auto [from, to] :
         llvm::zip_equal(op->getOperandTypes(), op->getResultTypes())) {
      int64_t once =
          std::max(localBytes(from), localBytes(to)) * (group - 1) / group;
      total.bytes += kind == CollectiveKind::AllReduce ? 2 * once : once;
    }
    return total;
  }

  /// The collectives of one operation: those that bring its operands from where
  /// they are, and its result to where it is wanted. And its work per rank.
  OperationPrice priceOf(IndexedOpInterface op) const {
    Total total;
    unsigned early = 0;
    for (Value operand : op->getOperands()) {
      Type source = sourceType(operand);
      early += layoutOf(source).pending.size() -
               layoutOf(operand.getType()).pending.size();
      for (Value value = operand; value.getType() != source;) {
        auto step = cast<CollectiveOpInterface>(value.getDefiningOp());
        total += priceOf(step);
        value = step->getOperand(0);
      }
    }
    Value result = op->getResult(0);
    Type wants = waits(op) ? Type() : wanted.lookup(op);
    while (wants && result.getType() != wants) {
      auto step = cast<CollectiveOpInterface>(*result.user_begin());
      total += priceOf(step);
      result = step->getResult(0);
    }
    return {unsigned(total.collectives), workOf(op), early, total.bytes};
  }

  /// Whether the result is not brought to where it is wanted, but what becomes
  /// of it is (WaitingSums.h).
  bool waits(IndexedOpInterface op) const {
    Type wants = wanted.lookup(op);
    Value result = op->getResult(0);
    return wants && result.getType() != wants &&
           llvm::none_of(result.getUsers(), [](mlir::Operation *user) {
             return isa<CollectiveOpInterface>(user);
           });
  }

  /// Every axis on a tensor as the operation sees it divides the work.
  double workOf(IndexedOpInterface op) const {
    std::set<unsigned> dividing;
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    for (Type type : types)
      for (const auto &axes : layoutOf(type).dims)
        dividing.insert(axes.begin(), axes.end());
    double work = 1;
    for (const auto &index : op.getIndexStructure().indices)
      work *= double(index.extent);
    for (unsigned axis : dividing)
      work /= double(sizes[axis]);
    return work;
  }

  int64_t localBytes(Type type) const {
    return oracle::localElements(layoutOf(type), shapeOf(type), sizes) *
           elementBytes(type);
  }

  /// Without axes of one rank: nothing is to depend on them.
  Layout layoutOf(Type type) const {
    Layout layout = oracle::layoutOf(placementOf(type, mesh));
    auto dropUnits = [&](std::vector<unsigned> &axes) {
      llvm::erase_if(axes, [&](unsigned axis) { return sizes[axis] == 1; });
    };
    llvm::for_each(layout.dims, dropUnits);
    dropUnits(layout.pending);
    return layout;
  }

  /// The type that a value has before what its user needs has been done to it:
  /// as the program wants it, or as it came out.
  Type sourceType(Value value) const {
    while (isa_and_nonnull<CollectiveOpInterface>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    mlir::Operation *op = value.getDefiningOp();
    Type wants = wanted.lookup(op);
    if (wants && waits(cast<IndexedOpInterface>(op)))
      return value.getType();
    return wants ? wants : value.getType();
  }

  std::optional<OperationPrice> bestOf(IndexedOpInterface op) const {
    IndexStructure structure = op.getIndexStructure();
    oracle::Einsum einsum;
    oracle::Traits traits;
    for (const IndexStructure::Index &index : structure.indices) {
      einsum.extents.push_back(index.extent);
      traits.whole.push_back(index.whole);
    }
    std::vector<Layout> layouts;
    for (auto [i, tensor] : llvm::enumerate(structure.operands)) {
      Type source = sourceType(op->getOperand(i));
      einsum.operands.emplace_back(tensor.indices.begin(),
                                   tensor.indices.end());
      traits.operandShapes.push_back(shapeOf(source));
      traits.operandIsMaximum.push_back(isMaximum(source));
      layouts.push_back(layoutOf(source));
    }
    const IndexStructure::Tensor &result = structure.results.front();
    einsum.result.assign(result.indices.begin(), result.indices.end());
    traits.resultShape = shapeOf(op->getResult(0).getType());
    traits.waits = structure.linearity == Linearity::None ? oracle::Waits::Never
                   : structure.linearity == Linearity::Joint
                       ? oracle::Waits::IfAllAlike
                       : oracle::Waits::IfExactlyOne;
    traits.resultIsMaximum = structure.reduction == tpsp::Reduction::Max;
    std::optional<Layout> wants;
    if (Type type = wanted.lookup(op)) {
      wants = layoutOf(type);
      traits.wantedIsMaximum = isMaximum(type);
    }
    PlacementOracle oracle(std::move(einsum),
                           elementBytes(op->getResult(0).getType()), sizes,
                           std::move(traits));
    return oracle.best(layouts, wants);
  }

  ModuleOp module;
  Mesh mesh;
  oracle::Sizes sizes;
  /// Per operation of the program the type that its result has there; none for
  /// unplaced ones.
  llvm::DenseMap<mlir::Operation *, Type> wanted;
  /// Operations of the program whose result is no summand of another.
  llvm::DenseSet<mlir::Operation *> alone;
};

/// Compiles programs to the logical level.
class Minimality {
public:
  Minimality() : context(registry(), MLIRContext::Threading::DISABLED) {}

  /// What is wrong with a program's collectives; nothing for one that is not
  /// legal.
  std::string check(const Program &program) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    auto module =
        parseSourceString<ModuleOp>(toText(program), ParserConfig(&context));
    if (!module)
      return "";
    PassManager pm(&context);
    CompileOptions options;
    options.grad = program.grad;
    buildLogicalPipeline(pm, options);
    if (program.grad)
      pm.addPass(createDropPrimals());
    if (failed(pm.run(*module)))
      return "";
    Counting counting(*module);
    std::string problem = counting.insert();
    if (problem.empty())
      problem = counting.fuse();
    ++programs;
    operations += counting.operations;
    directToo += counting.directToo;
    inserted += counting.inserted;
    fused += counting.fused;
    return problem;
  }

  uint64_t programs = 0, operations = 0, directToo = 0;
  Total inserted, fused;

private:
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  MLIRContext context;
};

/// Bytes are compared to the last one: groups of three would round. If `alike`,
/// all axes that divide anything are as large.
void chooseSizes(Program &program, bool alike) {
  for (Axis &axis : program.mesh) {
    if (axis.size == 3)
      axis.size = 1;
    if (alike && axis.size > 1)
      axis.size = 2;
  }
}

} // namespace

TEST(Minimality, CollectivesAreTheFewestOfAllComputePlacements) {
  Minimality minimality;
  uint64_t count = 2 * options().count;
  for (uint64_t seed = options().seed; seed < options().seed + count; ++seed) {
    Program program = generateLegal(seed, /*operations=*/4);
    chooseSizes(program, /*alike=*/seed % 2 == 0);
    std::string problem = minimality.check(program);
    if (problem.empty())
      continue;
    Minimality again;
    Program smaller = shrink(
        program,
        [&](const Program &candidate) {
          return !again.check(candidate).empty();
        },
        options().shrinkAttempts);
    ADD_FAILURE() << "seed " << seed << ": " << problem
                  << "\nmade small: " << again.check(smaller) << "\n"
                  << (smaller.grad ? "// with gradients\n" : "")
                  << toText(smaller);
  }
  std::cout << minimality.programs << " programs of " << minimality.operations
            << " operations, forward and backward: " << minimality.inserted
            << " (" << minimality.operations - minimality.directToo
            << " operations are cheaper than brute force, which moves every "
               "axis straight); after fusing "
            << minimality.fused << "\n";
  EXPECT_GE(minimality.programs, count * 9 / 10)
      << "too many programs are not legal";
}
