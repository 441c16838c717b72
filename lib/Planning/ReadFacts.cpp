#include "ReadFacts.h"

#include "FilledRows.h"
#include "HandedTensors.h"
#include "NameClasses.h"
#include "StageCut.h"
#include "TensorsOfProgram.h"
#include "tpsp/Passes/Program/LayerRuns.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/Attention/AttentionRing.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Pipelines.h"
#include "tpsp/Passes/Program/CallPlace.h"
#include "tpsp/Passes/Program/LibraryCalls.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// The value of which `value` is a view.
Value throughViews(Value value) {
  while (auto op = value.getDefiningOp<IndexedOpInterface>()) {
    if (!op.isView())
      break;
    value = op->getOperand(0);
  }
  return value;
}

int64_t tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * (tensor.getElementTypeBitWidth() / 8);
}

/// Whether the operation sums over the index; else it looks up rows along it.
bool isContracted(IndexedOpInterface op, IndexId index) {
  std::optional<Factors> factors = factorsOf(op);
  return op.isSumOfProducts() || (factors && factors->chosen != index);
}

bool isTrained(func::FuncOp function, BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  return function.getArgAttr(number, paramAttrName) &&
         !function.getArgAttr(number, frozenAttrName) &&
         isa<FloatType>(getElementTypeOrSelf(argument.getType()));
}

/// FLOP of the scores, over the indices of queries and keys, and of the sums of
/// values. A causal mask halves both.
double attentionFlops(const IndexStructure &structure, bool isCausal) {
  auto work = [&](const IndexStructure::Tensor &a,
                  const IndexStructure::Tensor &b) {
    double product = 1;
    for (IndexId i = 0; i < structure.indices.size(); ++i)
      if (a.dimOf(i) || b.dimOf(i))
        product *= double(structure.indices[i].extent);
    return product;
  };
  return (isCausal ? 1 : 2) *
         (work(structure.operands[0], structure.operands[1]) +
          work(structure.operands[2], structure.results[0]));
}

/// For each index of the structure, one of its names in the program.
std::vector<StringRef> namesOf(IndexedOpInterface op,
                               const IndexStructure &structure) {
  std::vector<StringRef> result(structure.indices.size());
  for (auto [value, tensor] : llvm::zip(op->getOperands(), structure.operands))
    for (auto [name, index] :
         llvm::zip(indexNames(value.getType()), tensor.indices))
      result[index] = name;
  for (auto [value, tensor] : llvm::zip(op->getResults(), structure.results))
    for (auto [name, index] :
         llvm::zip(indexNames(value.getType()), tensor.indices))
      result[index] = name;
  return result;
}

/// Notes whether shards of the keys may go around a ring. Queries are divided
/// as the keys are.
bool noteRing(AttentionOpInterface attention, const NameClasses &names,
              ProgramFacts &facts) {
  ClassId keys = names[keyIndexOf(attention)];
  if (names[attention.getRowIndex()] != keys ||
      !unplacedRingObstacle(attention).empty())
    return false;
  facts.classes[keys].mayRing = true;
  facts.classes[keys].ringHasHalves |= attention.masksLaterKeys();
  return true;
}

class FactsOfFunction {
public:
  FactsOfFunction(func::FuncOp function, bool forGpu, NameClasses &names,
                  ProgramFacts &facts)
      : function(function), forGpu(forGpu), names(names), facts(facts) {}

  bool isParameter(Value value) {
    auto argument = dyn_cast<BlockArgument>(throughViews(value));
    return argument &&
           function.getArgAttr(argument.getArgNumber(), paramAttrName);
  }

  /// The first pass unites names.
  void uniteNames() {
    for (Value argument : function.getArguments())
      names.add(argument.getType());
    function.walk([&](IndexedOpInterface op) {
      for (Value result : op->getResults())
        names.add(result.getType());
      uniteNames(op);
    });
  }

  /// The second pass collects the work.
  void addOperations() {
    for (BlockArgument argument : function.getArguments())
      if (isTrained(function, argument))
        differentiable.insert(argument);
    function.walk([&](IndexedOpInterface op) { add(op); });
    for (auto &[value, sums] : entered)
      facts.add(Completion{{sums.begin(), sums.end()},
                           names(value.getType()),
                           tensorBytes(value.getType()),
                           /*isBackward=*/true,
                           /*hasGradient=*/true,
                           /*isReadAgain=*/!meetFrozen.contains(value)});
  }

  using Classes = llvm::SmallSetVector<ClassId, 4>;
  /// The members of TensorFacts.
  struct ParameterUses {
    Classes summed, contracted, lookedUp;

    void tell(TensorFacts &tensor) const {
      tensor.summed.assign(summed.begin(), summed.end());
      tensor.contracted.assign(contracted.begin(), contracted.end());
      tensor.lookedUp.assign(lookedUp.begin(), lookedUp.end());
    }
  };
  llvm::MapVector<Value, ParameterUses> uses;
  SharedHeads heads;

private:
  /// Dimensions of one index are divided alike, whatever their names.
  void uniteNames(IndexedOpInterface op) {
    IndexStructure structure = op.getIndexStructure();
    std::vector<StringRef> first(structure.indices.size());
    auto visit = [&](Value value, const IndexStructure::Tensor &tensor) {
      for (auto [name, index] :
           llvm::zip(indexNames(value.getType()), tensor.indices)) {
        if (first[index].empty())
          first[index] = name;
        names.unite(first[index], name);
        if (structure.indices[index].whole && isa<AttentionOpInterface>(*op))
          names.mixed.insert(name);
      }
    };
    for (auto [value, tensor] :
         llvm::zip(op->getOperands(), structure.operands))
      visit(value, tensor);
    for (auto [value, tensor] : llvm::zip(op->getResults(), structure.results))
      visit(value, tensor);
  }

  bool isDifferentiable(Value value) const {
    return differentiable.contains(value);
  }

  void add(IndexedOpInterface op) {
    if (!op.stopsGradient() && llvm::any_of(op->getOperands(), [&](Value v) {
          return isDifferentiable(v);
        }))
      for (Value result : op->getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
          differentiable.insert(result);
    noteLayers(op);
    IndexStructure structure = op.getIndexStructure();
    filled.note(op, structure);
    if (isa<AttentionOpInterface>(*op))
      addAttention(op, structure);
    else if (std::optional<Factors> factors = factorsOf(op))
      addProduct(op, *factors);
    followSums(op, structure);
  }

  /// Records whether the operation comes after layers: it was not inlined from
  /// a layer, and reads a result of layers or of operations after them.
  void noteLayers(IndexedOpInterface op) {
    bool isOfLayer = !callPlaceOf(op->getLoc()).calls.empty();
    bool isBehind = !isOfLayer && llvm::any_of(op->getOperands(), [&](Value v) {
      return fromLayers.contains(v);
    });
    if (isBehind)
      behindLayers.insert(op);
    if (isOfLayer || isBehind)
      fromLayers.insert_range(op->getResults());
  }

  ProductFacts::Dim dimOf(const IndexStructure &structure, IndexId index,
                          ArrayRef<StringRef> namesOf) const {
    return {names[namesOf[index]], structure.indices[index].extent};
  }

  /// `factor`: one of the factors. It has the element type.
  ProductFacts productOf(IndexedOpInterface op, Value factor) {
    ProductFacts product;
    Type element = getElementTypeOrSelf(factor.getType());
    product.dtype = plan::runtimeType(element);
    product.elementBytes = element.getIntOrFloatBitWidth() / 8;
    for (Value operand : op->getOperands())
      product.readsParameter |= isParameter(operand);
    product.isBehindLayers = behindLayers.contains(op);
    return product;
  }

  void addAttention(IndexedOpInterface op, const IndexStructure &structure) {
    ProductFacts product = productOf(op, op->getOperand(0));
    std::vector<StringRef> indexNames = namesOf(op, structure);
    for (IndexId i = 0; i < structure.indices.size(); ++i)
      if (!indexNames[i].empty())
        product.batch.push_back(dimOf(structure, i, indexNames));
    auto attention = cast<AttentionOpInterface>(*op);
    bool isCausal = attention.masksLaterKeys();
    product.flops = attentionFlops(structure, isCausal);
    if (AttentionMatch match = attention.matchHeads(); match.matches()) {
      AttentionWork work = attentionWork(attention, match.heads);
      // Only attention in one call skips keys outside the window.
      if (work.hidesEarlyKeys())
        product.flops = std::min(product.flops, work.flops());
      if (isLibraryCall(op, forGpu, "planner")) {
        product.inOneCall = work;
        product.mayRing = noteRing(attention, names, facts);
      }
    }
    heads.note(structure, llvm::map_to_vector(indexNames, [&](StringRef name) {
                 return names[name];
               }));
    product.isAttention = true;
    if (isDifferentiable(op->getResult(0)))
      product.adjoints = 2;
    facts.add(std::move(product));
    addWholeOperands(op, structure);
  }

  /// Also adds queries and results, which have the classes of keys' positions.
  void addWholeOperands(IndexedOpInterface op,
                        const IndexStructure &structure) {
    auto wholeOperand = [&](Value value, ClassId index) -> WholeOperand {
      return {index, names(value.getType()), tensorBytes(value.getType()),
              isDifferentiable(value)};
    };
    // Shards that hand on the keys of a window may send next to nothing.
    auto composite = dyn_cast<DecomposableOpInterface>(*op);
    bool mayHandOn = composite && composite.mayReadNeighbours();
    Classes all;
    for (auto [value, tensor] :
         llvm::zip(op->getOperands(), structure.operands)) {
      Classes whole;
      for (auto [name, index] :
           llvm::zip(indexNames(value.getType()), tensor.indices))
        if (structure.indices[index].whole)
          whole.insert(names[name]);
      for (ClassId id : whole)
        if (!mayHandOn)
          facts.add(wholeOperand(value, id));
      all.insert_range(whole);
    }
    const Value rows[] = {op->getOperand(0), op->getResult(0)};
    for (Value value : rows)
      for (ClassId id : names(value.getType()))
        if (all.contains(id))
          facts.addExchanged(wholeOperand(value, id));
  }

  void addProduct(IndexedOpInterface op, const Factors &factors) {
    const IndexStructure &structure = factors.structure;
    ProductFacts product = productOf(op, op->getOperand(factors.a));
    std::vector<StringRef> indexNames = namesOf(op, op.getIndexStructure());
    const auto &a = structure.operands[0], &b = structure.operands[1];
    for (IndexId i = 0; i < structure.indices.size(); ++i) {
      if (i == factors.chosen)
        continue;
      bool inA = a.dimOf(i).has_value(), inB = b.dimOf(i).has_value(),
           inC = structure.results[0].dimOf(i).has_value();
      auto &group = !inC         ? product.k
                    : inA && inB ? product.batch
                    : inA        ? product.m
                                 : product.n;
      group.push_back(dimOf(structure, i, indexNames));
      // An index of the weights, the activations and the result.
      if (inA && inB && inC && product.readsParameter)
        names.ownParameters.insert(indexNames[i]);
    }
    product.flops = 2 * factors.work();
    product.filled = std::min(filled.shareOf(op->getOperand(factors.a)),
                              filled.shareOf(op->getOperand(factors.b)));
    for (Value operand : op->getOperands())
      product.adjoints += isDifferentiable(operand);
    for (unsigned i : {0u, 1u})
      noteSums(op, factors, i, indexNames);
    facts.add(std::move(product));
  }

  /// Notes sums in gradients: the gradient of a parameter, or of its factor, is
  /// summed over the indices that the parameter, or the factor, lacks.
  void noteSums(IndexedOpInterface op, const Factors &factors, unsigned weight,
                ArrayRef<StringRef> indexNames) {
    const unsigned numbers[] = {factors.a, factors.b};
    Value own = op->getOperand(numbers[weight]);
    if (!isParameter(own))
      return;
    const IndexStructure &structure = factors.structure;
    const auto &mine = structure.operands[weight],
               &others = structure.operands[1 - weight];
    Value parameter = throughViews(own);
    Value other = throughViews(op->getOperand(numbers[1 - weight]));
    bool isEntered = isDifferentiable(other) && !isParameter(other);
    if (isEntered && !isDifferentiable(parameter))
      meetFrozen.insert(other);
    for (IndexId i = 0; i < structure.indices.size(); ++i) {
      ClassId id = names[indexNames[i]];
      bool isMine = mine.dimOf(i).has_value(),
           isOther = others.dimOf(i).has_value();
      if (isOther && !isMine)
        uses[parameter].summed.insert(id);
      if (isMine && !isOther && isEntered)
        entered[other].insert(id);
    }
  }

  /// Follows sums over parameters' indices to the values that still depend on
  /// them linearly.
  void followSums(IndexedOpInterface op, const IndexStructure &structure) {
    std::vector<StringRef> indexNames = namesOf(op, structure);
    llvm::SmallSetVector<ClassId, 4> sums;
    for (auto [value, tensor] :
         llvm::zip(op->getOperands(), structure.operands)) {
      Value shown = throughViews(value);
      if (isParameter(value))
        for (IndexId index : tensor.indices)
          if (llvm::none_of(structure.results, [&](const auto &result) {
                return result.dimOf(index).has_value();
              })) {
            ClassId id = names[indexNames[index]];
            sums.insert(id);
            ParameterUses &use = uses[shown];
            (isContracted(op, index) ? use.contracted : use.lookedUp)
                .insert(id);
          }
      if (op.getLinearity() != Linearity::None)
        sums.insert_range(pending[shown]);
      else
        complete(shown);
    }
    if (op.isView())
      return;
    for (Value result : op->getResults())
      pending[result] = sums;
  }

  void complete(Value value) {
    auto &sums = pending[value];
    if (sums.empty() || isParameter(value))
      return;
    facts.add(Completion{{sums.begin(), sums.end()},
                         names(value.getType()),
                         tensorBytes(value.getType()),
                         /*isBackward=*/false,
                         isDifferentiable(value)});
    sums.clear();
  }

  func::FuncOp function;
  const bool forGpu;
  NameClasses &names;
  ProgramFacts &facts;
  llvm::DenseSet<Value> differentiable;
  /// Results of layers and of operations after them.
  llvm::DenseSet<Value> fromLayers;
  llvm::DenseSet<Operation *> behindLayers;
  FilledRows filled;
  llvm::DenseMap<Value, llvm::SmallSetVector<ClassId, 4>> pending;
  /// By the factor of a parameter: the parameter's indices over which the
  /// factor's gradient is summed.
  llvm::MapVector<Value, llvm::SmallSetVector<ClassId, 4>> entered;
  /// Factors of parameters that are not trained.
  llvm::DenseSet<Value> meetFrozen;
};

} // namespace

static std::vector<WrittenAxis> writtenMesh(ModuleOp module) {
  std::vector<WrittenAxis> axes;
  if (MeshOp mesh = findMesh(module))
    for (auto [name, size, role] : llvm::zip_equal(
             mesh.getAxisNames().getAsRange<StringAttr>(), mesh.getAxisSizes(),
             mesh.getAxisRoles().getAsRange<StringAttr>()))
      axes.push_back({name.getValue().str(), size,
                      findNamed<AxisRole>(std::string_view(role.getValue()))
                          .value_or(AxisRole::None)});
  return axes;
}

llvm::Expected<ProgramFacts> tpsp::programFacts(ModuleOp module,
                                                func::FuncOp program,
                                                bool forGpu,
                                                ArrayRef<std::string> pad) {
  OwningOpRef<ModuleOp> inlined = module.clone();
  // Chunk 0 is set so that written stages do not hide layers.
  inlined->lookupSymbol<func::FuncOp>(program.getSymName())
      ->setAttr(stageChunkAttrName,
                Builder(module.getContext()).getI64IntegerAttr(0));
  PassManager pm(module.getContext());
  CompileOptions options;
  options.pad.assign(pad.begin(), pad.end());
  buildProgramPipeline(pm, options);
  if (failed(pm.run(*inlined)))
    return llvm::createStringError("the program cannot be planned");
  ProgramFacts facts;
  facts.program = program.getSymName().str();
  facts.mesh = writtenMesh(module);
  facts.layers = int64_t(layersOf(program).size());
  SmallVector<LayerRun> runs = layerRuns(program, /*shortest=*/1);
  facts.areLayersAlike =
      runs.size() == 1 && int64_t(runs.front().size()) == facts.layers;
  NameClasses names(*inlined);
  auto whole = inlined->lookupSymbol<func::FuncOp>(facts.program);
  FactsOfFunction reader(whole, forGpu, names, facts);
  reader.uniteNames();
  facts.classes = names.take();
  reader.addOperations();
  for (StringRef name : names.ownParameters)
    facts.classes[names[name]].hasOwnParameters = true;
  SourceNames sources;
  for (const HandedTensor &handed : handedTensors(module, program)) {
    facts.tensors.push_back(
        tensorFacts(handed, program, *inlined, names, sources));
    for (unsigned number : argumentsOf(handed, program))
      if (auto found = reader.uses.find(whole.getArgument(number));
          found != reader.uses.end())
        found->second.tell(facts.tensors.back());
  }
  findActivationClasses(facts);
  facts.attentionTensors =
      attentionFacts(attentionTensors(module), *inlined, names);
  facts.headClasses = reader.heads.without(facts.activationClasses);
  for (const KeptScores &each : keptScores(whole, forGpu))
    facts.keptScores.push_back(each.line() + "attention " + each.text());
  return facts;
}
