// tpsp-fuse-epilogues: kernels that read a product element by element, and sums
// of an operand, into matmuls.
#include "EpilogueKernels.h"
#include "PlanMatmul.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/StepOfProgram.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Algebra/MatmulEpilogue.h"
#include "tpsp/Schedule/CostModel.h"

#include "tpsp/Dialect/Tpsp/ErrorPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace tpsp {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Of the matrices beside C, in elements: what cuBLASLt asks of their leading
/// dimensions and strides.
constexpr int64_t matrixAlignment = 8;

constexpr llvm::StringLiteral category = "tpsp-fuse-epilogues";

/// A matmul with its epilogue, before it is made.
struct Fusion {
  plan::MatmulOp matmul;
  MatmulBuffers buffers;
  SmallVector<rt::EpilogueStep> steps;
  /// Where the kernel was, or where the matmul is.
  bool atKernel = true;
};

/// The kernels that one function is, matched once.
class KernelMatches {
public:
  explicit KernelMatches(ModuleOp module) : symbols(module) {}

  const std::optional<EpilogueKernel> &of(plan::KernelOp op) {
    auto [known, isNew] = matches.try_emplace(op.getCallee());
    if (isNew)
      if (auto function = symbols.lookup<func::FuncOp>(op.getCallee()))
        known->second = matchEpilogueKernel(function, op.getInputs().size());
    return known->second;
  }

  func::FuncOp functionOf(plan::KernelOp op) {
    return symbols.lookup<func::FuncOp>(op.getCallee());
  }

private:
  SymbolTable symbols;
  llvm::StringMap<std::optional<EpilogueKernel>> matches;
};

class EpilogueFuser {
public:
  /// `cost`: null where the machine says nothing of this mesh; then all that is
  /// possible is done.
  EpilogueFuser(plan::ProgramOp program, KernelMatches &kernels,
                const CostModel *cost)
      : program(program), kernels(kernels), cost(cost) {}

  void run() {
    SmallVector<plan::KernelOp> candidates;
    for (auto [i, op] : llvm::enumerate(program.getBody().front())) {
      position[&op] = int64_t(i);
      if (auto kernel = dyn_cast<plan::KernelOp>(op))
        if (kernels.of(kernel))
          candidates.push_back(kernel);
    }
    for (plan::KernelOp kernel : candidates)
      fuse(kernel);
  }

private:
  //===--------------------------------------------------------------------===//
  // Who touches what
  //===--------------------------------------------------------------------===//

  struct Users {
    SmallVector<Operation *> readers, writers;
    bool hasTiles = false;
  };

  static bool writes(OpOperand &use) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(use.getOwner()).getEffects(effects);
    return llvm::any_of(effects, [&](MemoryEffects::EffectInstance &effect) {
      return effect.getEffectValue<OpOperand *>() == &use &&
             isa<MemoryEffects::Write>(effect.getEffect());
    });
  }

  static void collect(Value value, Users &users) {
    for (OpOperand &use : value.getUses()) {
      if (auto view = dyn_cast<plan::ViewOp>(use.getOwner()))
        collect(view.getResult(), users);
      else if (isa<plan::TileOp>(use.getOwner()))
        users.hasTiles = true;
      else
        (writes(use) ? users.writers : users.readers).push_back(use.getOwner());
    }
  }

  static Users usersOf(Value value) {
    Users users;
    collect(plan::bufferOf(value).getResult(), users);
    return users;
  }

  /// Whether nothing writes what a value is in behind `from`, before `to`.
  bool isSettled(Value value, int64_t from, int64_t to) {
    return llvm::none_of(usersOf(value).writers, [&](Operation *writer) {
      return position[writer] > from && position[writer] < to;
    });
  }

  static int64_t elementsOf(Value value) {
    return cast<MemRefType>(value.getType()).getNumElements();
  }

  static Value argumentOf(plan::KernelOp kernel, unsigned number) {
    return kernel->getOperand(number);
  }

  //===--------------------------------------------------------------------===//
  // What stands in the way: a reason, or "" and the fusion
  //===--------------------------------------------------------------------===//

  /// The matmul that alone makes `product`, and makes nothing else yet.
  StringRef findProducer(Value product, Fusion &out) {
    Users users = usersOf(product);
    if (users.hasTiles || users.writers.size() != 1)
      return "it does not read a product";
    out.matmul = dyn_cast<plan::MatmulOp>(users.writers.front());
    if (!out.matmul ||
        plan::bufferOf(out.matmul.getC()) != plan::bufferOf(product))
      return "it does not read a product";
    if (out.matmul.getEpilogue())
      return "the product has an epilogue already";
    if (plan::bufferOf(product).getKind() != plan::temporaryKind)
      return "the product itself is a result";
    return checkType(product);
  }

  static StringRef checkType(Value value) {
    Type element = cast<MemRefType>(value.getType()).getElementType();
    return element.isF32() || element.isBF16() || element.isF16()
               ? ""
               : "cuBLASLt has epilogues for f32, bf16 and f16 only";
  }

  /// Whether the kernel reads the product for another of its steps, too.
  bool readsAside(plan::KernelOp kernel, Value product) {
    for (const PointwisePart &part : kernels.of(kernel)->pointwise)
      for (const KernelStep &each : part.steps)
        if (rt::hasBuffer(each.step) && !rt::writesBuffer(each.step) &&
            plan::bufferOf(argumentOf(kernel, each.argument)) ==
                plan::bufferOf(product))
          return true;
    return false;
  }

  /// Whoever else reads the product: its GELU's slope does later, and then the
  /// product is what the epilogue keeps.
  StringRef checkReaders(plan::KernelOp kernel, const PointwisePart &part,
                         Fusion &fusion, bool &keepsProduct) {
    Value product = argumentOf(kernel, part.product);
    keepsProduct = readsAside(kernel, product);
    for (Operation *reader : usersOf(product).readers) {
      if (position[reader] < position[kernel])
        return "something else reads the product";
      keepsProduct |= reader != kernel;
    }
    bool isGelu =
        part.steps.size() == 1 && part.steps[0].step == rt::EpilogueStep::Gelu;
    if (keepsProduct && !isGelu)
      return "something else reads the product";
    int64_t from = position[fusion.matmul], to = position[kernel];
    if (!isSettled(fusion.matmul.getA(), from, to) ||
        !isSettled(fusion.matmul.getB(), from, to))
      return "something between overwrites a factor";
    return "";
  }

  StringRef checkLayout(const Fusion &fusion, rt::EpilogueStep step,
                        Value buffer) {
    MatmulForm form = formOf(fusion.matmul);
    if (step == rt::EpilogueStep::Bias &&
        (elementsOf(buffer) != form.n || !columnIsOffset(form)))
      return "the vector does not lie along the product's columns";
    if (rt::hasMatrix(step) &&
        (std::max(form.ldc, form.n) % matrixAlignment != 0 ||
         !isAligned(form, matrixAlignment)))
      return "cuBLASLt reads and writes GELU's argument in rows of multiples "
             "of "
             "8 elements";
    return "";
  }

  void addStep(Fusion &fusion, rt::EpilogueStep step, Value buffer) {
    fusion.steps.push_back(step);
    if (rt::hasBuffer(step))
      (rt::writesBuffer(step) ? fusion.buffers.writes : fusion.buffers.reads)
          .push_back(buffer);
  }

  StringRef fusePart(plan::KernelOp kernel, const PointwisePart &part,
                     Fusion &fusion) {
    Value product = argumentOf(kernel, part.product);
    if (StringRef reason = findProducer(product, fusion); !reason.empty())
      return reason;
    bool keepsProduct = false;
    if (StringRef reason = checkReaders(kernel, part, fusion, keepsProduct);
        !reason.empty())
      return reason;
    fusion.buffers.a = fusion.matmul.getA();
    fusion.buffers.b = fusion.matmul.getB();
    fusion.buffers.c = argumentOf(kernel, part.result);
    if (keepsProduct)
      addStep(fusion, rt::EpilogueStep::Keep, fusion.matmul.getC());
    for (const KernelStep &each : part.steps)
      addStep(fusion, each.step,
              rt::hasBuffer(each.step) ? argumentOf(kernel, each.argument)
                                       : Value());
    return checkFusion(fusion);
  }

  StringRef checkFusion(const Fusion &fusion) {
    auto reads = fusion.buffers.reads.begin(),
         writes = fusion.buffers.writes.begin();
    for (rt::EpilogueStep step : fusion.steps) {
      if (!rt::hasBuffer(step))
        continue;
      Value buffer = rt::writesBuffer(step) ? *writes++ : *reads++;
      if (cast<MemRefType>(buffer.getType()).getElementType() !=
          cast<MemRefType>(fusion.buffers.c.getType()).getElementType())
        return "the epilogue's tensors are of other types";
      if (StringRef reason = checkLayout(fusion, step, buffer); !reason.empty())
        return reason;
    }
    return "";
  }

  /// A matmul that reads `summed` and sums over the same of its indices.
  StringRef fuseSum(plan::KernelOp kernel, const SumPart &part,
                    ArrayRef<Fusion> taken, Fusion &fusion) {
    Value summed = argumentOf(kernel, part.summed),
          result = argumentOf(kernel, part.result);
    if (StringRef reason = checkType(summed); !reason.empty())
      return reason;
    SmallVector<Operation *> readers = usersOf(summed).readers;
    llvm::sort(readers, [&](Operation *x, Operation *y) {
      return position[x] < position[y];
    });
    for (Operation *reader : readers) {
      auto matmul = dyn_cast<plan::MatmulOp>(reader);
      if (!matmul || matmul.getEpilogue() ||
          llvm::any_of(taken, [&](const Fusion &other) {
            return other.matmul == matmul;
          }))
        continue;
      std::optional<rt::EpilogueStep> step = sumIn(matmul, summed, result);
      if (!step || !isReadyFor(kernel, matmul, summed, result))
        continue;
      fusion = Fusion{matmul,
                      {matmul.getA(), matmul.getB(), matmul.getC()},
                      {},
                      /*atKernel=*/false};
      addStep(fusion, *step, result);
      return "";
    }
    return "no product sums this tensor over the same indices";
  }

  static std::optional<rt::EpilogueStep> sumIn(plan::MatmulOp matmul,
                                               Value summed, Value result) {
    MatmulForm form = formOf(matmul);
    for (auto [operand, value, step, extent] :
         {std::tuple(MatmulTensor::A, matmul.getA(), rt::EpilogueStep::SumA,
                     form.m),
          std::tuple(MatmulTensor::B, matmul.getB(), rt::EpilogueStep::SumB,
                     form.n)})
      if (plan::bufferOf(value) == plan::bufferOf(summed) &&
          !plan::tileOf(value) && elementsOf(result) == extent &&
          cast<MemRefType>(value.getType()).getElementType() ==
              cast<MemRefType>(result.getType()).getElementType() &&
          sumIsByOffset(form, operand, elementsOf(summed)))
        return step;
    return std::nullopt;
  }

  /// Whether the sum may come where the matmul is: whoever reads it comes
  /// later, and what is summed is there and stays.
  bool isReadyFor(plan::KernelOp kernel, plan::MatmulOp matmul, Value summed,
                  Value result) {
    Users users = usersOf(result);
    if (users.hasTiles || users.writers.size() != 1)
      return false;
    int64_t at = position[matmul], was = position[kernel];
    return isSettled(summed, std::min(at, was), std::max(at, was)) &&
           llvm::all_of(users.readers, [&](Operation *reader) {
             return position[reader] > at;
           });
  }

  //===--------------------------------------------------------------------===//
  // Fusing
  //===--------------------------------------------------------------------===//

  StringRef findFusions(plan::KernelOp kernel, SmallVector<Fusion> &out) {
    const EpilogueKernel &match = *kernels.of(kernel);
    for (const PointwisePart &part : match.pointwise) {
      Fusion fusion;
      if (StringRef reason = fusePart(kernel, part, fusion); !reason.empty())
        return reason;
      out.push_back(std::move(fusion));
    }
    // What one part keeps another may read.
    llvm::stable_sort(out, [](const Fusion &x, const Fusion &y) {
      return !x.buffers.writes.empty() && y.buffers.writes.empty();
    });
    for (const SumPart &part : match.sums) {
      Fusion fusion;
      if (StringRef reason = fuseSum(kernel, part, out, fusion);
          !reason.empty())
        return reason;
      out.push_back(std::move(fusion));
    }
    return "";
  }

  /// Seconds that fusing saves; nullopt if it saves none.
  std::optional<double> gain(plan::KernelOp kernel,
                             ArrayRef<Fusion> fusions) const {
    if (!cost)
      return 0;
    double bytes = 0;
    for (Value operand : kernel->getOperands())
      bytes += double(plan::bytesOf(operand.getType()));
    double saved = cost->kernelSeconds(
        kernelWork(kernels.functionOf(kernel), kernel.getGrid()), bytes);
    for (const Fusion &fusion : fusions) {
      MatmulWork work = matmulWork(fusion.matmul);
      auto type = cast<MemRefType>(fusion.buffers.c.getType());
      int64_t dtype = plan::runtimeType(type.getElementType());
      saved += cost->matmulSeconds(work, dtype);
      work.epilogue = epilogueWork(work, fusion.steps, rt::elementBytes(dtype));
      saved -= cost->matmulSeconds(work, dtype);
    }
    return saved > 0 ? std::optional(saved) : std::nullopt;
  }

  void fuse(plan::KernelOp kernel) {
    SmallVector<Fusion> fusions;
    if (StringRef reason = findFusions(kernel, fusions); !reason.empty())
      return miss(kernel, reason);
    std::optional<double> saved = gain(kernel, fusions);
    if (!saved)
      return miss(kernel, "the kernel is not slower");
    for (Fusion &fusion : fusions)
      apply(kernel, fusion);
    remark::passed(kernel.getLoc(),
                   remark::RemarkOpts::name("epilogue").category(category))
        << remark::reason("{0} became part of {1}", kernel.getCallee(),
                          describe(fusions))
        << remark::metric("microseconds", *saved * 1e6);
    kernel.erase();
    for (Fusion &fusion : fusions)
      eraseUnused(fusion);
  }

  void apply(plan::KernelOp kernel, Fusion &fusion) {
    plan::MatmulOp matmul = fusion.matmul;
    Operation *at = fusion.atKernel ? kernel.getOperation() : matmul;
    OpBuilder b(at);
    for (Value written : fusion.buffers.writes)
      moveBefore(written, at);
    plan::MatmulOp fused =
        createMatmul(b, matmul, fusion.buffers, formOf(matmul), fusion.steps);
    fused.setStreamAttr(matmul.getStreamAttr());
    position[fused] = position[at];
  }

  /// A buffer that is declared behind the command that now writes it.
  void moveBefore(Value value, Operation *at) {
    SmallVector<Operation *> chain;
    for (Operation *op = value.getDefiningOp(); op && at->isBeforeInBlock(op);
         op = op->getNumOperands() ? op->getOperand(0).getDefiningOp()
                                   : nullptr)
      chain.push_back(op);
    for (Operation *op : llvm::reverse(chain))
      op->moveBefore(at);
  }

  /// The matmul as it was, and what it wrote, if nobody needs it.
  static void eraseUnused(Fusion &fusion) {
    Value product = fusion.matmul.getC();
    fusion.matmul.erase();
    while (Operation *op = product.getDefiningOp()) {
      if (!op->use_empty() || !isa<plan::BufferOp, plan::ViewOp>(op))
        return;
      product = op->getNumOperands() ? op->getOperand(0) : Value();
      op->erase();
      if (!product)
        return;
    }
  }

  static std::string describe(ArrayRef<Fusion> fusions) {
    std::string text;
    for (const Fusion &fusion : fusions) {
      text += text.empty() ? "a matmul: " : "; a matmul: ";
      llvm::raw_string_ostream stream(text);
      llvm::interleaveComma(fusion.steps, stream, [&](rt::EpilogueStep step) {
        stream << rt::nameOf(step);
      });
    }
    return text;
  }

  static void miss(plan::KernelOp kernel, StringRef reason) {
    remark::missed(kernel.getLoc(),
                   remark::RemarkOpts::name("epilogue").category(category))
        << remark::reason("{0} stays a kernel: {1}", kernel.getCallee(),
                          reason);
  }

  plan::ProgramOp program;
  KernelMatches &kernels;
  const CostModel *cost;
  /// In the program; of commands that took another's place, that one's.
  llvm::DenseMap<Operation *, int64_t> position;
};

struct FuseEpilogues : public tpsp::impl::FuseEpiloguesBase<FuseEpilogues> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<Hardware> machine = findHardware(hardware);
    if (!machine) {
      emitOptionError(getOperation(), getArgument(), "hardware")
          << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    llvm::StringSet<> before = callees();
    KernelMatches kernels(getOperation());
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      fuse(program, *machine, kernels);
    eraseUncalled(before);
  }

  void fuse(plan::ProgramOp program, const Hardware &machine,
            KernelMatches &kernels) {
    Mesh mesh = stepOf(program).mesh;
    std::optional<CostModel> cost;
    if (misfitOf(machine, mesh).empty())
      cost.emplace(machine, mesh, threads);
    EpilogueFuser(program, kernels, cost ? &*cost : nullptr).run();
  }

  llvm::StringSet<> callees() {
    llvm::StringSet<> names;
    getOperation().walk(
        [&](plan::KernelOp op) { names.insert(op.getCallee()); });
    return names;
  }

  /// Kernels that nobody calls any more.
  void eraseUncalled(const llvm::StringSet<> &before) {
    llvm::StringSet<> now = callees();
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (before.contains(function.getName()) &&
          !now.contains(function.getName()))
        function.erase();
  }
};

} // namespace
