#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "tpsp/Abi/ElementType.h"

#include "tpsp/Abi/tpsp_rt.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::plan;

#include "tpsp/Dialect/Plan/PlanDialect.cpp.inc"
#include "tpsp/Dialect/Plan/PlanInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tpsp/Dialect/Plan/PlanAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "tpsp/Dialect/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tpsp/Dialect/Plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Plan/PlanOps.cpp.inc"
      >();
}

int64_t tpsp::plan::runtimeType(Type elementType) {
  if (elementType.isBF16())
    return TPSP_RT_BF16;
  if (elementType.isF16())
    return TPSP_RT_F16;
  if (elementType.isF64())
    return TPSP_RT_F64;
  if (elementType.isInteger(32))
    return TPSP_RT_I32;
  if (elementType.isInteger(64))
    return TPSP_RT_I64;
  if (elementType.isInteger(8))
    return TPSP_RT_I8;
  return TPSP_RT_F32;
}

int64_t tpsp::plan::bytesOf(Type memref) {
  auto type = cast<MemRefType>(memref);
  return type.getNumElements() * (type.getElementTypeBitWidth() / 8);
}

static Value throughViews(Value value) {
  while (auto view = value.getDefiningOp<ViewOp>())
    value = view.getSource();
  return value;
}

TileOp tpsp::plan::tileOf(Value value) {
  return throughViews(value).getDefiningOp<TileOp>();
}

BufferOp tpsp::plan::bufferOf(Value value) {
  if (TileOp tile = tileOf(value))
    value = tile.getSource();
  return throughViews(value).getDefiningOp<BufferOp>();
}

LogicalResult TileOp::verify() {
  if (tileOf(getSource()))
    return emitOpError("is of a tile; tiles are of whole buffers");
  int64_t tiles = getTiles(), chunk = getChunk(), number = getNumber();
  int64_t whole = getSource().getType().getNumElements();
  if (tiles < 1 || chunk < 1 || whole % (tiles * chunk) != 0)
    return emitOpError("cuts ")
           << whole << " elements into " << tiles << " tiles with runs of "
           << chunk << ", which do not divide them";
  if (number < 0 || number >= tiles)
    return emitOpError("is number ") << number << " of " << tiles << " tiles";
  int64_t parts = getParts(), part = getPart();
  if (parts < 1 || chunk % parts != 0)
    return emitOpError("cuts runs of ") << chunk << " elements into " << parts
                                        << " parts, which does not divide them";
  if (part < 0 || part >= parts)
    return emitOpError("is part ") << part << " of " << parts << " parts";
  int64_t elements = whole / tiles / parts;
  if (getResult().getType().getNumElements() != elements)
    return emitOpError("has ") << getResult().getType().getNumElements()
                               << " elements, not " << elements;
  return success();
}

void BufferKindAttr::print(AsmPrinter &printer) const {
  printer << '"' << nameOf(getValue()) << '"';
}

Attribute BufferKindAttr::parse(AsmParser &parser, Type) {
  std::string name;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseString(&name))
    return {};
  if (std::optional<BufferKind> kind = findNamed<BufferKind>(name))
    return get(parser.getContext(), *kind);
  parser.emitError(place, "there is no \"")
      << name << "\"; kinds are \""
      << llvm::join(ArrayRef(EnumNames<BufferKind>::all), "\", \"") << "\"";
  return {};
}

void BufferOp::build(OpBuilder &builder, OperationState &state, Type type,
                     BufferKind kind) {
  state.addTypes(type);
  state.getOrAddProperties<Properties>().kind =
      BufferKindAttr::get(builder.getContext(), kind);
}

LogicalResult ViewOp::verify() {
  if (bytesOf(getSource().getType()) >= bytesOf(getResult().getType()))
    return success();
  return emitOpError("has more bytes than its source");
}

LogicalResult tpsp::plan::verifyCommand(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!bufferOf(operand))
      return op->emitOpError("operand #")
             << i << " is neither a plan.buffer nor a view of one";
  return success();
}

/// Verifies the start of a part of an index.
static LogicalResult verifyStart(Operation *op, Attribute start) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(start);
  if (numbers && numbers.size() >= 4)
    return success();
  return op->emitOpError(
             "needs positions of [stride, shift, offset, batch stride, "
             "axes...], not ")
         << start;
}

LogicalResult KernelOp::verify() {
  for (Attribute position : getPositions())
    if (failed(verifyStart(*this, position)))
      return failure();
  return success();
}

static std::string textOf(ArrayAttr names) {
  if (!names)
    return "[]";
  std::string text;
  llvm::raw_string_ostream(text) << names;
  return text;
}

/// Verifies that every step has its buffer, of the matmul's element type and as
/// large as the step says.
static LogicalResult verifyEpilogueBuffers(MatmulOp op) {
  size_t reads = 0, writes = 0;
  std::vector<rt::EpilogueStep> steps = epilogueOf(op);
  for (rt::EpilogueStep step : steps)
    if (rt::hasBuffer(step))
      ++(rt::writesBuffer(step) ? writes : reads);
  if (reads != op.getReads().size() || writes != op.getWrites().size())
    return op.emitOpError("has the epilogue ")
           << textOf(op.getEpilogueAttr()) << ", which reads " << reads
           << " and writes " << writes << " buffers, not "
           << op.getReads().size() << " and " << op.getWrites().size();
  SmallVector<Value> buffers = op.getCallBuffers();
  ArrayRef<Value> next = ArrayRef<Value>(buffers).drop_front(3);
  auto typeA = cast<MemRefType>(op.getA().getType());
  auto typeC = cast<MemRefType>(op.getC().getType());
  rt::MatmulCommand command{{}, runtimeType(typeA.getElementType()), steps};
  if (runtimeType(typeC.getElementType()) != command.resultType())
    return op.emitOpError("has the result ")
           << typeC << ", which needs elements of "
           << rt::elementName(command.resultType());
  for (rt::EpilogueStep step : steps) {
    if (!rt::hasBuffer(step))
      continue;
    auto type = cast<MemRefType>(next.front().getType());
    next = next.drop_front();
    int64_t elements = rt::hasMatrix(step)              ? typeC.getNumElements()
                       : step == rt::EpilogueStep::SumA ? op.getSizes()[0]
                                                        : op.getSizes()[1];
    if (type.getElementType() != typeC.getElementType() ||
        type.getNumElements() != elements)
      return op.emitOpError("has a buffer of ")
             << type << " for \"" << rt::nameOf(step) << "\", which needs "
             << elements << " elements of " << typeC.getElementType();
  }
  return success();
}

static LogicalResult verifyEpilogue(MatmulOp op) {
  std::vector<rt::EpilogueStep> steps = epilogueOf(op);
  size_t named = op.getEpilogueAttr() ? op.getEpilogueAttr().size() : 0;
  if (steps.size() != named || !rt::isEpilogue(steps))
    return op.emitOpError("has the epilogue ")
           << textOf(op.getEpilogueAttr())
           << "; there are [bias] [keep] gelu, bias, slope, sum_a, sum_b and "
              "add";
  bool sums = !steps.empty() && (steps[0] == rt::EpilogueStep::SumA ||
                                 steps[0] == rt::EpilogueStep::SumB);
  if (sums && (!op.getBatch().empty() || !op.getAccumulate().empty()))
    return op.emitOpError("sums an operand beside loops; it must be a single "
                          "product");
  return verifyEpilogueBuffers(op);
}

template <typename Op> static LogicalResult verifyMatmulNumbers(Op op) {
  if (op.getSizes().size() != 3 || op.getLeading().size() != 3)
    return op.emitOpError("needs three sizes (m, n, k) and three leading "
                          "dimensions, not ")
           << op.getSizes().size() << " and " << op.getLeading().size();
  if (op.getBatch().size() % 4 != 0 || op.getAccumulate().size() % 4 != 0)
    return op.emitOpError("loops are of four numbers each: extent and strides");
  return success();
}

LogicalResult MatmulOp::verify() {
  if (failed(verifyMatmulNumbers(*this)))
    return failure();
  return verifyEpilogue(*this);
}

LogicalResult GroupedMatmulOp::verify() {
  if (failed(verifyMatmulNumbers(*this)))
    return failure();
  size_t loops = (getBatch().size() + getAccumulate().size()) / 4;
  if (getIdStrides().size() != loops)
    return emitOpError("needs a stride of the integers along each of ")
           << loops << " loops, not " << getIdStrides().size();
  if (Attribute first = getFirstGroupAttr();
      first && failed(verifyStart(*this, first)))
    return failure();
  auto command = commandOf(*this), decoded = command;
  std::vector<int64_t> numbers = command.encode();
  if (!rt::decode(numbers.data(), int64_t(numbers.size()), decoded))
    return emitOpError("has sizes and strides of no product");
  for (auto [buffer, use] :
       llvm::zip_equal(getOperands(), command.buffers(/*ranks=*/1))) {
    auto type = cast<MemRefType>(buffer.getType());
    if (type.getNumElements() < use.elements ||
        runtimeType(type.getElementType()) != use.dtype)
      return emitOpError("has ")
             << use.role << " of " << type << " where its numbers make "
             << use.elements << " elements";
  }
  return success();
}

/// Verifies the buffers of a bias, segment numbers and lengths against the
/// command.
template <typename Op, typename Command>
static LogicalResult verifyExtras(Op op, const Command &command) {
  std::vector<rt::BufferUse> uses = command.buffers(/*ranks=*/1);
  SmallVector<rt::BufferUse> expected;
  for (const rt::BufferUse &use : uses)
    for (StringRef role : {"bias", "query_segments", "key_segments", "lengths"})
      if (role == use.role)
        expected.push_back(use);
  if (expected.size() != op.getExtras().size())
    return op.emitOpError("has ")
           << op.getExtras().size() << " extra buffers where its strides make "
           << expected.size();
  for (auto [buffer, use] : llvm::zip_equal(op.getExtras(), expected)) {
    auto type = cast<MemRefType>(buffer.getType());
    if (type.getNumElements() != use.elements ||
        runtimeType(type.getElementType()) != use.dtype)
      return op.emitOpError("has a ")
             << use.role << " of " << type << " where its strides make "
             << use.elements << " elements";
  }
  return success();
}

/// Verifies that the numbers are an attention's, and that its buffers are as
/// large as they say.
template <typename Op>
static LogicalResult verifyAttention(Op op, ValueRange queryLike,
                                     ValueRange keyLike, ValueRange valueLike,
                                     ValueRange resultLike) {
  if (op.getSizes().size() != 7 || op.getStrides().size() != 16)
    return op.emitOpError("needs seven sizes and sixteen strides, not ")
           << op.getSizes().size() << " and " << op.getStrides().size();
  auto hasLength = [](std::optional<ArrayRef<int64_t>> list, size_t length) {
    return !list || list->size() == length;
  };
  if (!hasLength(op.getBiasStrides(), 5) ||
      !hasLength(op.getSegmentStrides(), 8) ||
      !hasLength(op.getLengthStrides(), 2))
    return op.emitOpError("needs five strides of a bias, eight of segment "
                          "numbers and two of lengths, where they are there");
  if (Attribute start = op.getQueryStartAttr();
      start && failed(verifyStart(op, start)))
    return failure();
  if (op.getQueryStart() && !op.getCausal())
    return op.emitOpError("says where queries start without a causal mask");
  auto command = commandOf(op), decoded = command;
  std::vector<int64_t> numbers = command.encode();
  if (!rt::decode(numbers.data(), int64_t(numbers.size()), decoded))
    return op.emitOpError("has sizes and strides of no dense tensors");
  auto holds = [&](Value buffer, int64_t elements) -> LogicalResult {
    auto type = cast<MemRefType>(buffer.getType());
    Type element = cast<MemRefType>(op.getQ().getType()).getElementType();
    if (type.getNumElements() == elements && type.getElementType() == element)
      return success();
    return op.emitOpError("has a buffer of ")
           << type << " where its sizes make " << elements << " elements of "
           << element;
  };
  const std::pair<ValueRange, int64_t> expected[] = {
      {queryLike, command.queryElements()},
      {keyLike, command.keyElements()},
      {valueLike, command.valueElements()},
      {resultLike, command.resultElements()}};
  for (auto [buffers, elements] : expected)
    for (Value buffer : buffers)
      if (failed(holds(buffer, elements)))
        return failure();
  return verifyExtras(op, command);
}

/// Verifies that the statistic has one element per row, in f32, or f64 for f64.
template <typename Op>
static LogicalResult verifyStatistic(Op op, Value statistic) {
  auto type = cast<MemRefType>(statistic.getType());
  rt::AttentionCommand command = commandOf(op);
  if (type.getNumElements() == command.numRows() &&
      runtimeType(type.getElementType()) == command.statisticType())
    return success();
  return op.emitOpError("has a statistic of ")
         << type << " for " << command.numRows() << " rows";
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this, getQ(), getK(), getV(), getO())))
    return failure();
  return getStatistic() ? verifyStatistic(*this, getStatistic()) : success();
}

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyAttention(*this, {getQ(), getGq()}, {getK(), getGk()},
                             {getV(), getGv()}, {getO(), getGo()})))
    return failure();
  return verifyStatistic(*this, getStatistic());
}

template <typename Op> static LogicalResult verifyShards(Op op) {
  size_t tensors = op.getSources().size();
  if (tensors == 0 || tensors != op.getTargets().size())
    return op.emitOpError("has one target for each of its sources, not ")
           << op.getTargets().size() << " for " << tensors;
  if (op.getOthers().size() != 3 * (tensors - 1))
    return op.emitOpError("has outer, chunk and pitch of ")
           << tensors - 1 << " tensors in `others`, not "
           << op.getOthers().size() << " numbers";
  for (Value buffer : op.getCallBuffers())
    if (getElementTypeOrSelf(buffer) != getElementTypeOrSelf(op.getSource()))
      return op.emitOpError("moves tensors of one element type, not ")
             << getElementTypeOrSelf(buffer) << " with "
             << getElementTypeOrSelf(op.getSource());
  return success();
}
LogicalResult AllGatherOp::verify() { return verifyShards(*this); }
LogicalResult ReduceScatterOp::verify() { return verifyShards(*this); }

LogicalResult TransferOp::verify() {
  if (getOperation()->getNumOperands() != 1)
    return emitOpError(
        "is one side of a transfer: it has a source or a target");
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (getExtents().size() == 5)
    return success();
  return emitOpError("needs five extents, not ") << getExtents().size();
}
