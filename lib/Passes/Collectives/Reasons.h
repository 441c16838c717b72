/// The reason for moving an operation's operand or result, for the ledger.
#ifndef TPSP_PASSES_COLLECTIVES_REASONS_H
#define TPSP_PASSES_COLLECTIVES_REASONS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// Explains in words the steps that an operand or a result needs.
class Reasons {
public:
  Reasons(IndexedOpInterface op, const IndexStructure &structure,
          const ComputePlacement &choice, const Mesh &mesh)
      : op(op), structure(structure), choice(choice), mesh(mesh),
        request(requestOf(op, structure)) {}

  std::string ofOperand(const IndexStructure::Tensor &tensor,
                        const CollectiveStep &step) const {
    if (!request.empty())
      return request;
    return perDrive(step, [&](const Drive &drive, const std::string &axes) {
      std::string mnemonic = op->getName().stripDialect().str();
      if (drive.kind != Drive::Index)
        return "this " + mnemonic + " is done alike on all of " + axes;
      std::string work =
          axes + " divides " + indexName(drive) + " of this " + mnemonic;
      return tensor.dimOf(drive.index) ? work
                                       : work + ", which the operand lacks";
    });
  }

  std::string ofResult(const IndexStructure::Tensor &tensor,
                       const CollectiveStep &step) const {
    if (!request.empty())
      return request;
    return perDrive(step, [&](const Drive &drive, const std::string &axes) {
      if (drive.kind == Drive::Pending)
        return "the operands' sums over " + axes + " are taken once, here";
      if (drive.kind == Drive::Nothing)
        return "the result is wanted on " + axes;
      std::string work = axes + " divides " + indexName(drive);
      return tensor.dimOf(drive.index)
                 ? work + ", where the result does not want it"
                 : work + ", which is summed away";
    });
  }

private:
  /// The reason of an operation that only asks for a placement and leaves its
  /// operand unchanged; else empty.
  static std::string requestOf(IndexedOpInterface op,
                               const IndexStructure &structure) {
    bool same = op.isView() &&
                structure.operands[0].indices == structure.results[0].indices;
    mlir::Type wanted = op->getResult(0).getType();
    bool isAsked = !isUnplaced(wanted) && !isRecomputed(op);
    if (!same || !isAsked)
      return "";
    std::string place = "[" + subscripts(wanted) + "]";
    return isBackward(op) ? "a gradient lies where its tensor does, " + place
                          : "this " + op->getName().stripDialect().str() +
                                " asks for " + place;
  }

  const std::string &indexName(const Drive &drive) const {
    return structure.indices[drive.index].name;
  }

  /// Builds one clause for each group of axes with the same drive: "@dp divides
  /// b, ...; @cp ...". Axes of a single rank are named only if all axes are
  /// such.
  template <typename Clause>
  std::string perDrive(const CollectiveStep &step, Clause clause) const {
    llvm::SmallVector<std::pair<Drive, std::string>> parts;
    bool moves = mesh.groupSize(step.axes) > 1;
    for (AxisId axis : step.axes) {
      if (moves && mesh.size(axis) == 1)
        continue;
      const Drive &drive = choice.drives[axis];
      std::string name = "@" + mesh.axis(axis).name;
      if (!parts.empty() && parts.back().first == drive)
        parts.back().second += ", " + name;
      else
        parts.push_back({drive, name});
    }
    std::string text;
    for (auto &[drive, axes] : parts)
      text += (text.empty() ? "" : "; ") + clause(drive, axes);
    return text;
  }

  IndexedOpInterface op;
  const IndexStructure &structure;
  const ComputePlacement &choice;
  const Mesh &mesh;
  std::string request;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_REASONS_H
