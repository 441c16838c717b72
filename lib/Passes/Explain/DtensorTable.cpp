#include "ExplanationTables.h"

#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

/// The ranks that divide a dimension before `axis`, along axes that come after
/// it in the mesh. A Shard of DTensor divides in the order of the mesh.
static int64_t splitFactor(const AxisList &axes, AxisId axis,
                           const Mesh &mesh) {
  int64_t factor = 1;
  for (AxisId before : axes) {
    if (before == axis)
      break;
    if (before > axis)
      factor *= mesh.size(before);
  }
  return factor;
}

static std::string dtensorOf(const Placement &placement, AxisId axis,
                             const Mesh &mesh) {
  if (placement.isPending(axis))
    return placement.reduction == Reduction::Sum ? "Partial()"
                                                 : "Partial(\"max\")";
  std::optional<unsigned> dim = placement.dimOf(axis);
  if (!dim)
    return "Replicate()";
  int64_t factor = splitFactor(placement.dims[*dim], axis, mesh);
  if (factor == 1)
    return "Shard(" + std::to_string(*dim) + ")";
  return "_StridedShard(" + std::to_string(*dim) +
         ", split_factor=" + std::to_string(factor) + ")";
}

namespace {

class DtensorTable {
public:
  DtensorTable(const WrittenEquations &written, EquationText &text,
               ModuleOp module)
      : written(written), text(text), module(module) {}

  void print(raw_ostream &out) {
    forEachTensor(written, text, table,
                  [&](std::string name, const EquationTensor &tensor, size_t) {
                    add(std::move(name), tensor);
                  });
    std::vector<std::string> axes;
    for (AxisId axis = 0; axis < written.mesh.numAxes(); ++axis)
      axes.push_back(written.mesh.axis(axis).name);
    out << "\nplacements of DTensor on a mesh (" << llvm::join(axes, ", ")
        << ")\n"
        << table.text();
  }

private:
  void add(std::string name, const EquationTensor &tensor) {
    Placement placement = placementOf(tensor.type, written.mesh);
    std::optional<FlatCut> cut =
        flatCut(tensor.type.getShape(), placement, written.mesh);
    if (cut)
      return table.add({name, rowText(tensor.type, *cut)});
    std::vector<std::string> words;
    for (AxisId axis = 0; axis < written.mesh.numAxes(); ++axis)
      words.push_back(dtensorOf(placement, axis, written.mesh));
    table.add({name, "(" + llvm::join(words, ", ") + ")",
               paddingText(tensor.type, placement)});
  }

  /// DTensor divides a dimension in parts that differ, tpsp all elements.
  std::string rowText(RankedTensorType type, const FlatCut &cut) const {
    std::string axes;
    for (AxisId axis : cut.axes)
      axes += "@" + written.mesh.axis(axis).name;
    return ("none: " + axes +
            " cuts its elements as one row, because it does not divide " +
            indexNames(type)[cut.dim])
        .str();
  }

  std::string paddingText(RankedTensorType type,
                          const Placement &placement) const {
    std::vector<std::string> notes;
    auto padded = module->getAttrOfType<DictionaryAttr>(unpaddedAttrName);
    for (auto [dim, index] : llvm::enumerate(indexNames(type))) {
      auto extents = padded ? padded.getAs<DenseI64ArrayAttr>(index) : nullptr;
      if (extents && !placement.dims[dim].empty())
        notes.push_back(("of " + index + " = " +
                         std::to_string(type.getDimSize(dim)) +
                         ", padded from " + std::to_string(extents[0]))
                            .str());
    }
    return llvm::join(notes, "; ");
  }

  const WrittenEquations &written;
  EquationText &text;
  ModuleOp module;
  TextTable table{"lll", /*indent=*/4};
};

} // namespace

void tpsp::printDtensor(const WrittenEquations &written, EquationText &text,
                        ModuleOp module, raw_ostream &out) {
  DtensorTable(written, text, module).print(out);
}
