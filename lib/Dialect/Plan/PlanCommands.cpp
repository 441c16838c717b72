// The integers of each command, in the runtime's encoding.
#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "tpsp/Abi/Commands.h"
#include "tpsp/Dialect/Tpsp/IR/ScoreAttributes.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::plan;

static int64_t elementOf(Value buffer) {
  return runtimeType(cast<MemRefType>(buffer.getType()).getElementType());
}

static std::vector<int64_t> list(ArrayRef<int64_t> values) {
  return {values.begin(), values.end()};
}

static std::vector<rt::MatmulLoop> loops(ArrayRef<int64_t> numbers) {
  std::vector<rt::MatmulLoop> result;
  for (size_t i = 0; i + 3 < numbers.size(); i += 4)
    result.push_back(
        {numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  return result;
}

template <typename Op> static rt::MatmulForm matmulFormOf(Op op) {
  ArrayRef<int64_t> sizes = op.getSizes(), leading = op.getLeading();
  return {sizes[0],
          sizes[1],
          sizes[2],
          leading[0],
          leading[1],
          leading[2],
          op.getTransposeA(),
          op.getTransposeB(),
          loops(op.getBatch()),
          loops(op.getAccumulate())};
}

rt::MatmulForm tpsp::plan::formOf(MatmulOp op) { return matmulFormOf(op); }

std::vector<int64_t> MatmulOp::encode() {
  rt::MatmulCommand command{formOf(*this), elementOf(getA()),
                            epilogueOf(*this)};
  return command.encode();
}

SmallVector<Value> MatmulOp::getCallBuffers() {
  SmallVector<Value> buffers = {getA(), getB(), getC()};
  OperandRange reads = getReads(), writes = getWrites();
  for (rt::EpilogueStep step : epilogueOf(*this)) {
    if (!rt::hasBuffer(step))
      continue;
    OperandRange &from = rt::writesBuffer(step) ? writes : reads;
    buffers.push_back(from.front());
    from = from.drop_front();
  }
  return buffers;
}

std::vector<rt::EpilogueStep> tpsp::plan::epilogueOf(MatmulOp matmul) {
  std::vector<rt::EpilogueStep> steps;
  if (ArrayAttr names = matmul.getEpilogueAttr())
    for (StringRef name : names.getAsValueRange<StringAttr>())
      if (auto step = findNamed<rt::EpilogueStep>(name))
        steps.push_back(*step);
  return steps;
}

ArrayAttr tpsp::plan::epilogueAttr(Builder &builder,
                                   ArrayRef<rt::EpilogueStep> steps) {
  if (steps.empty())
    return {};
  SmallVector<StringRef> names;
  for (rt::EpilogueStep step : steps)
    names.push_back(rt::nameOf(step));
  return builder.getStrArrayAttr(names);
}

/// Decodes [stride, shift, offset, axes...].
static rt::PartStart startOf(ArrayRef<int64_t> numbers) {
  return {numbers[0], list(numbers.drop_front(4)), numbers[1], numbers[2],
          numbers[3]};
}

rt::GroupedMatmulCommand tpsp::plan::commandOf(GroupedMatmulOp op) {
  rt::GroupedMatmulCommand command;
  static_cast<rt::MatmulForm &>(command) = matmulFormOf(op);
  command.sumsRows = op.getSumsRows();
  command.groups = op.getGroups();
  command.groupStride = op.getGroupStride();
  command.idStrides = list(op.getIdStrides());
  command.dtype = elementOf(op.getC());
  if (std::optional<ArrayRef<int64_t>> first = op.getFirstGroup())
    command.firstGroup = startOf(*first);
  return command;
}
std::vector<int64_t> GroupedMatmulOp::encode() {
  return commandOf(*this).encode();
}

std::vector<int64_t> KernelOp::encode() {
  rt::KernelCommand command;
  command.grid = getGrid();
  for (auto position : getPositions().getAsRange<DenseI64ArrayAttr>())
    command.positions.push_back(startOf(position));
  return command.encode();
}

static rt::AttentionLayout layoutAt(ArrayRef<int64_t> strides, size_t first) {
  return {strides[first], strides[first + 1], strides[first + 2],
          strides[first + 3]};
}

/// Reads the changes to scores: options, masks and bias.
template <typename Op>
static void readScores(Op op, rt::AttentionCommand &command) {
  static_cast<ScoreOptions &>(command) = optionsOf<ScoreOptions>(op);
  if (std::optional<ArrayRef<int64_t>> start = op.getQueryStart())
    command.queryStart = startOf(*start);
  command.hasLastKeys = op.getLastKeys();
  if (std::optional<ArrayRef<int64_t>> strides = op.getBiasStrides()) {
    command.hasBias = true;
    static_cast<rt::AttentionLayout &>(command.bias) = layoutAt(*strides, 0);
    command.bias.key = (*strides)[4];
  }
  if (std::optional<ArrayRef<int64_t>> strides = op.getSegmentStrides()) {
    command.hasSegments = true;
    command.querySegments = layoutAt(*strides, 0);
    command.keySegments = layoutAt(*strides, 4);
  }
  if (std::optional<ArrayRef<int64_t>> strides = op.getLengthStrides()) {
    command.hasLengths = true;
    command.lengths = {strides->front(), strides->back()};
  }
}

template <typename Op>
static void readAttention(Op op, rt::AttentionCommand &command) {
  command.dtype = elementOf(op.getQ());
  int64_t *sizes[] = {&command.batch,        &command.heads, &command.groups,
                      &command.queries,      &command.keys,  &command.features,
                      &command.valueFeatures};
  for (auto [size, value] : llvm::zip_equal(sizes, op.getSizes()))
    *size = value;
  rt::AttentionLayout *layouts[] = {&command.q, &command.k, &command.v,
                                    &command.o};
  for (auto [i, at] : llvm::enumerate(layouts))
    *at = layoutAt(op.getStrides(), 4 * i);
  readScores(op, command);
}

rt::AttentionCommand tpsp::plan::commandOf(AttentionOp op) {
  rt::AttentionCommand command;
  readAttention(op, command);
  command.keepsStatistic = op.getStatistic() != nullptr;
  return command;
}
rt::AttentionGradientCommand tpsp::plan::commandOf(AttentionGradientOp op) {
  rt::AttentionGradientCommand command;
  readAttention(op, command);
  command.keepsStatistic = true;
  command.wantsBiasGradient = op.getGbias() != nullptr;
  return command;
}
std::vector<int64_t> AttentionOp::encode() { return commandOf(*this).encode(); }
std::vector<int64_t> AttentionGradientOp::encode() {
  return commandOf(*this).encode();
}

template <typename Op> static rt::ShardCommand shardCommand(Op op) {
  rt::ShardCommand command;
  command.dtype = elementOf(op.getSource());
  command.reduction = op.getReduction();
  command.axes = list(op.getAxes());
  command.outer = op.getOuter();
  command.chunk = op.getChunk();
  command.pitch = op.getPitch();
  return command;
}
std::vector<int64_t> SliceOp::encode() { return shardCommand(*this).encode(); }

template <typename Op> static std::vector<int64_t> encodeShards(Op op) {
  rt::ShardCommand command = shardCommand(op);
  ArrayRef<int64_t> others = op.getOthers();
  for (; !others.empty(); others = others.drop_front(3))
    command.others.push_back({others[0], others[1], others[2]});
  return command.encode();
}
std::vector<int64_t> AllGatherOp::encode() { return encodeShards(*this); }
std::vector<int64_t> ReduceScatterOp::encode() { return encodeShards(*this); }

/// The buffers of a call that reads several tensors and writes as many.
static SmallVector<Value> sourcesAndTargets(ValueRange sources,
                                            ValueRange targets) {
  SmallVector<Value> buffers;
  for (auto [source, target] : llvm::zip_equal(sources, targets)) {
    buffers.push_back(source);
    buffers.push_back(target);
  }
  return buffers;
}
SmallVector<Value> AllGatherOp::getCallBuffers() {
  return sourcesAndTargets(getSources(), getTargets());
}
SmallVector<Value> ReduceScatterOp::getCallBuffers() {
  return sourcesAndTargets(getSources(), getTargets());
}

std::vector<int64_t> AllReduceOp::encode() {
  rt::AllReduceCommand command;
  command.dtype = elementOf(getSources().front());
  command.reduction = getReduction();
  command.axes = list(getAxes());
  for (Value source : getSources())
    command.counts.push_back(
        cast<MemRefType>(source.getType()).getNumElements());
  return command.encode();
}

SmallVector<Value> AllReduceOp::getCallBuffers() {
  return sourcesAndTargets(getSources(), getTargets());
}

std::vector<int64_t> AllToAllOp::encode() {
  rt::AllToAllCommand command;
  command.dtype = elementOf(getSource());
  command.axes = list(getAxes());
  command.gatherFirst = getGatherFirst();
  ArrayRef<int64_t> extents = getExtents();
  command.a = extents[0];
  command.gather = extents[1];
  command.b = extents[2];
  command.scatter = extents[3];
  command.c = extents[4];
  return command.encode();
}

std::vector<int64_t> PermuteOp::encode() {
  rt::PermuteCommand command;
  command.dtype = elementOf(getSource());
  command.axes = list(getAxes());
  int64_t count = cast<MemRefType>(getSource().getType()).getNumElements();
  ArrayRef<int64_t> runs = getRuns();
  command.runs = runs.empty() ? 1 : runs[0];
  command.count = count / command.runs;
  if (!runs.empty()) {
    command.sourcePitch = runs[1];
    command.targetPitch = runs[2];
  }
  command.source = list(getFrom());
  return command.encode();
}

std::vector<int64_t> TransferOp::encode() {
  rt::TransferCommand command;
  Value buffer = getOperation()->getOperand(0);
  command.dtype = elementOf(buffer);
  command.axes = list(getAxes());
  command.from = int64_t(getFrom());
  command.to = int64_t(getTo());
  command.count = cast<MemRefType>(buffer.getType()).getNumElements();
  command.transfer = int64_t(getTransfer());
  return command.encode();
}

std::vector<int64_t> EventRecordOp::encode() {
  return rt::EventCommand{int64_t(getEvent())}.encode();
}
std::vector<int64_t> EventWaitOp::encode() {
  return rt::EventCommand{int64_t(getEvent())}.encode();
}
