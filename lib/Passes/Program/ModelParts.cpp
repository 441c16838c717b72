#include "tpsp/Passes/Program/ModelParts.h"

#include "FunctionResults.h"
#include "Placed.h"
#include "SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Program/LayerRuns.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tpsp;

static func::FuncOp calleeOf(func::CallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
}

/// The name that a value has once its calls are inlined.
static std::string nameOfValue(Value value) {
  auto call = value.getDefiningOp<func::CallOp>();
  if (!call)
    return tensorName(value);
  unsigned number = cast<OpResult>(value).getResultNumber();
  Value inner =
      calleeOf(call).getBody().front().getTerminator()->getOperand(number);
  std::optional<std::string> caller = sourceName(call.getLoc());
  return (caller ? *caller + "." : "") + nameOfValue(inner);
}

namespace {

/// A run of layers in its program.
class CutRun {
public:
  explicit CutRun(LayerRun run) : run(std::move(run)) {
    chained.resize(this->run.period);
    for (size_t i = 0; i < this->run.period; ++i)
      chained[i] = chainedIn(i + this->run.period);
  }

  ArrayRef<func::CallOp> calls() const { return run.calls; }
  /// The operand of a call that the call before it returns.
  unsigned chainedOperand(size_t call) const {
    return chained[call % run.period];
  }
  Value first() const {
    func::CallOp call = run.calls.front();
    return call.getOperand(chained.front());
  }
  Value last() const {
    func::CallOp call = run.calls.back();
    return call.getResult(0);
  }

  /// Why a layer cannot be cut out; empty if all can.
  std::string problem() const {
    for (size_t i = 0; i < run.calls.size(); ++i)
      for (auto [k, operand] : llvm::enumerate(operandsOf(i)))
        if (k != chainedOperand(i) && !isa<BlockArgument>(operand))
          return "layer " + nameOf(i) + " takes " + nameOfValue(operand) +
                 ", which the program computes: its gradient is of all layers";
    return "";
  }

  void addParts(std::vector<ModelPart> &out) const {
    for (size_t i = 0; i < run.calls.size(); ++i) {
      func::FuncOp callee = calleeOf(run.calls[i]);
      ModelPart &part = out.emplace_back();
      part.name = nameOf(i);
      part.function = callee.getSymName().str();
      for (auto [argument, operand] :
           llvm::zip_equal(callee.getArguments(), operandsOf(i))) {
        std::string name = nameOfValue(operand);
        part.arguments[tensorName(argument)] = name;
        if (!operand.hasOneUse())
          part.shared.insert(name);
      }
    }
  }

  void erase() {
    for (func::CallOp call : llvm::reverse(run.calls))
      call.erase();
  }

private:
  OperandRange operandsOf(size_t number) const {
    func::CallOp call = run.calls[number];
    return call.getOperands();
  }

  std::string nameOf(size_t number) const {
    func::CallOp call = run.calls[number];
    return sourceName(call.getLoc()).value_or("layer" + std::to_string(number));
  }

  unsigned chainedIn(size_t number) const {
    func::CallOp call = run.calls[number], before = run.calls[number - 1];
    for (auto [i, operand] : llvm::enumerate(call.getOperands()))
      if (operand == before.getResult(0))
        return i;
    return 0;
  }

  LayerRun run;
  SmallVector<unsigned> chained;
};

} // namespace

/// The runs of layers, after their values have got names.
static std::string findRuns(func::FuncOp program, std::vector<CutRun> &out) {
  SourceNames sources;
  nameValues(program->getParentOp(), sources);
  for (LayerRun &run : layerRuns(program, /*shortest=*/1))
    out.emplace_back(std::move(run));
  if (out.empty())
    return "@" + program.getSymName().str() +
           " has no layers that repeat; check it as a whole";
  for (const CutRun &run : out)
    if (std::string problem = run.problem(); !problem.empty())
      return problem;
  return "";
}

std::string tpsp::partsOf(func::FuncOp program, ModelParts &out) {
  std::vector<CutRun> runs;
  if (std::string problem = findRuns(program, runs); !problem.empty())
    return problem;
  if (std::optional<AxisId> axis = stageAxisOf(program))
    out.stageAxis = int64_t(*axis);
  for (const CutRun &run : runs)
    run.addParts(out.parts);
  ModelPart rest;
  for (const ModelPart &part : out.parts)
    rest.shared.insert(part.shared.begin(), part.shared.end());
  out.parts.push_back(std::move(rest));
  return "";
}

/// A part has no layers that stages could divide.
static void dropStages(ModuleOp module) {
  Builder b(module.getContext());
  for (auto mesh : module.getOps<MeshOp>()) {
    SmallVector<Attribute> roles(mesh.getAxisRoles().getValue());
    if (std::optional<AxisId> axis = stageAxisOf(mesh))
      roles[*axis] = b.getStringAttr("");
    mesh.setAxisRolesAttr(b.getArrayAttr(roles));
  }
}

/// Copies what a program says of its argument to the layer's.
static void copyAttributes(BlockArgument from, BlockArgument to) {
  auto program = cast<func::FuncOp>(from.getOwner()->getParentOp());
  auto layer = cast<func::FuncOp>(to.getOwner()->getParentOp());
  std::string name = tensorName(to);
  unsigned number = to.getArgNumber();
  for (NamedAttribute attribute :
       program.getArgAttrDict(from.getArgNumber())
           ? program.getArgAttrDict(from.getArgNumber()).getValue()
           : ArrayRef<NamedAttribute>()) {
    StringRef key = attribute.getName().getValue();
    Attribute value = attribute.getValue();
    if (key == paramAttrName || key == nameAttrName)
      value = StringAttr::get(layer.getContext(), name);
    layer.setArgAttr(number, key, value);
  }
}

void tpsp::exposeLayer(ModuleOp module, StringRef name) {
  auto layer = module.lookupSymbol<func::FuncOp>(name);
  if (!layer)
    return;
  SourceNames sources;
  nameValues(module, sources);
  dropStages(module);
  layer.setPublic();
  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) {
    if (call.getCallee() == name)
      calls.push_back(call);
  });
  for (BlockArgument argument : layer.getArguments()) {
    auto operandOf = [&](func::CallOp call) {
      return dyn_cast<BlockArgument>(call.getOperand(argument.getArgNumber()));
    };
    if (!calls.empty() && llvm::all_of(calls, operandOf))
      copyAttributes(operandOf(calls.front()), argument);
  }
}

/// Gives a program another argument, called `name`.
static BlockArgument addArgument(func::FuncOp program, Value like,
                                 const std::string &name) {
  Builder b(program.getContext());
  unsigned number = program.getNumArguments();
  DictionaryAttr attributes = b.getDictionaryAttr(
      {b.getNamedAttr(nameAttrName, b.getStringAttr(name))});
  (void)program.insertArgument(
      number, like.getType(), attributes,
      NameLoc::get(b.getStringAttr(name), like.getLoc()));
  return program.getArgument(number);
}

/// Removes arguments that nothing reads.
static void dropUnread(func::FuncOp program) {
  llvm::BitVector unread(program.getNumArguments());
  for (BlockArgument argument : program.getArguments())
    if (argument.use_empty())
      unread.set(argument.getArgNumber());
  (void)program.eraseArguments(unread);
}

std::string tpsp::removeLayers(func::FuncOp program) {
  std::vector<CutRun> runs;
  if (std::string problem = findRuns(program, runs); !problem.empty())
    return problem;
  FunctionResults results(program);
  Builder b(program.getContext());
  for (CutRun &run : runs) {
    Value first = run.first(), last = run.last();
    if (!isa<BlockArgument>(first))
      results.add(first,
                  b.getDictionaryAttr({b.getNamedAttr(
                      nameAttrName, b.getStringAttr(nameOfValue(first)))}));
    last.replaceAllUsesWith(addArgument(program, last, nameOfValue(last)));
    run.erase();
  }
  // A value that was replaced may have been a result.
  Operation *ret = program.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands()))
    results.values[i] = value;
  results.setOf(program);
  dropUnread(program);
  dropStages(program->getParentOfType<ModuleOp>());
  return "";
}
