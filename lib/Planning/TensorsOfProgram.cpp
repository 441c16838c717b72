#include "TensorsOfProgram.h"

#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

static std::string nameOfArgument(func::FuncOp function, BlockArgument argument,
                                  SourceNames &sources) {
  for (StringRef attr : {paramAttrName, nameAttrName})
    if (auto name = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), attr))
      return name.getValue().str();
  std::string name = sources.of(argument);
  return name.empty() ? "argument " + std::to_string(argument.getArgNumber())
                      : name;
}

SmallVector<unsigned> tpsp::argumentsOf(const HandedTensor &handed,
                                        func::FuncOp program) {
  SmallVector<unsigned> numbers;
  for (Value value : handed.values)
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner()->getParentOp() == program)
      numbers.push_back(argument.getArgNumber());
  return numbers;
}

TensorFacts tpsp::tensorFacts(const HandedTensor &handed, func::FuncOp program,
                              ModuleOp padded, const NameClasses &names,
                              SourceNames &sources) {
  TensorFacts tensor;
  auto type = dyn_cast<RankedTensorType>(handed.first.getType());
  tensor.isFree = type && isUnplaced(type);
  if (!type || !getIdx(type))
    return tensor;
  tensor.dims = names(type);
  SmallVector<int64_t> shape = shapeToRun(padded, type);
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.elementBytes = type.getElementTypeBitWidth() / 8;
  tensor.holdsIntegers = type.getElementType().isInteger();
  tensor.kind = TensorFacts::Kind::Boundary;
  tensor.name = sources.of(handed.first);
  auto argument = dyn_cast<BlockArgument>(handed.first);
  if (!argument || argument.getOwner()->getParentOp() != program)
    return tensor;
  unsigned number = argument.getArgNumber();
  tensor.count = int64_t(argumentsOf(handed, program).size());
  bool isParameter = bool(program.getArgAttr(number, paramAttrName));
  tensor.kind =
      isParameter ? TensorFacts::Kind::Parameter : TensorFacts::Kind::Input;
  tensor.name = nameOfArgument(program, argument, sources);
  tensor.isTrained = isParameter && isa<FloatType>(type.getElementType()) &&
                     !program.getArgAttr(number, frozenAttrName);
  return tensor;
}

std::vector<TensorFacts> tpsp::attentionFacts(ArrayRef<Value> values,
                                              ModuleOp padded,
                                              const NameClasses &names) {
  std::vector<TensorFacts> facts;
  for (Value value : values) {
    TensorFacts &tensor = facts.emplace_back();
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = shapeToRun(padded, type);
    tensor.kind = TensorFacts::Kind::Boundary;
    tensor.dims = names(type);
    tensor.shape.assign(shape.begin(), shape.end());
    tensor.elementBytes = type.getElementTypeBitWidth() / 8;
    tensor.isFree = isUnplaced(type);
  }
  return facts;
}

void tpsp::findActivationClasses(ProgramFacts &facts) {
  llvm::SmallSetVector<ClassId, 4> ofInputs, ofParameters;
  for (const TensorFacts &tensor : facts.tensors)
    for (ClassId id : tensor.dims)
      (tensor.kind == TensorFacts::Kind::Parameter ? ofParameters : ofInputs)
          .insert(id);
  for (ClassId id : ofInputs)
    if (!ofParameters.contains(id))
      facts.activationClasses.push_back(id);
  // Integers are tokens, even if a table of positions has their index. Labels
  // may have other positions than the tokens that they belong to.
  facts.tokens = 0;
  for (const TensorFacts &tensor : facts.tensors) {
    int64_t tokens = 1;
    llvm::SmallSetVector<ClassId, 4> classes(tensor.dims.begin(),
                                             tensor.dims.end());
    for (ClassId id : classes)
      if (tensor.holdsIntegers || !ofParameters.contains(id))
        tokens *= facts.classes[id].extent;
    if (tensor.kind != TensorFacts::Kind::Parameter)
      facts.tokens = std::max(facts.tokens, tokens);
  }
}

void SharedHeads::note(const IndexStructure &structure,
                       ArrayRef<ClassId> classes) {
  llvm::SmallSetVector<ClassId, 4> shared;
  for (IndexId i = 0; i < structure.indices.size(); ++i) {
    auto has = [&](const IndexStructure::Tensor &tensor) {
      return tensor.dimOf(i).has_value();
    };
    if (!structure.indices[i].whole &&
        llvm::all_of(ArrayRef(structure.operands).take_front(3), has) &&
        has(structure.results.front()))
      shared.insert(classes[i]);
  }
  if (!heads)
    heads = std::move(shared);
  else
    heads->remove_if([&](ClassId id) { return !shared.contains(id); });
}

std::vector<ClassId> SharedHeads::without(ArrayRef<ClassId> others) const {
  std::vector<ClassId> result;
  for (ClassId id : heads.value_or(llvm::SmallSetVector<ClassId, 4>()))
    if (!llvm::is_contained(others, id))
      result.push_back(id);
  return result;
}
