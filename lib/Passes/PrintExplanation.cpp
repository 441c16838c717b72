// tpsp-print-explanation: a program in sharded einsum notation, with the
// collective ledger.
#include "tpsp/Passes/FunctionWalk.h"
#include "tpsp/Passes/Ledger.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/SavedActivations.h"
#include "tpsp/Passes/SourceName.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace tpsp {
#define GEN_PASS_DEF_PRINTEXPLANATION
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// A collective on one tensor.
bool isSingle(Operation *op) {
  return isa_and_nonnull<CollectiveOpInterface>(op) &&
         op->getNumOperands() == 1;
}

/// The value that collectives on one tensor made `value` of.
Value sourceOf(Value value) {
  while (isSingle(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Which equation each collective stands under: the one whose result it moves,
/// if it was inserted for it (it then has its location), else the first that
/// uses what it makes. What is only returned has none.
class Owners {
public:
  explicit Owners(Block &block) {
    for (Operation &op : block)
      if (isSingle(&op) && isOfResult(&op))
        add(&op, sourceOf(op.getOperand(0)).getDefiningOp());
    for (Operation &op : block.without_terminator())
      if (!isa<CollectiveOpInterface>(op))
        for (Value operand : op.getOperands())
          claim(operand, &op);
  }

  bool hasOwner(Operation *collective) const { return owner.count(collective); }
  ArrayRef<Operation *> ownedBy(Operation *equation) const {
    auto it = owned.find(equation);
    return it == owned.end() ? ArrayRef<Operation *>() : it->second;
  }

  /// An operand as it is before the collectives of its user.
  Value before(Value operand) const {
    while (isSingle(operand.getDefiningOp()) &&
           !isOfResult(operand.getDefiningOp()))
      operand = operand.getDefiningOp()->getOperand(0);
    return operand;
  }
  /// A result as it is after its own collectives.
  Value after(Value result) const {
    for (Operation *collective : ownedBy(result.getDefiningOp()))
      if (collective->getOperand(0) == result && isOfResult(collective))
        result = collective->getResult(0);
    return result;
  }

private:
  static bool isOfResult(Operation *collective) {
    Operation *source = sourceOf(collective->getOperand(0)).getDefiningOp();
    return source && source->getLoc() == collective->getLoc();
  }

  void add(Operation *collective, Operation *equation) {
    if (owner.try_emplace(collective, equation).second)
      owned[equation].push_back(collective);
  }

  /// The collectives that make `operand`, in the order in which they run.
  void claim(Value operand, Operation *user) {
    SmallVector<Operation *> chain;
    for (; isSingle(operand.getDefiningOp());
         operand = operand.getDefiningOp()->getOperand(0))
      chain.push_back(operand.getDefiningOp());
    for (Operation *collective : llvm::reverse(chain))
      add(collective, user);
  }

  llvm::DenseMap<Operation *, Operation *> owner;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> owned;
};

class Explanation {
public:
  Explanation(FunctionOpInterface function, llvm::raw_ostream &out)
      : mesh(meshOf(function)), owners(function.getFunctionBody().front()),
        out(out), function(function) {}

  void print() {
    printHeading();
    std::string phase;
    for (Operation &op :
         function.getFunctionBody().front().without_terminator()) {
      if (owners.hasOwner(&op))
        continue;
      std::string here = phaseOf(&op);
      if (here != phase)
        out << "\n" << here << "\n";
      phase = here;
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        printCollective(collective);
      else if (op.getNumResults() == 1 && getIdx(op.getResult(0)))
        printEquation(&op);
    }
    printTotals();
    printSaved();
  }

private:
  static std::string phaseOf(Operation *op) {
    std::string phase = op->hasAttr(backwardAttrName) ? "backward" : "forward";
    if (auto part = op->getAttrOfType<IntegerAttr>(partAttrName))
      phase += ", micro-batch " + std::to_string(part.getInt());
    return phase;
  }

  void printHeading() {
    out << function.getName() << " on ";
    llvm::ListSeparator comma;
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
      out << comma << mesh.axis(axis).name << "=" << mesh.size(axis);
    if (mesh.numAxes() == 0)
      out << "one rank";
    out << "\n";
  }

  /// "xn", or a number for what has no name in the source.
  std::string nameOf(Value value) {
    if (auto *op = value.getDefiningOp(); op && isa<CollectiveOpInterface>(op))
      return nameOf(op->getOperand(cast<OpResult>(value).getResultNumber()));
    if (isa<BlockArgument>(value) || sourceName(value.getLoc()))
      return tensorName(value);
    auto [entry, isNew] = numbers.try_emplace(value, numbers.size());
    return "t" + std::to_string(entry->second);
  }

  /// "xn[b, s@tp, d]"
  std::string indexed(Value value) {
    return nameOf(value) + "[" + subscripts(value.getType()) + "]";
  }

  /// "rate=0.1", "causal": the operation's own attributes.
  static std::vector<std::string> attributesOf(Operation *op) {
    std::vector<std::string> texts;
    for (NamedAttribute attr : op->getAttrs()) {
      // Marks for passes: tpsp.backward and the like.
      if (attr.getNameDialect())
        continue;
      std::string text = attr.getName().getValue().str();
      llvm::raw_string_ostream stream(text);
      if (auto string = dyn_cast<StringAttr>(attr.getValue()))
        stream << "=" << string.getValue();
      else if (auto number = dyn_cast<FloatAttr>(attr.getValue()))
        stream << "=" << llvm::format("%.4g", number.getValueAsDouble());
      else if (auto integer = dyn_cast<IntegerAttr>(attr.getValue()))
        stream << "=" << integer.getInt();
      else if (!isa<UnitAttr>(attr.getValue()))
        stream << "=" << attr.getValue();
      texts.push_back(std::move(text));
    }
    return texts;
  }

  /// The equation over the tensors as they lie, and under it what moves.
  void printEquation(Operation *op) {
    auto indexedOp = dyn_cast<IndexedOpInterface>(op);
    std::vector<std::string> operands;
    for (Value operand : op->getOperands())
      operands.push_back(indexed(owners.before(operand)));
    out << "  " << indexed(owners.after(op->getResult(0))) << " = ";
    if (indexedOp && indexedOp.isSumOfProducts())
      out << llvm::join(operands, " · ");
    else if (indexedOp && indexedOp.isSumOfOperands())
      out << llvm::join(operands, " + ");
    else {
      llvm::append_range(operands, attributesOf(op));
      out << op->getName().stripDialect() << "(" << llvm::join(operands, ", ")
          << ")";
    }
    out << (op->hasAttr(recomputedAttrName) ? "  (recomputed)\n" : "\n");
    if (auto note = op->getAttrOfType<StringAttr>(noteAttrName))
      out << "    * " << note.getValue() << "\n";
    for (Operation *collective : owners.ownedBy(op))
      printCollective(cast<CollectiveOpInterface>(collective));
    for (Value operand :
         llvm::SetVector<Value>(op->operand_begin(), op->operand_end()))
      if (operand != owners.before(operand) &&
          !llvm::is_contained(owners.ownedBy(op), operand.getDefiningOp()))
        out << "      " << indexed(operand) << " is there already\n";
  }

  void printCollective(CollectiveOpInterface op) {
    DictionaryAttr row = ledgerOf(op, mesh);
    StringRef kind = op->getName().stripDialect();
    int64_t bytes = row.getAs<IntegerAttr>("bytes").getInt();
    StringRef index = row.getAs<StringAttr>("index").getValue();
    StringRef reason = row.getAs<StringAttr>("reason").getValue();
    std::string axes = llvm::join(
        llvm::map_range(row.getAs<ArrayAttr>("axes").getAsRange<StringAttr>(),
                        [](StringAttr axis) { return axis.getValue(); }),
        ",");
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults()))
      out << "    > " << kind << " " << indexed(operand) << " -> ["
          << subscripts(result.getType()) << "]\n";
    out << "      over " << axes;
    if (!index.empty())
      out << " along " << index;
    out << ", " << formatBytes(bytes) << " per rank: " << reason
        << place(op->getLoc()) << "\n";
    StringRef phase = row.getAs<StringAttr>("phase").getValue();
    remark::analysis(op->getLoc(), remark::RemarkOpts::name(kind).category(
                                       "tpsp-print-explanation"))
        << remark::reason("{0}", reason) << remark::metric("axes", axes)
        << remark::metric("index", index) << remark::metric("phase", phase)
        << remark::metric("bytes", bytes)
        << remark::metric("tensor", row.getAs<StringAttr>("tensor").getValue());
    bool backward = phase == "backward";
    for (Total *total : {&totals[{backward, kind.str(), axes}],
                         &totalsOfAxes[{backward, axes}]}) {
      ++total->count;
      total->bytes += bytes;
    }
  }

  /// " (model.mlir:17)"; of a bucket, the lines of all its tensors.
  static std::string place(Location loc) {
    SmallVector<FileLineColLoc> places;
    collectPlaces(loc, places);
    llvm::SmallSetVector<unsigned, 4> lines;
    for (FileLineColLoc place : places)
      lines.insert(place.getLine());
    std::string text;
    for (unsigned line : lines)
      text += (text.empty() ? ":" : ", ") + std::to_string(line);
    return lines.empty()
               ? ""
               : " (" + places.front().getFilename().str() + text + ")";
  }

  /// Of an inlined operation, where it is written and not where it is called.
  static void collectPlaces(Location loc,
                            SmallVectorImpl<FileLineColLoc> &places) {
    if (auto call = dyn_cast<CallSiteLoc>(loc))
      return collectPlaces(call.getCallee(), places);
    if (auto named = dyn_cast<NameLoc>(loc))
      return collectPlaces(named.getChildLoc(), places);
    if (auto fused = dyn_cast<FusedLoc>(loc))
      for (Location part : fused.getLocations())
        collectPlaces(part, places);
    if (auto place = dyn_cast<FileLineColLoc>(loc))
      places.push_back(place);
  }

  static StringRef phaseName(bool backward) {
    return backward ? "backward" : "forward";
  }

  void printTotals() {
    out << "\ntotals (bytes sent per rank)\n";
    if (totals.empty())
      out << "  no collectives\n";
    for (const auto &[key, total] : totals)
      out << llvm::formatv("  {0,-9} {1,-15} over {2,-8} x{3,-4} {4,12}\n",
                           phaseName(std::get<0>(key)), std::get<1>(key),
                           std::get<2>(key), total.count,
                           formatBytes(total.bytes));
    for (const auto &[key, total] : totalsOfAxes)
      out << llvm::formatv("  {0,-9} {1,-15} over {2,-8} x{3,-4} {4,12}\n",
                           phaseName(key.first), "of every kind", key.second,
                           total.count, formatBytes(total.bytes));
  }

  /// "xn[b, s@tp, d]", whichever call of its function made it, and
  /// "softmax[..]" for what has no name: what is alike in many layers is one
  /// row.
  static std::string described(Value value) {
    Value moved = value;
    auto *op = moved.getDefiningOp();
    for (; op && isa<CollectiveOpInterface>(op); op = moved.getDefiningOp())
      moved = op->getOperand(cast<OpResult>(moved).getResultNumber());
    return nameInFunction(moved) + "[" + subscripts(value.getType()) + "]";
  }

  static std::string nameInFunction(Value value) {
    Location loc = value.getLoc();
    while (auto call = dyn_cast<CallSiteLoc>(loc))
      loc = call.getCallee();
    std::optional<std::string> name = sourceName(loc);
    return name && !isa<BlockArgument>(value) ? *name : tensorName(value);
  }

  void printSaved() {
    auto text = [&](const Twine &name) {
      return StringAttr::get(function->getContext(), name);
    };
    llvm::MapVector<StringAttr, Total> rows;
    Total sum;
    for (const SavedActivation &tensor : savedActivations(function, mesh))
      for (Total *total : {&rows[text(described(tensor.value))], &sum})
        total->add(tensor.bytes);
    if (rows.empty())
      return;
    rows[text("total")] = sum;
    size_t width = 0;
    for (const auto &[name, total] : rows)
      width = std::max(width, name.size());
    out << "\nsaved for the backward pass (bytes per rank)\n";
    for (const auto &[name, total] : rows)
      out << "  " << llvm::left_justify(name.getValue(), width)
          << llvm::formatv(" x{0,-4} {1,12}\n", total.count,
                           formatBytes(total.bytes));
  }

  struct Total {
    int count = 0;
    int64_t bytes = 0;

    void add(int64_t more) {
      ++count;
      bytes += more;
    }
  };

  Mesh mesh;
  Owners owners;
  llvm::raw_ostream &out;
  FunctionOpInterface function;
  llvm::DenseMap<Value, unsigned> numbers;
  /// By phase (forward first), kind and axes.
  std::map<std::tuple<bool, std::string, std::string>, Total> totals;
  std::map<std::pair<bool, std::string>, Total> totalsOfAxes;
};

struct PrintExplanation
    : public tpsp::impl::PrintExplanationBase<PrintExplanation> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool first = true;
    auto visit = [&](FunctionOpInterface function) {
      if (!first)
        llvm::outs() << "\n";
      first = false;
      Explanation(function, llvm::outs()).print();
      return success();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
