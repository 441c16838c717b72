#include "Ambiguity.h"

#include "Passes/Program/Placed.h"
#include "tpsp/Algebra/Ways.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

namespace {

std::string axisName(const OpenQuestion &question) {
  return "@" + question.placed.mesh.axis(question.axis).name;
}

const std::string &indexName(const OpenQuestion &question, IndexId index) {
  return question.placed.structure.indices[index].name;
}

/// "e@tp"
std::string subscript(const OpenQuestion &question, IndexId index) {
  return indexName(question, index) + axisName(question);
}

/// Whether roles distinguish some of these operands from the others.
bool rolesTellApart(const OpenQuestion &question, ArrayRef<unsigned> operands) {
  unsigned parameters = llvm::count_if(operands, [&](unsigned operand) {
    return isWeight(question.op->getOperand(operand));
  });
  return parameters > 0 && parameters < operands.size();
}

/// "; write ... or give the axis a role ..."
void addAdvice(InFlightDiagnostic &diag, const OpenQuestion &question,
               bool roleHelps) {
  const MeshAxis &axis = question.placed.mesh.axis(question.axis);
  diag << "write the result's subscripts";
  if (roleHelps)
    diag << " or give the axis a role (tpsp.mesh <" << axis.name << " = "
         << axis.size << " : model> or : data)";
}

void addWay(InFlightDiagnostic &diag, const OpenQuestion &question,
            const Twine &text, const Way &way, StringRef role) {
  Diagnostic &note = diag.attachNote(question.op->getLoc());
  note << "with " << text << ": " << formatBytes(way.bytes) << " per rank";
  if (!role.empty())
    note << "; ': " << role << "' chooses this";
}

/// The operands that the axis shards.
SmallVector<unsigned> shardedOperands(const OpenQuestion &question) {
  SmallVector<unsigned> found;
  for (auto [i, placement] : llvm::enumerate(question.placed.operands))
    if (placement.dimOf(question.axis))
      found.push_back(i);
  return found;
}

/// "w", "wq", "W1", "up_weight"
bool isNameOfWeight(StringRef name) {
  return name.starts_with_insensitive("w") ||
         name.contains_insensitive("weight");
}

/// The argument's tpsp.name, else its source name without the '%'.
std::string nameOf(BlockArgument argument) {
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  std::string source = nameInSource(argument);
  bool isNamed = static_cast<bool>(
      function.getArgAttr(argument.getArgNumber(), nameAttrName));
  return isNamed || source.empty() ? tensorName(argument) : source.substr(1);
}

/// Whether an argument that is not marked as a parameter has the shape and name
/// of a weight. The name is that of the source (%w) or its tpsp.name.
bool looksLikeWeight(BlockArgument argument) {
  auto tensor = dyn_cast<RankedTensorType>(argument.getType());
  return tensor && tensor.getRank() >= 2 && !isParameter(argument) &&
         (isNameOfWeight(StringRef(nameInSource(argument)).ltrim('%')) ||
          isNameOfWeight(nameOf(argument)));
}

/// Names the arguments that no role can tell from activations, because they are
/// not marked as parameters.
void addUnmarked(InFlightDiagnostic &diag, const OpenQuestion &question) {
  llvm::SmallSetVector<Value, 2> unmarked; // arguments
  for (unsigned operand : shardedOperands(question))
    if (BlockArgument argument =
            argumentBehind(question.op->getOperand(operand));
        argument && looksLikeWeight(argument))
      unmarked.insert(argument);
  for (Value argument : unmarked) {
    std::string source = nameInSource(argument);
    std::string name = nameOf(cast<BlockArgument>(argument));
    diag.attachNote(argument.getLoc())
        << "argument " << (source.empty() ? name : source)
        << " is named like a weight but is not marked as a parameter, so axis "
           "roles take it for an activation; if it is one, mark it "
           "{tpsp.param = \""
        << name << "\"}";
  }
}

} // namespace

LogicalResult Disagreement::refuse() const {
  auto operands =
      llvm::map_to_vector(claims, [](auto &claim) { return claim.first; });
  bool roleHelps = rolesTellApart(question, operands);
  InFlightDiagnostic diag = question.op->emitOpError();
  diag << "axis " << axisName(question)
       << " is on different indices of its operands and the result is not "
          "placed; ";
  addAdvice(diag, question, roleHelps);
  for (const Way &way : waysAlong(question.placed, question.axis))
    for (auto [operand, index] : claims) {
      if (!(way.drive == Drive{Drive::Index, index}))
        continue;
      bool parameter = isWeight(question.op->getOperand(operand));
      addWay(diag, question,
             "the result on " + subscript(question, index) + ", as " +
                 operandName(question.op, operand) + " has it",
             way,
             !roleHelps  ? ""
             : parameter ? "model"
                         : "data");
    }
  addUnmarked(diag, question);
  return diag;
}

std::optional<OneSidedSum> OneSidedSum::find(const OpenQuestion &question) {
  const PlacedOperation &placed = question.placed;
  const IndexStructure &structure = placed.structure;
  for (IndexId index = 0; index < structure.indices.size(); ++index) {
    if (structure.indices[index].whole || structure.results[0].dimOf(index))
      continue;
    OneSidedSum sum{question, index, {}};
    unsigned carrying = 0;
    for (auto [i, tensor] : llvm::enumerate(structure.operands)) {
      std::optional<unsigned> dim = tensor.dimOf(index);
      if (!dim)
        continue;
      ++carrying;
      if (llvm::is_contained(placed.operands[i].dims[*dim], question.axis))
        sum.sharded.push_back(i);
    }
    if (!sum.sharded.empty() && sum.sharded.size() < carrying)
      return sum;
  }
  return std::nullopt;
}

OneSidedSum::Answer OneSidedSum::byRole() const {
  AxisRole role = question.placed.mesh.axis(question.axis).role;
  // Gathering several operands takes more collectives than reducing one result.
  if (role == AxisRole::None)
    return sharded.size() > 1 ? Reduce : Unknown;
  bool parameter = isWeight(question.op->getOperand(sharded.front()));
  return role == AxisRole::Data && parameter ? Gather : Reduce;
}

LogicalResult OneSidedSum::refuse() const {
  std::string only;
  for (unsigned operand : sharded)
    only += (only.empty() ? "" : ", ") + operandName(question.op, operand);
  std::string gathered;
  for (unsigned operand : shardedOperands(question))
    gathered +=
        (gathered.empty() ? "" : ", ") + operandName(question.op, operand);
  bool parameter = isWeight(question.op->getOperand(sharded.front()));
  InFlightDiagnostic diag = question.op->emitOpError();
  diag << "sums over '" << indexName(question, index) << "', which only "
       << only << " has on " << axisName(question)
       << ", and the result is not placed; ";
  addAdvice(diag, question, /*roleHelps=*/true);
  for (const Way &way : waysAlong(question.placed, question.axis)) {
    if (way.drive.kind == Drive::Index)
      addWay(diag, question,
             "the sum over '" + indexName(question, way.drive.index) +
                 "' reduced",
             way, "model");
    else
      addWay(diag, question, gathered + " gathered first (tpsp.reshard)", way,
             parameter ? "data" : "");
  }
  addUnmarked(diag, question);
  return diag;
}
