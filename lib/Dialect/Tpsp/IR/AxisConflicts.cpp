// (N3) across a tensor's indices: an axis on two indices, or on an index and
// pending. It is verified here and not in the attribute, because here the mesh
// is known and every way out has a price.
#include "tpsp/Algebra/Ways.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// An axis that occurs in several places of one tensor.
struct Conflict {
  unsigned tensor;
  AxisId axis;
  SmallVector<unsigned> dims;
  bool pending;
};

/// The placement with `axis` on `dim` alone, or only pending if `dim` is
/// nullopt.
Placement keepOnly(Placement placement, AxisId axis,
                   std::optional<unsigned> dim) {
  for (auto [i, axes] : llvm::enumerate(placement.dims))
    if (dim != unsigned(i))
      llvm::erase(axes, axis);
  if (dim)
    llvm::erase(placement.pending, axis);
  return placement;
}

std::optional<Conflict> conflictOf(unsigned tensor, const Placement &placement,
                                   const Mesh &mesh) {
  for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
    Conflict conflict{tensor, axis, {}, placement.isPending(axis)};
    for (auto [dim, axes] : llvm::enumerate(placement.dims))
      if (llvm::is_contained(axes, axis))
        conflict.dims.push_back(dim);
    if (conflict.dims.size() + conflict.pending > 1)
      return conflict;
  }
  return std::nullopt;
}

/// The placement without conflicts: every axis stays only where it occurs
/// first.
Placement legal(Placement placement, const Mesh &mesh) {
  while (auto conflict = conflictOf(0, placement, mesh))
    placement = keepOnly(placement, conflict->axis, conflict->dims.front());
  return placement;
}

class ConflictReport {
public:
  ConflictReport(Operation *op, ArrayRef<Type> types, const Conflict &conflict,
                 const Mesh &mesh)
      : op(op), types(types), conflict(conflict), mesh(mesh),
        type(cast<RankedTensorType>(types[conflict.tensor])),
        written(placementOf(type, mesh)) {}

  LogicalResult emit() const {
    InFlightDiagnostic diag = begin();
    diag << "axis @" << mesh.axis(conflict.axis).name << " is "
         << (conflict.dims.size() + conflict.pending == 2 ? "on both " : "on ")
         << places() << " of " << tensorName()
         << "; a mesh axis shards at most one index of a tensor";
    std::optional<int64_t> least;
    for (unsigned dim : conflict.dims)
      addWay(diag, dim, least);
    if (conflict.pending)
      addWay(diag, std::nullopt, least);
    addOtherIndex(diag, least);
    return diag;
  }

private:
  /// The tensor as a value; null if it is none.
  Value value() const {
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      return function.isExternal() ? Value()
                                   : function.getArgument(conflict.tensor);
    if (conflict.tensor < op->getNumOperands())
      return op->getOperand(conflict.tensor);
    return op->getResult(conflict.tensor - op->getNumOperands());
  }

  /// Begins the error where an argument's subscripts are written, else at the
  /// operation.
  InFlightDiagnostic begin() const {
    if (auto argument = dyn_cast_or_null<BlockArgument>(value()))
      return emitErrorAt(argument);
    return op->emitOpError();
  }

  std::string tensorName() const {
    if (Value tensor = value())
      if (std::string name = nameInSource(tensor); !name.empty())
        return name;
    if (isa<FunctionOpInterface>(op))
      return "argument #" + std::to_string(conflict.tensor);
    if (conflict.tensor < op->getNumOperands())
      return "operand #" + std::to_string(conflict.tensor);
    return "the result";
  }

  /// "'b' and 'd'", "'b' and the pending sum"
  std::string places() const {
    SmallVector<std::string> all;
    for (unsigned dim : conflict.dims)
      all.push_back("'" + getIdx(type).getNames()[dim].str() + "'");
    if (conflict.pending)
      all.push_back(getIdx(type).getPendingMax() ? "the pending maximum"
                                                 : "the pending sum");
    std::string last = all.pop_back_val();
    return llvm::join(all, ", ") + " and " + last;
  }

  /// Bytes that the operation sends per rank if the tensor has this placement.
  /// Returns nullopt if that is unknown: it is not an indexed operation, or
  /// some operands are still unplaced.
  std::optional<int64_t> price(const Placement &placement) const {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    // The operation's own verifier, which checks the number of operands, has
    // not run yet.
    if (!indexed || op->getNumOperands() == 0 ||
        llvm::any_of(op->getOperandTypes(), isUnplaced))
      return std::nullopt;
    // Several tensors often share an aliased type: they change together.
    auto placed = [&](Type other) {
      return other == type ? legal(placement, mesh)
                           : legal(placementOf(other, mesh), mesh);
    };
    auto operands = llvm::map_to_vector(op->getOperandTypes(), placed);
    SmallVector<std::optional<Placement>> wanted;
    for (Type result : op->getResultTypes())
      wanted.push_back(isUnplaced(result) ? std::nullopt
                                          : std::optional(placed(result)));
    IndexStructure structure = indexed.getIndexStructure();
    auto way = chosenWay({structure, operands, wanted, mesh}, conflict.axis);
    return way ? std::optional(way->bytes) : std::nullopt;
  }

  void note(InFlightDiagnostic &diag, StringRef lead, const Placement &way,
            std::optional<int64_t> bytes) const {
    Diagnostic &note = diag.attachNote(op->getLoc());
    note << lead << "["
         << subscripts(withPlacement(type, legal(way, mesh), mesh)) << "]";
    if (bytes)
      note << ": " << formatBytes(*bytes) << " per rank in this "
           << op->getName().stripDialect();
  }

  void addWay(InFlightDiagnostic &diag, std::optional<unsigned> dim,
              std::optional<int64_t> &least) const {
    Placement way = keepOnly(written, conflict.axis, dim);
    std::optional<int64_t> bytes = price(way);
    if (bytes)
      least = std::min(*bytes, least.value_or(*bytes));
    note(diag, "way out: ", way, bytes);
  }

  /// Suggests another index of the tensor, if it would cost less than `least`.
  void addOtherIndex(InFlightDiagnostic &diag,
                     std::optional<int64_t> least) const {
    std::optional<Placement> best;
    for (unsigned dim = 0; least && dim < written.dims.size(); ++dim) {
      if (llvm::is_contained(conflict.dims, dim))
        continue;
      Placement way = keepOnly(written, conflict.axis, conflict.dims.front());
      llvm::erase(way.dims[conflict.dims.front()], conflict.axis);
      way.dims[dim].push_back(conflict.axis);
      if (firstUnevenDim(type.getShape(), way, mesh))
        continue;
      std::optional<int64_t> bytes = price(way);
      if (!bytes || *bytes >= *least)
        continue;
      least = bytes;
      best = std::move(way);
    }
    if (best)
      note(diag, "or another index: ", *best, least);
  }

  Operation *op;
  ArrayRef<Type> types;
  const Conflict &conflict;
  const Mesh &mesh;
  RankedTensorType type;
  Placement written;
};

} // namespace

LogicalResult tpsp::verifyAxesOnce(Operation *op, ArrayRef<Type> types,
                                   const Mesh &mesh) {
  for (auto [tensor, type] : llvm::enumerate(types)) {
    bool isLikeLast = tensor > 0 && type == types[tensor - 1];
    if (!getIdx(type) || isLikeLast)
      continue;
    Placement placement = placementOf(type, mesh);
    if (auto conflict = conflictOf(tensor, placement, mesh))
      return ConflictReport(op, types, *conflict, mesh).emit();
  }
  return success();
}
