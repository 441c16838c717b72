#include "tpsp/Passes/Explain/LineFacts.h"
#include "tpsp/Abi/NamePattern.h"

#include "EquationText.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/AdjointMark.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Program/CallPlace.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

/// Adds a fact, or counts it if it is known.
template <typename Fact>
static void addTo(std::vector<Fact> &facts, Fact fact) {
  for (Fact &known : facts)
    if (known.isAlike(fact)) {
      known.times += fact.times;
      return;
    }
  facts.push_back(std::move(fact));
}

/// The value after the collectives that move it where it is made. They have its
/// operation's location.
static Value whereItLies(Value value) {
  Location loc = value.getLoc();
  while (true) {
    Value moved;
    for (Operation *user : value.getUsers())
      if (isa<CollectiveOpInterface>(user) && user->getNumOperands() == 1 &&
          user->getLoc() == loc)
        moved = user->getResult(0);
    if (!moved)
      return value;
    value = moved;
  }
}

static TensorFact factOf(std::string name, Value value, const Mesh &mesh) {
  RankedTensorType type = typeOf(value);
  TensorFact fact;
  fact.name = std::move(name);
  fact.subscripts = subscripts(type);
  llvm::raw_string_ostream(fact.element) << type.getElementType();
  fact.extents.assign(type.getShape().begin(), type.getShape().end());
  fact.localBytes = localBytes(type, mesh);
  return fact;
}

/// A name that values of all layers have: "xn", "g[xn]", "layers.#.wq", or ""
/// for a value that has no name in the source.
static std::string nameInEveryLayer(Value value) {
  std::optional<std::string> found = nameInCallee(locationOf(value));
  std::optional<AdjointMark> mark = adjointMark(value.getLoc());
  if (!found && mark && !mark->resultInCallee.empty())
    return "g[" + mark->resultInCallee.str() + "]";
  StringRef name = found ? StringRef(*found) : StringRef();
  bool isGradient = name.consume_front("g[") && name.consume_back("]");
  for (StringRef call : callNamesOf(value.getLoc()))
    if (name.starts_with((call + ".").str()))
      name = name.drop_front(call.size() + 1);
  std::string plain = patternOf(name.str());
  return isGradient ? "g[" + plain + "]" : plain;
}

namespace {

class FactFinder {
public:
  explicit FactFinder(ModuleOp module) : mesh(meshOf(module)) {}

  void visit(Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          addTensor(argument);
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      return addCollective(collective);
    if (adjointMark(op->getLoc()))
      return;
    for (OpResult result : op->getResults())
      addTensor(result);
  }

  LineFacts facts;

private:
  void addTensor(Value value) {
    auto places = writtenPlaces(value.getLoc());
    std::optional<std::string> name = nameInCallee(locationOf(value));
    // Parts of an operation, such as "o.softmax", are not in the text.
    if (places.empty() || !name || name->find('.') != std::string::npos ||
        !getIdx(value))
      return;
    addTo(facts[places.front().getLine()].tensors,
          factOf(*name, whereItLies(value), mesh));
  }

  void addCollective(CollectiveOpInterface op) {
    CollectiveFact fact;
    fact.row = ledgerOf(op, mesh);
    fact.tensor = nameInEveryLayer(namedValue(op->getOperand(0)));
    fact.from = subscripts(op->getOperand(0).getType());
    fact.to = subscripts(op->getResult(0).getType());
    fact.times = fact.row.times;
    llvm::SmallDenseSet<unsigned> lines;
    for (FileLineColLoc place : writtenPlaces(op->getLoc()))
      if (lines.insert(place.getLine()).second)
        addTo(facts[place.getLine()].collectives, fact);
  }

  Mesh mesh;
};

} // namespace

LineFacts tpsp::lineFactsOf(ModuleOp module) {
  FactFinder finder(module);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { finder.visit(op); });
  return std::move(finder.facts);
}
