#include "FuseEpilogues.h"

#include "EpilogueForms.h"
#include "PlanMatmul.h"

#include "tpsp/Abi/LibraryLimits.h"
#include "tpsp/Algebra/MatmulEpilogue.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// A matmul with its epilogue, not yet among the commands.
struct Fusion {
  /// Its position among the commands.
  size_t matmul = 0;
  PlannedMatmul fused;
  /// Whether it moves to the kernel's place.
  bool atKernel = true;
};

int64_t elementsOf(Value value) { return typeOf(value).getNumElements(); }

int64_t widthOf(Value value) {
  return typeOf(value).getElementTypeBitWidth() / 8;
}

bool haveOneType(Value x, Value y) {
  return typeOf(x).getElementType() == typeOf(y).getElementType();
}

//===----------------------------------------------------------------------===//
// Obstacles: a reason, or ""
//===----------------------------------------------------------------------===//

StringRef checkType(Value value) {
  return rt::hasEpilogues(plan::runtimeType(typeOf(value).getElementType()))
             ? ""
             : "cuBLASLt has epilogues for f32, bf16 and f16 only";
}

StringRef checkLayout(const MatmulForm &form, rt::EpilogueStep step,
                      Value tensor) {
  if (step == rt::EpilogueStep::Bias &&
      (elementsOf(tensor) != form.n || !columnIsOffset(form)))
    return "the vector does not lie along the product's columns";
  if (rt::hasMatrix(step) && step != rt::EpilogueStep::Add &&
      (std::max(form.ldc, form.n) % rt::epilogueMatrixUnit != 0 ||
       !isAligned(form, rt::epilogueMatrixUnit)))
    return "cuBLASLt reads and writes GELU's argument in rows of multiples of "
           "8 elements";
  return "";
}

int64_t runtimeTypeOf(Value value) {
  return plan::runtimeType(typeOf(value).getElementType());
}

/// Checks the tensors of an epilogue of `product`.
StringRef checkTensors(const PlannedMatmul &fused, Value product) {
  rt::MatmulCommand command{fused.form,
                            runtimeTypeOf(product),
                            {fused.epilogue.begin(), fused.epilogue.end()}};
  if (command.adds())
    return runtimeTypeOf(fused.c) == command.resultType()
               ? ""
               : "the sum has another type than products are summed in";
  if (!haveOneType(product, fused.c))
    return "the epilogue's tensors are of other types";
  const auto *reads = fused.reads.begin(), *writes = fused.writes.begin();
  for (rt::EpilogueStep step : fused.epilogue) {
    if (!rt::hasBuffer(step))
      continue;
    Value tensor = rt::writesBuffer(step) ? *writes++ : *reads++;
    if (!haveOneType(tensor, fused.c))
      return "the epilogue's tensors are of other types";
    StringRef reason = checkLayout(fused.form, step, tensor);
    if (!reason.empty())
      return reason;
  }
  return "";
}

/// The step by which `matmul` computes `result`, the sum of one of its
/// operands. Returns nullopt if `summed` is not an operand, or is summed over
/// other indices.
std::optional<rt::EpilogueStep> sumIn(const PlannedMatmul &matmul, Value summed,
                                      Value result) {
  if (!haveOneType(summed, result))
    return std::nullopt;
  auto sums = [&](MatmulTensor operand, Value value, int64_t extent) {
    return withoutViews(value) == withoutViews(summed) &&
           elementsOf(result) == extent &&
           sumIsByOffset(matmul.form, operand, elementsOf(summed));
  };
  if (sums(MatmulTensor::A, matmul.a, matmul.form.m))
    return rt::EpilogueStep::SumA;
  if (sums(MatmulTensor::B, matmul.b, matmul.form.n))
    return rt::EpilogueStep::SumB;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Fusing
//===----------------------------------------------------------------------===//

class EpilogueFuser {
public:
  EpilogueFuser(std::vector<PlannedCommand> &commands, const CostModel *cost)
      : commands(commands), cost(cost) {}

  using Match =
      llvm::function_ref<std::optional<EpilogueForm>(const KernelGroup &)>;

  void run(Match match) {
    for (auto [i, command] : llvm::enumerate(commands)) {
      standing.push_back({i});
      if (command.group)
        for (Operation *op : command.group->getOps())
          position[op] = i;
      position[command.op] = i;
      if (command.matmul)
        makerOf[command.matmul->c] = i;
    }
    for (size_t kernel = 0; kernel < commands.size(); ++kernel)
      if (commands[kernel].group)
        if (auto form = match(*commands[kernel].group))
          fuse(kernel, *form);
    reorder();
  }

private:
  /// The commands that read a value, under any view of it.
  struct Readers {
    SmallVector<size_t> at;
    bool isReturned = false;
  };

  void collect(Value value, Readers &readers) const {
    for (Operation *user : value.getUsers()) {
      auto indexed = dyn_cast<IndexedOpInterface>(user);
      if (indexed && indexed.isView())
        collect(user->getResult(0), readers);
      else if (user->hasTrait<OpTrait::IsTerminator>())
        readers.isReturned = true;
      else
        readers.at.push_back(position.lookup(user));
    }
  }

  Readers readersOf(Value value) const {
    Readers readers;
    collect(withoutViews(value), readers);
    llvm::sort(readers.at);
    return readers;
  }

  /// Finds the matmul that computes `product`, if it has no epilogue yet.
  StringRef findMaker(Value product, Fusion &out) const {
    auto maker = makerOf.find(withoutViews(product));
    if (maker == makerOf.end())
      return "it does not read a product";
    out.matmul = maker->second;
    if (!commands[out.matmul].matmul->epilogue.empty())
      return "the product has an epilogue already";
    if (readersOf(product).isReturned)
      return "the product itself is a result";
    return "";
  }

  /// Whether the kernel reads the product for another of its steps, too.
  static bool readsAside(const EpilogueForm &form, Value product) {
    auto readsProduct = [&](const EpilogueUse &use) {
      return rt::hasBuffer(use.step) && !rt::writesBuffer(use.step) &&
             withoutViews(use.tensor) == withoutViews(product);
    };
    return llvm::any_of(form.pointwise, [&](const PointwiseEpilogue &part) {
      return llvm::any_of(part.steps, readsProduct);
    });
  }

  /// Checks the other readers of the product. If its GELU's slope reads it
  /// later, the epilogue must keep it.
  StringRef checkReaders(size_t kernel, const EpilogueForm &form,
                         const PointwiseEpilogue &part, bool &keeps) const {
    SmallVector<size_t> readers = readersOf(part.product).at;
    keeps = readsAside(form, part.product) || readers.back() > kernel;
    bool isGelu =
        part.steps.size() == 1 && part.steps[0].step == rt::EpilogueStep::Gelu;
    if (readers.front() < kernel || (keeps && !isGelu))
      return "something else reads the product";
    return "";
  }

  StringRef fusePart(size_t kernel, const EpilogueForm &form,
                     const PointwiseEpilogue &part, Fusion &fusion) const {
    StringRef reason = findMaker(part.product, fusion);
    bool adds = part.steps[0].step == rt::EpilogueStep::Add;
    if (reason.empty() && !adds)
      reason = checkType(part.product);
    if (!reason.empty())
      return reason;
    bool keepsProduct = false;
    reason = checkReaders(kernel, form, part, keepsProduct);
    if (!reason.empty())
      return reason;
    fusion.fused = *commands[fusion.matmul].matmul;
    if (keepsProduct)
      fusion.fused.add(rt::EpilogueStep::Keep, fusion.fused.c);
    fusion.fused.c = part.result;
    for (const EpilogueUse &use : part.steps)
      fusion.fused.add(use.step, use.tensor);
    return checkTensors(fusion.fused, part.product);
  }

  /// Finds a matmul that reads `summed`, sums over the same indices, and comes
  /// before the sum's readers.
  StringRef fuseSum(const SumEpilogue &part, ArrayRef<Fusion> taken,
                    Fusion &fusion) const {
    if (StringRef reason = checkType(part.summed); !reason.empty())
      return reason;
    SmallVector<size_t> later = readersOf(part.result).at;
    for (size_t reader : readersOf(part.summed).at) {
      const std::optional<PlannedMatmul> &matmul = commands[reader].matmul;
      bool isTaken = llvm::any_of(
          taken, [&](const Fusion &other) { return other.matmul == reader; });
      if (!matmul || !matmul->epilogue.empty() || isTaken)
        continue;
      std::optional<rt::EpilogueStep> step =
          sumIn(*matmul, part.summed, part.result);
      if (!step || (!later.empty() && later.front() <= reader))
        continue;
      fusion = Fusion{reader, *matmul, /*atKernel=*/false};
      fusion.fused.add(*step, part.result);
      return "";
    }
    return "no product sums this tensor over the same indices";
  }

  StringRef findFusions(size_t kernel, const EpilogueForm &form,
                        std::vector<Fusion> &out) const {
    for (const PointwiseEpilogue &part : form.pointwise) {
      Fusion fusion;
      StringRef reason = fusePart(kernel, form, part, fusion);
      if (!reason.empty())
        return reason;
      out.push_back(std::move(fusion));
    }
    // A part may read what another part keeps.
    llvm::stable_sort(out, [](const Fusion &x, const Fusion &y) {
      return !x.fused.writes.empty() && y.fused.writes.empty();
    });
    for (const SumEpilogue &part : form.sums) {
      Fusion fusion;
      StringRef reason = fuseSum(part, out, fusion);
      if (!reason.empty())
        return reason;
      out.push_back(std::move(fusion));
    }
    return "";
  }

  /// The work of the kernel. The epilogues do the same, but the kernel also
  /// reads and writes each of its tensors once.
  static KernelWork kernelWork(const KernelGroup &group,
                               ArrayRef<Fusion> fusions) {
    KernelWork work;
    work.grid = group.countItems();
    for (const Fusion &fusion : fusions) {
      EpilogueWork done = matmulWork(fusion.fused).epilogue;
      work.operations += done.operations;
      work.transcendentals += done.transcendentals;
    }
    int64_t points = 0, width = 0;
    for (const auto &tensors : {group.getInputs(), group.getOutputs()})
      for (Value tensor : tensors) {
        points = std::max(points, elementsOf(tensor));
        width += widthOf(tensor);
      }
    work.elementBytes = double(points) * double(width);
    return work;
  }

  /// Seconds that fusing saves; nullopt if there is no gain.
  std::optional<double> gain(const KernelGroup &group,
                             ArrayRef<Fusion> fusions) const {
    if (!cost)
      return 0;
    double bytes = 0;
    for (const auto &tensors : {group.getInputs(), group.getOutputs()})
      for (Value tensor : tensors)
        bytes += double(elementsOf(tensor) * widthOf(tensor));
    double saved = cost->kernelSeconds(kernelWork(group, fusions), bytes);
    for (const Fusion &fusion : fusions) {
      int64_t dtype = runtimeTypeOf(fusion.fused.a);
      MatmulWork work = matmulWork(*commands[fusion.matmul].matmul);
      saved += cost->matmulSeconds(work, dtype);
      saved -= cost->matmulSeconds(matmulWork(fusion.fused), dtype);
    }
    return saved > 0 ? std::optional(saved) : std::nullopt;
  }

  void fuse(size_t kernel, const EpilogueForm &form) {
    const KernelGroup &group = *commands[kernel].group;
    std::vector<Fusion> fusions;
    if (StringRef reason = findFusions(kernel, form, fusions); !reason.empty())
      return miss(kernel, reason);
    std::optional<double> saved = gain(group, fusions);
    if (!saved)
      return miss(kernel, "the kernel is not slower");
    remark::passed(group.getOps().front()->getLoc(), options())
        << remark::reason("{0} became part of {1}", stemOf(group),
                          describe(fusions))
        << remark::metric("microseconds", *saved * 1e6);
    standing[kernel].clear();
    for (Fusion &fusion : fusions)
      apply(kernel, fusion);
  }

  /// Moves the uses of the kernel's values to the matmul. (The operations of an
  /// elementwise kernel already have its position.)
  void apply(size_t kernel, Fusion &fusion) {
    PlannedMatmul &matmul = *commands[fusion.matmul].matmul;
    if (fusion.atKernel) {
      makerOf.erase(matmul.c);
      makerOf[fusion.fused.c] = fusion.matmul;
      position[commands[fusion.matmul].op] = kernel;
      standing[fusion.matmul].clear();
      standing[kernel].push_back(fusion.matmul);
    } else {
      for (Value sum : fusion.fused.writes)
        position[sum.getDefiningOp()] = fusion.matmul;
    }
    matmul = std::move(fusion.fused);
  }

  void reorder() {
    std::vector<PlannedCommand> ordered;
    for (ArrayRef<size_t> here : standing)
      for (size_t command : here)
        ordered.push_back(std::move(commands[command]));
    commands = std::move(ordered);
  }

  static std::string describe(ArrayRef<Fusion> fusions) {
    std::string text;
    for (const Fusion &fusion : fusions) {
      text += text.empty() ? "a matmul: " : "; a matmul: ";
      llvm::raw_string_ostream stream(text);
      llvm::interleaveComma(
          fusion.fused.epilogue, stream,
          [&](rt::EpilogueStep step) { stream << rt::nameOf(step); });
    }
    return text;
  }

  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("epilogue")
        .category("convert-tpsp-to-plan");
  }

  void miss(size_t kernel, StringRef reason) const {
    const KernelGroup &group = *commands[kernel].group;
    remark::missed(group.getOps().front()->getLoc(), options())
        << remark::reason("{0} stays a kernel: {1}", stemOf(group), reason);
  }

  std::vector<PlannedCommand> &commands;
  const CostModel *cost;
  /// The place of an operation's command, as a position in `standing`.
  llvm::DenseMap<Operation *, size_t> position;
  /// The number of a matmul by its result C.
  llvm::DenseMap<Value, size_t> makerOf;
  /// The commands at each place, in order.
  std::vector<SmallVector<size_t, 1>> standing;
};

} // namespace

void tpsp::fuseEpilogues(std::vector<PlannedCommand> &commands,
                         const CostModel *cost) {
  EpilogueFuser(commands, cost).run(matchEpilogue);
}

void tpsp::fuseAdditions(std::vector<PlannedCommand> &commands,
                         const SumMemory &sums) {
  if (!sums.empty())
    EpilogueFuser(commands, /*cost=*/nullptr)
        .run([&](const KernelGroup &group) {
          return matchAdditions(group, sums);
        });
}
