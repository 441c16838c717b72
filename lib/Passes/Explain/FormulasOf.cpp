#include "Formulas.h"

#include "LayerCounts.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/IndexFamilies.h"
#include "Passes/Program/SavedActivations.h"
#include "tpsp/Algebra/MatmulForm.h"
#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Writes extents and sizes as formulas.
class Symbols {
public:
  Symbols(FunctionOpInterface function, const Mesh &mesh)
      : mesh(mesh), families(function->getParentOfType<ModuleOp>()) {
    for (StringRef name : families.names())
      firstOfFamily.try_emplace(families.familyOf(name), name);
    for (Operation &op : function.getFunctionBody().front())
      if (auto indexed = dyn_cast<IndexedOpInterface>(op))
        addProducts(indexed);
  }

  /// The extent of an index in a tensor in which it is `extent`.
  Formula extentOf(StringRef name, int64_t extent) {
    auto product = products.find(name);
    if (product != products.end()) {
      Formula all = 1;
      for (const auto &[part, size] : product->second)
        all = all * extentOf(part, size);
      return all;
    }
    if (!families.knows(name) ||
        families.extentsOf(families.familyOf(name)).size() > 1)
      return extent;
    StringRef symbol = firstOfFamily.lookup(families.familyOf(name));
    used[symbol.str()] = extent;
    return Formula::power(symbol.str());
  }

  /// "tp", or "@tp" if an index has that name.
  std::string nameOf(AxisId axis) const {
    const std::string &name = mesh.axis(axis).name;
    return families.knows(name) ? "@" + name : name;
  }
  bool isTaken(StringRef name) const {
    return families.knows(name) || mesh.find(name);
  }

  Formula dividedBy(ArrayRef<AxisId> axes) const {
    Formula share = 1;
    for (AxisId axis : axes)
      share = share * Formula::power(nameOf(axis), -1);
    return share;
  }

  /// Bytes of one rank's part.
  Formula bytesOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    Placement placement = placementOf(type, mesh);
    Formula bytes = int64_t(tensor.getElementTypeBitWidth() / 8);
    for (auto [dim, name] : llvm::enumerate(indexNames(type)))
      bytes = bytes * extentOf(name, tensor.getDimSize(dim)) *
              dividedBy(placement.dims[dim]);
    return bytes;
  }

  /// The indices that formulas use, in the program's order.
  std::vector<ProgramFormulas::Name> indices() const {
    std::vector<ProgramFormulas::Name> names;
    for (StringRef name : families.names())
      if (auto found = used.find(name.str()); found != used.end())
        names.push_back({found->first, found->second, ""});
    return names;
  }

  /// "t = s", "q = g r k"
  std::vector<std::string> others() const {
    std::vector<std::string> texts;
    for (StringRef name : families.names()) {
      StringRef first = firstOfFamily.lookup(families.familyOf(name));
      auto product = products.find(name);
      if (product != products.end()) {
        std::vector<std::string> parts;
        for (const auto &[part, size] : product->second)
          parts.push_back(part);
        texts.push_back(name.str() + " = " + llvm::join(parts, " "));
      } else if (first != name && used.count(first.str())) {
        texts.push_back((name + " = " + first).str());
      }
    }
    return texts;
  }

private:
  using Parts = std::vector<std::pair<std::string, int64_t>>;

  /// Records dimensions that an operation splits or merges.
  void addProducts(IndexedOpInterface op) {
    IndexStructure structure = op.getIndexStructure();
    auto addAll = [&](ArrayRef<IndexStructure::Tensor> tensors,
                      ValueRange values) {
      for (auto [tensor, value] : llvm::zip_equal(tensors, values))
        for (auto [dim, name] : llvm::enumerate(indexNames(value.getType())))
          addProduct(structure, tensor.parts(dim), name);
    };
    addAll(structure.operands, op->getOperands());
    addAll(structure.results, op->getResults());
  }

  void addProduct(const IndexStructure &structure, ArrayRef<IndexId> parts,
                  StringRef name) {
    if (parts.size() < 2 || products.contains(name))
      return;
    Parts all;
    for (IndexId part : parts) {
      const IndexStructure::Index &index = structure.indices[part];
      if (!families.knows(index.name) || isMadeOf(index.name, name))
        return;
      all.push_back({index.name, index.extent});
    }
    products[name] = std::move(all);
  }

  /// Whether `part` contains `name`.
  bool isMadeOf(StringRef part, StringRef name) const {
    if (part == name)
      return true;
    auto product = products.find(part);
    return product != products.end() &&
           llvm::any_of(product->second, [&](const auto &each) {
             return isMadeOf(each.first, name);
           });
  }

  const Mesh &mesh;
  IndexFamilies families;
  llvm::DenseMap<StringRef, StringRef> firstOfFamily;
  llvm::StringMap<Parts> products;
  std::map<std::string, int64_t> used;
};

/// Adds up equal work, then states how often it occurs in layers.
class Tally {
public:
  explicit Tally(LayerCounts &layers) : layers(layers) {}

  void add(const std::string &row, LayerCounts::Place place,
           const Formula &amount, double value) {
    Entry &entry = entries[{rowOf(row), place, amount.text({})}];
    entry.amount = amount;
    ++entry.count;
    rows[rowOf(row)].measured += value;
    ++rows[rowOf(row)].counted;
  }

  std::vector<FormulaRow> finish() {
    for (const auto &[key, entry] : entries) {
      FormulaRow &row = rows[std::get<0>(key)];
      Formula count = layers.countOf(entry.count, std::get<1>(key));
      row.count += count;
      row.amount += count * entry.amount;
    }
    return std::move(rows);
  }

private:
  struct Entry {
    Formula amount;
    int64_t count = 0;
  };

  /// Rows are in the order of their first occurrence.
  size_t rowOf(const std::string &what) {
    auto [place, isNew] = numbers.try_emplace(what, rows.size());
    if (isNew)
      rows.push_back({what, {}, {}});
    return place->second;
  }

  LayerCounts &layers;
  std::map<std::string, size_t> numbers;
  std::vector<FormulaRow> rows;
  std::map<std::tuple<size_t, LayerCounts::Place, std::string>, Entry> entries;
};

class Reader {
public:
  Reader(FunctionOpInterface function, const Mesh &mesh)
      : function(function), mesh(mesh), symbols(function, mesh),
        layers(function,
               [this](StringRef name) { return symbols.isTaken(name); }) {}

  ProgramFormulas read() {
    Tally collectives(layers), products(layers), memory(layers);
    for (Operation &op : function.getFunctionBody().front()) {
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        addCollective(collective, collectives);
      else if (auto indexed = dyn_cast<IndexedOpInterface>(op))
        addProduct(indexed, products);
    }
    addArguments(memory);
    addGradients(memory);
    for (const SavedActivation &saved : savedActivations(function, mesh))
      memory.add("saved for the backward pass", placeOf(saved.value),
                 symbols.bytesOf(saved.value.getType()), double(saved.bytes));
    ProgramFormulas result;
    result.collectives = collectives.finish();
    result.products = products.finish();
    result.memory = memory.finish();
    nameAll(result);
    return result;
  }

private:
  LayerCounts::Place placeOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? layers.placeOf(argument)
                    : layers.placeOf(value.getDefiningOp());
  }

  void addCollective(CollectiveOpInterface op, Tally &tally) {
    LedgerRow row = ledgerOf(op, mesh);
    CollectiveStep step = stepOf(op, mesh);
    if (step.kind == CollectiveKind::Slice)
      return;
    std::vector<std::string> axes;
    for (AxisId axis : step.axes)
      axes.push_back(symbols.nameOf(axis));
    // In a ring of two, half of twice the bytes is sent. A permute sends them
    // all.
    Formula share = step.kind == CollectiveKind::Permute
                        ? Formula(1)
                        : Formula(bytesSent(step.kind, 2, 2)) *
                              Formula::lessOne(axes) *
                              symbols.dividedBy(step.axes);
    Formula bytes;
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults())) {
      bool isLarger = localBytes(operand.getType(), mesh) >
                      localBytes(result.getType(), mesh);
      bytes += symbols.bytesOf((isLarger ? operand : result).getType());
    }
    tally.add(llvm::formatv("{0,-9} {1,-15} over {2}", nameOf(row.phase),
                            nameOf(row.kind), llvm::join(row.axes, ",")),
              layers.placeOf(op), bytes * share, double(row.bytes));
  }

  static bool isNoMatrixProduct(IndexedOpInterface op, const Factors &factors) {
    MatmulObstacle obstacle =
        factors.chosen
            ? matchGroupedMatmul(op.getIndexStructure(), *factors.chosen)
                  .obstacle
            : matchMatmul(factors.structure).obstacle;
    return obstacle == MatmulObstacle::NotAProduct;
  }

  void addProduct(IndexedOpInterface op, Tally &tally) {
    std::optional<Factors> factors = factorsOf(op);
    if (!factors || isNoMatrixProduct(op, *factors))
      return;
    const IndexStructure &structure = factors->structure;
    Formula flops = 2;
    double value = 2;
    for (auto [id, index] : llvm::enumerate(structure.indices)) {
      if (id == factors->chosen)
        continue;
      AxisList axes = axesOn(op, *factors, id);
      flops = flops * symbols.extentOf(index.name, index.extent) *
              symbols.dividedBy(axes);
      value *= double(index.extent) / double(mesh.groupSize(axes));
    }
    tally.add(nameOf(phaseOf(op)), layers.placeOf(op), flops, value);
  }

  /// The axes that divide an index in the first tensor that has it.
  AxisList axesOn(IndexedOpInterface op, const Factors &factors,
                  IndexId index) const {
    Value values[] = {op->getOperand(factors.a), op->getOperand(factors.b)};
    for (auto [tensor, value] :
         llvm::zip_equal(factors.structure.operands, values))
      if (std::optional<unsigned> dim = tensor.dimOf(index))
        return placementOf(value.getType(), mesh).dims[*dim];
    return {};
  }

  const char *rowOf(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    if (function.getArgAttr(number, masterAttrName))
      return "master";
    if (function.getArgAttr(number, stateAttrName))
      return "optimizer's state";
    return isParameter(argument) ? "parameters" : "inputs";
  }

  void addArguments(Tally &tally) {
    for (BlockArgument argument : function.getArguments())
      if (getIdx(argument) &&
          !function.getArgAttr(argument.getArgNumber(), scalarAttrName))
        tally.add(rowOf(argument), layers.placeOf(argument),
                  symbols.bytesOf(argument.getType()),
                  double(localBytes(argument.getType(), mesh)));
  }

  void addGradients(Tally &tally) {
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto of = function.getResultAttrOfType<IntegerAttr>(i, gradientAttrName);
      if (!of)
        continue;
      BlockArgument argument = function.getArgument(of.getInt());
      Type type = function.getResultTypes()[i];
      tally.add(isParameter(argument) ? "gradients" : "inputs' gradients",
                layers.placeOf(argument), symbols.bytesOf(type),
                double(localBytes(type, mesh)));
    }
  }

  void nameAll(ProgramFormulas &result) const {
    result.names = symbols.indices();
    for (const LayerCounts::Layers &each : layers.all()) {
      std::string note = each.firstCall.empty() || each.lastCall.empty()
                             ? ""
                             : each.firstCall + " to " + each.lastCall;
      result.names.push_back({each.name, int64_t(each.calls.size()), note});
    }
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
      result.names.push_back({symbols.nameOf(axis), mesh.size(axis), ""});
    result.others = symbols.others();
  }

  FunctionOpInterface function;
  const Mesh &mesh;
  Symbols symbols;
  LayerCounts layers;
};

} // namespace

ProgramFormulas tpsp::formulasOf(FunctionOpInterface function,
                                 const Mesh &mesh) {
  return Reader(function, mesh).read();
}
