// convert-tpsp-to-plan: local operations to commands on buffers.
#include "Passes/Collectives/Ledger.h"
#include "Passes/Kernels/KernelGrouping.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/SavedActivations.h"
#include "Passes/Program/UnitAxes.h"
#include "tpsp/Dialect/Tpsp/CollectiveOps.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/SourceName.h"

#include "tpsp/Algebra/MatmulForm.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/ErrorPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace tpsp {
#define GEN_PASS_DEF_CONVERTTPSPTOPLAN
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Kernels of the module, one per distinct function body.
class KernelLibrary {
public:
  /// Keeps `function` or erases it in favour of an equal one; returns the name
  /// to call.
  StringAttr unique(func::FuncOp function, StringRef stem) {
    // The names are equal so far, and locations are not printed: what differs
    // is the kernel.
    std::string text;
    llvm::raw_string_ostream stream(text);
    function.print(stream, OpPrintingFlags().useLocalScope());
    auto [entry, isNew] = known.try_emplace(text);
    if (!isNew) {
      function.erase();
      return entry->second;
    }
    function.setSymName(
        ("kernel" + Twine(known.size() - 1) + "_" + stem).str());
    return entry->second = function.getSymNameAttr();
  }

private:
  llvm::StringMap<StringAttr> known;
};

/// Turns one function into a program.
class PlanBuilder {
public:
  PlanBuilder(func::FuncOp function, KernelLibrary &library)
      : function(function), mesh(meshOf(function)), library(library),
        b(function), grouping([this](Operation *op) { return mayJoin(op); }) {}

  LogicalResult run() {
    if (failed(checkTensors()))
      return failure();
    createProgram();
    dropUnitAxes(function, mesh);
    Block &body = function.getBody().front();
    if (failed(createArguments(body)))
      return failure();
    for (Operation &op : body.without_terminator())
      if (failed(visit(&op)))
        return failure();
    flush();
    return createResults(body.getTerminator());
  }

private:
  /// A buffer holds a subscripted tensor of a type that the runtime computes
  /// in.
  LogicalResult checkTensors() {
    auto check = [](Value value) -> LogicalResult {
      Type type = value.getType();
      if (!getIdx(type))
        return emitErrorAt(value) << "not a tensor with #tpsp.idx "
                                     "subscripts: "
                                  << type
                                  << "; write its index names: tensor<4x8xf32, "
                                     "#tpsp.idx<s, d>>";
      Type element = cast<RankedTensorType>(type).getElementType();
      if (element.isF32() || element.isBF16() || element.isF16() ||
          element.isF64() || element.isInteger(32) || element.isInteger(8))
        return success();
      return emitErrorAt(value) << "programs compute in f32, bf16, f16 or "
                                   "f64, with positions in i32 and masks "
                                   "in i8, not in "
                                << element;
    };
    for (BlockArgument argument : function.getArguments())
      if (failed(check(argument)))
        return failure();
    for (Operation &op : function.getBody().front().without_terminator())
      for (Value result : op.getResults())
        if (failed(check(result)))
          return failure();
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Program, arguments, results
  //===--------------------------------------------------------------------===//

  void createProgram() {
    SmallVector<StringRef> names;
    SmallVector<int64_t> sizes;
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
      names.push_back(mesh.axis(axis).name);
      sizes.push_back(mesh.size(axis));
    }
    program = plan::ProgramOp::create(
        b, function.getLoc(), function.getSymNameAttr(),
        b.getStrArrayAttr(names), b.getDenseI64ArrayAttr(sizes),
        /*arena_bytes=*/IntegerAttr(), savedAttr(), /*streams=*/IntegerAttr(),
        /*events=*/IntegerAttr());
    b.setInsertionPointToStart(&program.getBody().emplaceBlock());
  }

  /// Of a function with a backward pass.
  IntegerAttr savedAttr() {
    int64_t bytes = savedBytes(function, mesh);
    return bytes ? b.getI64IntegerAttr(bytes) : IntegerAttr();
  }

  MemRefType bufferType(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  }

  /// The global tensor of a local type.
  TypeAttr globalTensor(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    IdxAttr idx = getIdx(type);
    Placement placement = placementOf(type, mesh);
    SmallVector<int64_t> shape(tensor.getShape());
    for (auto [extent, axes] : llvm::zip_equal(shape, placement.dims))
      extent *= mesh.groupSize(axes);
    auto global = IdxAttr::get(type.getContext(), idx.getNames(), idx.getAxes(),
                               idx.getPending(), idx.getPendingMax(),
                               /*unplaced=*/false, /*local=*/false);
    return TypeAttr::get(
        RankedTensorType::get(shape, tensor.getElementType(), global));
  }

  /// Files of weights know parameters by their names.
  LogicalResult createArguments(Block &body) {
    llvm::StringSet<> parameters;
    for (BlockArgument argument : body.getArguments()) {
      bool isParameter = function.getArgAttr(argument.getArgNumber(),
                                             paramAttrName) != nullptr;
      if (isParameter && !parameters.insert(tensorName(argument)).second)
        return emitErrorAt(argument)
               << "two parameters are called '" << tensorName(argument)
               << "'; give one another name";
      auto buffer = plan::BufferOp::create(
          b, argument.getLoc(), bufferType(argument.getType()),
          b.getStringAttr(isParameter ? plan::parameterKind : plan::inputKind),
          b.getStringAttr(tensorName(argument)),
          b.getI64IntegerAttr(argument.getArgNumber()),
          globalTensor(function.getArgumentTypes()[argument.getArgNumber()]),
          /*offset=*/IntegerAttr());
      for (auto [from, to] :
           {std::pair(belowAttrName, plan::belowAttrName),
            std::pair(meanAttrName, plan::meanAttrName),
            std::pair(deviationAttrName, plan::deviationAttrName),
            std::pair(cotangentAttrName, plan::cotangentOfAttrName)})
        if (Attribute value =
                function.getArgAttr(argument.getArgNumber(), from))
          buffer->setAttr(to, value);
      buffers[argument] = buffer;
    }
    return success();
  }

  /// The name that the program gives a result, or its value.
  std::string resultName(unsigned i, Value value) {
    if (auto name = function.getResultAttrOfType<StringAttr>(i, nameAttrName))
      return name.getValue().str();
    if (std::optional<std::string> name = sourceName(value.getLoc()))
      return *name;
    return "result" + std::to_string(i);
  }

  StringRef resultKind(unsigned i) {
    if (function.getResultAttr(i, gradientAttrName))
      return plan::gradientKind;
    if (function.getResultAttr(i, choiceAttrName))
      return plan::choiceKind;
    return plan::outputKind;
  }

  LogicalResult createResults(Operation *terminator) {
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      plan::BufferOp buffer = plan::bufferOf(buffers[value]);
      // An argument that is returned, or a value returned twice, is copied.
      if (buffer.getKind() != plan::temporaryKind)
        buffer = copyOf(value, buffers[value]);
      buffer.setKind(resultKind(i));
      buffer.setName(resultName(i, value));
      buffer.setNumber(i);
      if (Attribute argument = function.getResultAttr(i, gradientAttrName))
        buffer->setAttr(plan::gradientOfAttrName, argument);
      buffer.setTensorAttr(globalTensor(function.getResultTypes()[i]));
    }
    return success();
  }

  plan::BufferOp copyOf(Value value, Value source) {
    plan::BufferOp target = temporary(value);
    plan::SliceOp::create(
        b, value.getLoc(), source, target, b.getDenseI64ArrayAttr({}),
        b.getI64IntegerAttr(1), b.getI64IntegerAttr(elements(value.getType())),
        b.getI64IntegerAttr(0), DictionaryAttr(), b.getI64IntegerAttr(0));
    return target;
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  static bool becomesMatmul(Operation *op) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    return indexed && indexed.isSumOfProducts() &&
           matchMatmul(indexed.getIndexStructure()).obstacle ==
               MatmulObstacle::None;
  }

  static bool becomesRowKernel(Operation *op) {
    auto row = dyn_cast<RowKernelOpInterface>(op);
    return row ? row.runsByRow() : isa<BucketKernelOpInterface>(op);
  }

  static bool becomesView(Operation *op) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    return indexed && indexed.isView();
  }

  static bool becomesLoop(Operation *op) {
    return isa<LoopOpInterface>(op) && isa<IndexedOpInterface>(op) &&
           !isa<CollectiveOpInterface, AttentionOpInterface, RotateOp,
                BlockCopyOpInterface>(op) &&
           !becomesView(op) && !becomesMatmul(op) && !becomesRowKernel(op);
  }

  /// Whether a kernel may take it ahead.
  bool mayJoin(Operation *op) {
    return becomesLoop(op) && (isForwardDone || !readsCotangent(op));
  }

  LogicalResult visit(Operation *op) {
    if (grouping.isTaken(op))
      return success();
    finishForward(op);
    // A view asks for nothing: it waits with what it shows.
    if (becomesView(op) && isWaiting(op->getOperand(0))) {
      waitingViews.insert(op);
      return success();
    }
    bool isLoop = becomesLoop(op);
    if (isLoop ? readsWaitingView(op) : readsWaiting(op))
      flush();
    if (grouping.isTaken(op)) // just now
      return success();
    if (isLoop) {
      addToKernel(cast<LoopOpInterface>(op));
      return success();
    }
    if (failed(convert(op)))
      return failure();
    grouping.pass(op);
    return success();
  }

  bool readsWaitingView(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return waitingViews.contains(operand.getDefiningOp());
    });
  }
  /// Whether it is to be made by a kernel that is not there yet.
  bool isWaiting(Value value) const {
    return grouping.produces(value) ||
           waitingViews.contains(value.getDefiningOp());
  }
  bool readsWaiting(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return isWaiting(operand); });
  }

  /// What is no loop.
  LogicalResult convert(Operation *op) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      return convertCollective(collective);
    if (auto attention = dyn_cast<AttentionOpInterface>(op))
      return convertAttention(attention);
    if (auto rotation = dyn_cast<RotateOp>(op)) {
      convertRotation(rotation);
      return success();
    }
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (!indexed)
      return op->emitOpError("has no command; run tpsp-insert-collectives and "
                             "tpsp-decompose-late before converting to a plan");
    if (indexed.isView()) {
      convertView(op);
      return success();
    }
    if (auto copy = dyn_cast<BlockCopyOpInterface>(op)) {
      convertBlockCopy(copy);
      return success();
    }
    if (becomesMatmul(op))
      return convertMatmul(op, matchMatmul(indexed.getIndexStructure()).form);
    if (becomesRowKernel(op)) {
      convertRows(op);
      return success();
    }
    return op->emitOpError("has no loop form; run tpsp-decompose-late first");
  }

  void convertView(Operation *op) {
    buffers[op->getResult(0)] = plan::ViewOp::create(
        b, op->getLoc(), bufferType(op->getResult(0).getType()),
        buffers[op->getOperand(0)]);
  }

  void addToKernel(LoopOpInterface op) {
    auto indexed = cast<IndexedOpInterface>(*op);
    if (indexed.isSumOfProducts() &&
        matchMatmul(indexed.getIndexStructure()).obstacle ==
            MatmulObstacle::Layout)
      noteLayout(op);
    if (grouping.add(op))
      return;
    flush();
    if (!grouping.isTaken(op))
      grouping.add(op);
  }

  /// A cotangent is known only when its result is: no kernel makes results of
  /// the forward pass behind, or together with, what reads a cotangent.
  void finishForward(Operation *op) {
    if (isForwardDone || !readsCotangent(op))
      return;
    flush();
    isForwardDone = true;
  }

  bool readsCotangent(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      return argument &&
             function.getArgAttr(argument.getArgNumber(), cotangentAttrName);
    });
  }

  void noteLayout(Operation *op) {
    remark::missed(op->getLoc(), remark::RemarkOpts::name("layout").category(
                                     "convert-tpsp-to-plan"))
        << remark::reason("no layout of this product is a matrix without a "
                          "transpose copy; it runs as a loop nest")
        << remark::suggest("order the indices so that the summed ones, or the "
                           "kept ones, are innermost in each operand");
    program->setAttr("layout_misses", b.getI64IntegerAttr(++layoutMisses));
  }

  plan::BufferOp temporary(Type tensor, Location loc) {
    return plan::BufferOp::create(
        b, loc, bufferType(tensor), b.getStringAttr(plan::temporaryKind),
        StringAttr(), IntegerAttr(), TypeAttr(), IntegerAttr());
  }
  plan::BufferOp temporary(Value value) {
    return temporary(value.getType(), value.getLoc());
  }
  Value define(Value value) { return buffers[value] = temporary(value); }

  LogicalResult convertMatmul(Operation *op, const MatmulForm &form) {
    Value first = buffers[op->getOperand(form.swapped)];
    Value second = buffers[op->getOperand(!form.swapped)];
    auto flat = [](ArrayRef<MatmulForm::Loop> loops) {
      SmallVector<int64_t> numbers;
      for (const MatmulForm::Loop &loop : loops)
        numbers.append({loop.extent, loop.strideA, loop.strideB, loop.strideC});
      return numbers;
    };
    plan::MatmulOp::create(
        b, op->getLoc(), first, second, define(op->getResult(0)),
        /*reads=*/ValueRange(), /*writes=*/ValueRange(),
        b.getDenseI64ArrayAttr({form.m, form.n, form.k}),
        b.getDenseI64ArrayAttr({form.lda, form.ldb, form.ldc}),
        form.transposeA ? b.getUnitAttr() : UnitAttr(),
        form.transposeB ? b.getUnitAttr() : UnitAttr(),
        b.getDenseI64ArrayAttr(flat(form.batch)),
        b.getDenseI64ArrayAttr(flat(form.accumulate)), b.getI64IntegerAttr(0),
        /*epilogue=*/ArrayAttr());
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Attention
  //===--------------------------------------------------------------------===//

  LogicalResult convertAttention(AttentionOpInterface op) {
    if (buffers.contains(op->getResult(0)))
      return success(); // with another part of the same call
    AttentionMatch match = op.matchHeads();
    if (!match.matches())
      return op->emitOpError("has no command, because ")
             << match.obstacle << "; run tpsp-sweep before converting to a "
             << "plan";
    DenseI64ArrayAttr sizes = sizesOf(match.heads);
    DenseI64ArrayAttr strides = stridesOf(match.heads);
    SmallVector<Operation *> parts = op.getCallParts();
    FloatAttr scale = b.getF64FloatAttr(op.getScoreScale());
    UnitAttr causal = op.masksLaterKeys() ? b.getUnitAttr() : UnitAttr();
    Operation *first = parts.front();
    SmallVector<Value> inputs;
    for (Value operand : first->getOperands())
      inputs.push_back(buffers[operand]);
    if (cast<AttentionOpInterface>(first).getPart() == AttentionPart::Result) {
      Value o = define(first->getResult(0)), statistic;
      if (parts.size() > 1)
        statistic = define(parts[1]->getResult(0));
      plan::AttentionOp::create(b, op->getLoc(), inputs[0], inputs[1],
                                inputs[2], o, statistic, sizes, strides, scale,
                                causal, b.getI64IntegerAttr(0));
      return success();
    }
    SmallVector<Value> gradients = gradientBuffers(parts);
    plan::AttentionGradientOp::create(
        b, op->getLoc(), inputs[0], inputs[1], inputs[2], inputs[5], inputs[3],
        inputs[4], gradients[0], gradients[1], gradients[2], sizes, strides,
        scale, causal, b.getI64IntegerAttr(0));
    return success();
  }

  /// Of q, k and v: the call makes all three, whoever wants them.
  SmallVector<Value> gradientBuffers(ArrayRef<Operation *> parts) {
    SmallVector<Value> gradients;
    for (unsigned of = 0; of < 3; ++of) {
      auto wanted = AttentionPart(int(AttentionPart::QueryGradient) + int(of));
      const auto *part = llvm::find_if(parts, [&](Operation *part) {
        return cast<AttentionOpInterface>(part).getPart() == wanted;
      });
      gradients.push_back(
          part != parts.end()
              ? define((*part)->getResult(0))
              : Value(temporary(parts.front()->getOperand(of))));
    }
    return gradients;
  }

  DenseI64ArrayAttr sizesOf(const AttentionHeads &heads) {
    return b.getDenseI64ArrayAttr({heads.batch, heads.heads, heads.groups,
                                   heads.queries, heads.keys, heads.features,
                                   heads.valueFeatures});
  }

  DenseI64ArrayAttr stridesOf(const AttentionHeads &heads) {
    SmallVector<int64_t> strides;
    for (const AttentionHeads::Layout *at :
         {&heads.q, &heads.k, &heads.v, &heads.o})
      strides.append({at->batch, at->head, at->group, at->row});
    return b.getDenseI64ArrayAttr(strides);
  }

  /// "square_reduce_rsqrt", of the first few operations.
  static std::string stemOf(const KernelGroup &group) {
    std::string text;
    unsigned count = 0;
    for (Operation *op : group.getOps()) {
      if (++count > 4)
        break;
      text += (text.empty() ? "" : "_") + op->getName().stripDialect().str();
    }
    return text;
  }

  void flush() {
    for (const KernelGroup &group : grouping.take())
      callKernel(emitKernel(group, "kernel", program), stemOf(group),
                 group.getOps().front()->getLoc());
    for (Operation *view : waitingViews) {
      convertView(view);
      grouping.pass(view);
    }
    waitingViews.clear();
  }

  /// An operation with buckets, with rows, or with rows that read its buckets.
  void convertRows(Operation *op) {
    SmallVector<Value> inputs;
    for (Value operand : op->getOperands())
      inputs.push_back(buffers[operand]);
    StringRef stem = op->getName().stripDialect();
    auto row = dyn_cast<RowKernelOpInterface>(op);
    auto bucket = dyn_cast<BucketKernelOpInterface>(op);
    if (bucket && bucket.hasBuckets()) {
      SmallVector<Value> made;
      if (row)
        for (RankedTensorType type : bucket.getBucketTypes())
          made.push_back(temporary(type, op->getLoc()));
      else
        made.push_back(define(op->getResult(0)));
      Kernel kernel = emitBucketKernel(bucket, "kernel", program);
      auto integers = llvm::map_to_vector(
          kernel.inputs, [&](Value value) { return buffers[value]; });
      callKernel(kernel, integers, made,
                 row ? (stem + "_lists").str() : stem.str(), op->getLoc());
      llvm::append_range(inputs, made);
    }
    if (row)
      callKernel(emitRowKernel(row, "kernel", program), inputs,
                 define(op->getResult(0)), stem, op->getLoc());
  }

  void callKernel(const Kernel &kernel, StringRef stem, Location loc) {
    SmallVector<Value> inputs, outputs;
    for (Value value : kernel.inputs)
      inputs.push_back(buffers[value]);
    for (Value value : kernel.outputs)
      outputs.push_back(define(value));
    callKernel(kernel, inputs, outputs, stem, loc);
  }

  void callKernel(const Kernel &kernel, ValueRange inputs, ValueRange outputs,
                  StringRef stem, Location loc) {
    SmallVector<Attribute> positions;
    for (const LoopIndex &index : kernel.positions)
      positions.push_back(positionOf(index));
    StringAttr callee = library.unique(kernel.function, stem);
    if (!outputs.empty())
      plan::KernelOp::create(b, loc, FlatSymbolRefAttr::get(callee), inputs,
                             outputs, b.getI64IntegerAttr(kernel.grid),
                             b.getArrayAttr(positions), b.getI64IntegerAttr(0));
  }

  /// [extent of a shard, shift, offset, axes...]
  DenseI64ArrayAttr positionOf(const LoopIndex &index) {
    SmallVector<int64_t> numbers = {index.extent, 0, 0};
    ArrayAttr axes = index.axes;
    if (TileAttr tile = index.tile) {
      numbers = {tile.getExtent(), tile.getShift(), tile.getOffset()};
      axes = tile.getAxes();
    }
    llvm::append_range(numbers, idsOf(axes));
    return b.getDenseI64ArrayAttr(numbers);
  }

  /// Axes as positions in the mesh.
  SmallVector<int64_t> idsOf(ArrayAttr axes) {
    return llvm::map_to_vector(axes.getAsRange<StringAttr>(),
                               [&](StringAttr axis) -> int64_t {
                                 return *mesh.find(axis.getValue());
                               });
  }

  Value viewed(Value buffer, MemRefType type) {
    if (buffer.getType() == type)
      return buffer;
    return plan::ViewOp::create(b, buffer.getLoc(), type, buffer);
  }

  void convertBlockCopy(BlockCopyOpInterface op) {
    BlockCopyKernel kernel = emitBlockCopy(op, "kernel", program);
    SmallVector<Value> inputs;
    for (auto [operand, type] :
         llvm::zip_equal(op->getOperands(), kernel.inputs))
      inputs.push_back(viewed(buffers[operand], type));
    Value output = viewed(define(op->getResult(0)), kernel.output);
    StringAttr callee =
        library.unique(kernel.function, op->getName().stripDialect());
    plan::KernelOp::create(b, op->getLoc(), FlatSymbolRefAttr::get(callee),
                           inputs, output, b.getI64IntegerAttr(kernel.grid),
                           b.getArrayAttr({}), b.getI64IntegerAttr(0));
  }

  //===--------------------------------------------------------------------===//
  // Collectives
  //===--------------------------------------------------------------------===//

  static int64_t elements(Type type) {
    return cast<RankedTensorType>(type).getNumElements();
  }

  static int64_t product(ArrayRef<int64_t> extents) {
    int64_t result = 1;
    for (int64_t extent : extents)
      result *= extent;
    return result;
  }

  LogicalResult convertCollective(CollectiveOpInterface op) {
    CollectiveStep step = stepOf(op, mesh);
    Ids ids(step.axes.begin(), step.axes.end());
    DenseI64ArrayAttr axes = b.getDenseI64ArrayAttr(ids);
    DictionaryAttr ledger = ledgerOf(op, mesh);
    int64_t reduction =
        getIdx(op->getOperand(0)).getPendingMax() ? 1 : 0; // TPSP_RT_MAX
    switch (step.kind) {
    case CollectiveKind::AllReduce:
      convertAllReduce(op, axes, reduction, ledger);
      break;
    case CollectiveKind::ReduceScatter:
      shard<plan::ReduceScatterOp>(op, *step.to, op->getResult(0), axes,
                                   reduction, ledger);
      break;
    case CollectiveKind::AllGather:
      shard<plan::AllGatherOp>(op, *step.from, op->getOperand(0), axes, 0,
                               ledger);
      break;
    case CollectiveKind::Slice:
      // No communication, so no row of the ledger.
      shard<plan::SliceOp>(op, *step.to, op->getResult(0), axes, 0, {});
      break;
    case CollectiveKind::AllToAll:
      convertAllToAll(op, step, axes, ledger);
      break;
    case CollectiveKind::Permute:
      convertPermute(op, step, axes, ledger);
      break;
    }
    return success();
  }

  using Ids = SmallVector<int64_t>;

  void convertAllReduce(Operation *op, DenseI64ArrayAttr axes,
                        int64_t reduction, DictionaryAttr ledger) {
    SmallVector<Value> sources, targets;
    for (Value operand : op->getOperands())
      sources.push_back(buffers[operand]);
    for (Value result : op->getResults())
      targets.push_back(define(result));
    plan::AllReduceOp::create(b, op->getLoc(), sources, targets, axes,
                              b.getI64IntegerAttr(reduction), ledger,
                              b.getI64IntegerAttr(0));
  }

  /// Commands that see a tensor as [outer, chunk]: `narrow` is the side that
  /// holds one rank's part of dimension `dim`.
  template <typename Op>
  void shard(Operation *op, unsigned dim, Value narrow, DenseI64ArrayAttr axes,
             int64_t reduction, DictionaryAttr ledger) {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(narrow.getType()).getShape();
    Value source = buffers[op->getOperand(0)];
    Op::create(b, op->getLoc(), source, define(op->getResult(0)), axes,
               b.getI64IntegerAttr(product(shape.take_front(dim))),
               b.getI64IntegerAttr(product(shape.drop_front(dim))),
               b.getI64IntegerAttr(reduction), ledger, b.getI64IntegerAttr(0));
  }

  void convertAllToAll(Operation *op, const CollectiveStep &step,
                       DenseI64ArrayAttr axes, DictionaryAttr ledger) {
    unsigned gathered = *step.from, scattered = *step.to;
    ArrayRef<int64_t> before =
        cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
    ArrayRef<int64_t> after =
        cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    unsigned first = std::min(gathered, scattered);
    unsigned second = std::max(gathered, scattered);
    SmallVector<int64_t> extents = {
        product(before.take_front(first)), before[gathered],
        product(before.slice(first + 1, second - first - 1)), after[scattered],
        product(before.drop_front(second + 1))};
    Value source = buffers[op->getOperand(0)];
    plan::AllToAllOp::create(b, op->getLoc(), source, define(op->getResult(0)),
                             axes, b.getBoolAttr(gathered < scattered),
                             b.getDenseI64ArrayAttr(extents), ledger,
                             b.getI64IntegerAttr(0));
  }

  /// Rank r of the group in the new order holds the block that is numbered r
  /// there; `from`[r] is who holds that block before.
  void convertPermute(Operation *op, const CollectiveStep &step,
                      DenseI64ArrayAttr axes, DictionaryAttr ledger) {
    AxisList before =
        placementOf(op->getOperand(0).getType(), mesh).dims[*step.from];
    int64_t group = mesh.groupSize(step.axes);
    SmallVector<int64_t> from(group);
    for (int64_t receiver = 0; receiver < group; ++receiver) {
      // The block wanted has number `receiver` under the new order. Before, the
      // rank whose coordinates spell that number in the old order has it.
      llvm::SmallDenseMap<AxisId, int64_t> owner;
      int64_t rest = receiver;
      for (AxisId axis : llvm::reverse(before)) {
        owner[axis] = rest % mesh.size(axis);
        rest /= mesh.size(axis);
      }
      int64_t number = 0;
      for (AxisId axis : step.axes)
        number = number * mesh.size(axis) + owner[axis];
      from[receiver] = number;
    }
    Value source = buffers[op->getOperand(0)];
    plan::PermuteOp::create(b, op->getLoc(), source, define(op->getResult(0)),
                            axes, b.getDenseI64ArrayAttr(from), ledger,
                            b.getI64IntegerAttr(0));
  }

  void convertRotation(RotateOp op) {
    SmallVector<int64_t> axes = idsOf(op.getAxes());
    int64_t group = mesh.groupSize(AxisList(axes.begin(), axes.end()));
    SmallVector<int64_t> from;
    for (int64_t rank = 0; rank < group; ++rank)
      from.push_back((rank + group - int64_t(op.getBy())) % group);
    Value source = buffers[op.getInput()];
    plan::PermuteOp::create(b, op.getLoc(), source, define(op.getResult()),
                            b.getDenseI64ArrayAttr(axes),
                            b.getDenseI64ArrayAttr(from), op.getLedgerAttr(),
                            b.getI64IntegerAttr(0));
  }

  func::FuncOp function;
  Mesh mesh;
  KernelLibrary &library;
  OpBuilder b;
  plan::ProgramOp program;
  KernelGrouping grouping;
  /// Views of what open groups make, in order.
  llvm::SetVector<Operation *> waitingViews;
  llvm::DenseMap<Value, Value> buffers;
  int64_t layoutMisses = 0;
  bool isForwardDone = false;
};

struct ConvertTpspToPlan
    : public tpsp::impl::ConvertTpspToPlanBase<ConvertTpspToPlan> {
  using Base::Base;
  void runOnOperation() override {
    KernelLibrary library;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal())
        continue;
      // The program takes the function's name.
      if (failed(PlanBuilder(function, library).run()))
        return signalPassFailure();
      function.erase();
    }
  }
};

} // namespace
