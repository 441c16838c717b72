// convert-tpsp-plan-to-llvm: converts programs to functions that call the
// runtime.
#include "Passes/Device/DeviceKernels.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_CONVERTPLANTOLLVM
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// A description for people: "all_gather at gpt.mlir:12:8". Locations come from
/// the model.
static std::string describe(plan::CommandOpInterface command) {
  std::string text = command.getCall().str();
  if (plan::LedgerAttr ledger = command.getLedgerRow())
    text += " " + ledger.getRow().tensor;
  if (auto kernel = dyn_cast<plan::KernelOp>(command.getOperation()))
    text += " " + kernel.getCallee().str();
  std::string place = formatLocation(command->getLoc());
  return place.empty() ? text : text + " at " + place;
}

namespace {

/// The device records of kernels, by the kernel's name.
using DeviceRecords = llvm::StringMap<LLVM::GlobalOp>;

/// Lowers one program. Records have the layout of tpsp_rt_command in tpsp_rt.h.
class ProgramLowering {
public:
  ProgramLowering(plan::ProgramOp program, const DeviceRecords &devices)
      : program(program), devices(devices), b(program), loc(program.getLoc()),
        context(program.getContext()) {
    pointer = LLVM::LLVMPointerType::get(context);
    i64 = b.getI64Type();
    i32 = b.getI32Type();
    record = LLVM::LLVMStructType::getLiteral(
        context, {i64, i64, pointer, i64, pointer, i64, pointer, i64, pointer,
                  i64, pointer, pointer, pointer});
  }

  LogicalResult run() {
    auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i64});
    auto step = LLVM::LLVMFuncOp::create(b, loc, program.getSymName(), type);
    Block *entry = step.addEntryBlock(b);
    rank = entry->getArgument(0);
    Block *out = b.createBlock(&step.getBody(), step.getBody().end(), i32, loc);
    LLVM::ReturnOp::create(b, loc, out->getArgument(0));
    exit = out;
    SmallVector<Block *> begins = {beginSegment()};
    for (Operation &op : program.getBody().front()) {
      auto command = dyn_cast<plan::CommandOpInterface>(op);
      if (!command)
        continue;
      while (command.getSegment().value_or(0) >= int64_t(begins.size())) {
        endSegment();
        begins.push_back(beginSegment());
      }
      if (failed(lower(command)))
        return failure();
    }
    endSegment();
    b.setInsertionPointToEnd(entry);
    selectSegment(entry->getArgument(1), begins);
    program.erase();
    return success();
  }

private:
  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(value));
  }

  Block *beginSegment() { return current = b.createBlock(exit); }

  void endSegment() {
    b.setInsertionPointToEnd(current);
    LLVM::BrOp::create(b, loc, ValueRange{constant(0)}, exit);
  }

  /// Goes on with the segment of this number; nothing is issued for a number
  /// that no segment has.
  void selectSegment(Value number, ArrayRef<Block *> begins) {
    SmallVector<APInt> numbers;
    for (size_t i = 0; i < begins.size(); ++i)
      numbers.push_back(APInt(64, i));
    auto type = VectorType::get(int64_t(numbers.size()), i64);
    SmallVector<ValueRange> none(begins.size());
    LLVM::SwitchOp::create(b, loc, number, exit, ValueRange{constant(0)},
                           DenseIntElementsAttr::get(type, numbers), begins,
                           none);
  }

  std::string globalName(StringRef part) {
    return ("__tpsp_" + program.getSymName() + "_" + part + "_" +
            Twine(commandNumber))
        .str();
  }

  /// A constant with the numbers; null if there are none.
  LLVM::GlobalOp numbers(StringRef part, ArrayRef<int64_t> values) {
    if (values.empty())
      return {};
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(program);
    auto type = LLVM::LLVMArrayType::get(i64, values.size());
    auto data = DenseElementsAttr::get(
        RankedTensorType::get({int64_t(values.size())}, i64), values);
    return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal, globalName(part),
                                  data);
  }

  LLVM::GlobalOp text(StringRef value) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(program);
    std::string terminated = value.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
    return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal, globalName("name"),
                                  b.getStringAttr(terminated));
  }

  /// The function that the runtime calls for a kernel. It unpacks the arrays of
  /// buffers and positions.
  FailureOr<LLVM::LLVMFuncOp> trampoline(plan::KernelOp command) {
    StringRef callee = command.getCallee();
    std::string name = (callee + "_entry").str();
    auto module = program->getParentOfType<ModuleOp>();
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(callee);
    if (!kernel)
      return emitErrorAt(command)
             << "kernel @" << callee << " is not an LLVM function yet";
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(kernel);
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                            {pointer, pointer, i64, i64});
    auto entry = LLVM::LLVMFuncOp::create(b, kernel.getLoc(), name, type);
    Block *body = entry.addEntryBlock(b);
    b.setInsertionPointToStart(body);
    unsigned count = kernel.getNumArguments();
    SmallVector<Value> arguments;
    unsigned buffer = 0, position = 0;
    for (unsigned i = 0; i + 2 < count; ++i) {
      Type argument = kernel.getFunctionType().getParamType(i);
      bool isBuffer = argument == pointer;
      Value base = body->getArgument(isBuffer ? 0 : 1);
      unsigned index = isBuffer ? buffer++ : position++;
      Value address = LLVM::GEPOp::create(b, loc, pointer, argument, base,
                                          LLVM::GEPArg(int32_t(index)));
      arguments.push_back(LLVM::LoadOp::create(b, loc, argument, address));
    }
    arguments.push_back(body->getArgument(2));
    arguments.push_back(body->getArgument(3));
    LLVM::CallOp::create(b, loc, kernel, arguments);
    LLVM::ReturnOp::create(b, loc, ValueRange());
    return entry;
  }

  /// The kernel's device record; null for other commands, and in a plan without
  /// one.
  LLVM::GlobalOp deviceRecord(Operation *command) {
    auto kernel = dyn_cast<plan::KernelOp>(command);
    return kernel ? devices.lookup(kernel.getCallee()) : LLVM::GlobalOp();
  }

  LLVM::LLVMFuncOp declaration(StringRef call) {
    std::string name = ("tpsp_rt_" + call).str();
    auto module = program->getParentOfType<ModuleOp>();
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    return LLVM::LLVMFuncOp::create(
        b, loc, name, LLVM::LLVMFunctionType::get(i32, {pointer, pointer}));
  }

  LogicalResult lower(plan::CommandOpInterface command) {
    std::vector<int64_t> params = command.encode();
    SmallVector<int64_t> offsets, tiles, slots;
    for (Value value : command.getCallBuffers()) {
      plan::BufferOp buffer = plan::bufferOf(value);
      std::optional<uint64_t> offset = buffer.getOffset();
      if (!offset)
        return emitErrorAt(command) << "uses a buffer without an offset; run "
                                       "tpsp-allocate first";
      if (buffer.getCut())
        slots.append(
            {int64_t(offsets.size()), plan::bytesOf(buffer.getType()), -1});
      if (std::optional<uint64_t> pool = buffer.getPool())
        slots.append({int64_t(offsets.size()), (*program.getPools())[3 * *pool],
                      int64_t(*pool)});
      offsets.push_back(*offset);
      if (plan::TileOp tile = plan::tileOf(value))
        addTile(tile, offsets, tiles);
    }
    LLVM::LLVMFuncOp kernel;
    if (auto op = dyn_cast<plan::KernelOp>(command.getOperation())) {
      FailureOr<LLVM::LLVMFuncOp> entry = trampoline(op);
      if (failed(entry))
        return failure();
      kernel = *entry;
    }
    LLVM::GlobalOp data = createRecord(
        command, numbers("params", params), params.size(),
        numbers("buffers", offsets), offsets.size(), numbers("tiles", tiles),
        tiles.size(), numbers("slots", slots), slots.size(), kernel);
    emitCall(command, data);
    ++commandNumber;
    return success();
  }

  /// Adds a tile's start to the last of `offsets`: now if the tile is the same
  /// on every rank, else at run time (tpsp_rt_command.tiles).
  static void addTile(plan::TileOp tile, SmallVectorImpl<int64_t> &offsets,
                      SmallVectorImpl<int64_t> &tiles) {
    auto type = cast<MemRefType>(tile.getSource().getType());
    int64_t width = type.getElementTypeBitWidth() / 8;
    int64_t bytes = tile.getChunk() * width;
    offsets.back() += tile.getRunBegin() * width;
    if (tile.getAxes().empty()) {
      offsets.back() += tile.getNumber() * bytes;
      return;
    }
    tiles.append({int64_t(offsets.size()) - 1, int64_t(tile.getNumber()), bytes,
                  int64_t(tile.getAxes().size())});
    tiles.append(tile.getAxes().begin(), tile.getAxes().end());
  }

  LLVM::GlobalOp createRecord(plan::CommandOpInterface command,
                              LLVM::GlobalOp params, int64_t numParams,
                              LLVM::GlobalOp offsets, int64_t numOffsets,
                              LLVM::GlobalOp tiles, int64_t numTiles,
                              LLVM::GlobalOp slots, int64_t numSlots,
                              LLVM::LLVMFuncOp kernel) {
    LLVM::GlobalOp name = text(describe(command));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(program);
    auto global = LLVM::GlobalOp::create(b, loc, record, /*isConstant=*/true,
                                         LLVM::Linkage::Internal,
                                         globalName("command"), Attribute());
    Block *block = b.createBlock(&global.getInitializerRegion());
    b.setInsertionPointToStart(block);
    auto integer = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(value));
    };
    auto address = [&](LLVM::GlobalOp of) -> Value {
      if (!of)
        return LLVM::ZeroOp::create(b, loc, pointer);
      return LLVM::AddressOfOp::create(b, loc, of);
    };
    Value entry = kernel ? Value(LLVM::AddressOfOp::create(b, loc, kernel))
                         : Value(LLVM::ZeroOp::create(b, loc, pointer));
    Value fields[] = {integer(commandNumber),
                      integer(int64_t(command.getStream())),
                      address(params),
                      integer(numParams),
                      address(offsets),
                      integer(numOffsets),
                      address(tiles),
                      integer(numTiles),
                      address(slots),
                      integer(numSlots),
                      entry,
                      address(deviceRecord(command)),
                      address(name)};
    Value value = LLVM::UndefOp::create(b, loc, record);
    for (auto [i, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(b, loc, value, field, int64_t(i));
    LLVM::ReturnOp::create(b, loc, value);
    return global;
  }

  /// status = call(rank, record); if (status != 0) return status;
  void emitCall(plan::CommandOpInterface command, LLVM::GlobalOp data) {
    LLVM::LLVMFuncOp function = declaration(command.getCall());
    b.setInsertionPointToEnd(current);
    Location at = command.getLoc();
    Value address = LLVM::AddressOfOp::create(b, at, data);
    Value status =
        LLVM::CallOp::create(b, at, function, ValueRange{rank, address})
            .getResult();
    Value ok = LLVM::ICmpOp::create(b, at, LLVM::ICmpPredicate::eq, status,
                                    constant(0));
    Block *next = b.createBlock(exit);
    b.setInsertionPointToEnd(current);
    LLVM::CondBrOp::create(b, at, ok, next, ValueRange(), exit,
                           ValueRange{status});
    current = next;
  }

  plan::ProgramOp program;
  const DeviceRecords &devices;
  OpBuilder b;
  Location loc;
  MLIRContext *context;
  Type pointer, i64, i32;
  LLVM::LLVMStructType record;
  Value rank;
  Block *current = nullptr, *exit = nullptr;
  int64_t commandNumber = 0;
};

struct ConvertPlanToLLVM
    : public tpsp::impl::ConvertPlanToLLVMBase<ConvertPlanToLLVM> {
  using Base::Base;
  void runOnOperation() override {
    DeviceRecords devices;
    for (auto global : getOperation().getOps<LLVM::GlobalOp>()) {
      StringRef name = global.getSymName();
      if (name.consume_back(deviceRecordSuffix))
        devices[name] = global;
    }
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<plan::ProgramOp>()))
      if (failed(ProgramLowering(program, devices).run()))
        return signalPassFailure();
    // The commands now contain everything that is needed of the mesh.
    if (MeshOp mesh = findMesh(getOperation()))
      mesh.erase();
  }
};

} // namespace
