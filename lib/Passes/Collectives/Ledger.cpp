#include "Ledger.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

CollectiveStep tpsp::stepOf(CollectiveOpInterface op, const Mesh &mesh) {
  return *stepOfKind(op.getCollectiveKind(),
                     placementOf(op->getOperand(0).getType(), mesh),
                     placementOf(op->getResult(0).getType(), mesh), mesh);
}

static std::string movedIndex(Operation *op, const CollectiveStep &step) {
  IdxAttr idx = getIdx(op->getOperand(0));
  auto nameOf = [&](unsigned dim) { return idx.getNames()[dim].str(); };
  if (step.from && step.to && step.from != step.to)
    return nameOf(*step.from) + " -> " + nameOf(*step.to);
  if (step.from)
    return nameOf(*step.from);
  return step.to ? nameOf(*step.to) : "";
}

DictionaryAttr tpsp::ledgerOf(CollectiveOpInterface op, const Mesh &mesh) {
  Builder b(op.getContext());
  CollectiveStep step = stepOf(op, mesh);
  int64_t group = mesh.groupSize(step.axes);
  int64_t bytes = 0;
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults()))
    bytes += bytesSent(step.kind,
                       std::max(localBytes(operand.getType(), mesh),
                                localBytes(result.getType(), mesh)),
                       group);
  bool backward = op->hasAttr(backwardAttrName);
  auto text = [&](StringRef key) {
    auto attr = op->getAttrOfType<StringAttr>(key);
    return attr ? attr : b.getStringAttr("");
  };
  NamedAttrList row({
      b.getNamedAttr("axes", op->getAttr("axes")),
      b.getNamedAttr("index", b.getStringAttr(movedIndex(op, step))),
      b.getNamedAttr("phase",
                     b.getStringAttr(backward ? "backward" : "forward")),
      b.getNamedAttr("bytes", b.getI64IntegerAttr(bytes)),
      b.getNamedAttr("tensor", text("tensor")),
      b.getNamedAttr("reason", text("reason")),
      b.getNamedAttr("group", b.getI64IntegerAttr(group)),
  });
  if (Attribute overlap = op->getAttr(overlapAttrName))
    row.set("overlap", overlap);
  return row.getDictionary(b.getContext());
}

std::string tpsp::axesOf(DictionaryAttr row) {
  return llvm::join(
      llvm::map_range(row.getAs<ArrayAttr>("axes").getAsRange<StringAttr>(),
                      [](StringAttr axis) { return axis.getValue(); }),
      ",");
}

DictionaryAttr tpsp::rowOfPiece(DictionaryAttr row, StringRef kind,
                                int64_t pieces, int64_t whole) {
  if (!row)
    return {};
  Builder b(row.getContext());
  int64_t bytes = row.getAs<IntegerAttr>("bytes").getInt();
  NamedAttrList piece(row);
  piece.set("bytes", b.getI64IntegerAttr(bytes / pieces));
  piece.set("kind", b.getStringAttr(kind));
  piece.set("whole", b.getI64IntegerAttr(whole));
  return piece.getDictionary(row.getContext());
}
