#include "ExplanationTables.h"

#include "Passes/Program/Placed.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

void tpsp::forEachTensor(
    const WrittenEquations &written, EquationText &text, TextTable &table,
    function_ref<void(std::string, const EquationTensor &, size_t)> visit) {
  llvm::StringSet<> seen;
  std::string phase;
  for (const EquationBlock &block : written.blocks)
    for (size_t i : block.equations) {
      const Equation &equation = written.equations[i];
      if (equation.phase != phase)
        table.addLine("  " + equation.phase);
      phase = equation.phase;
      for (const EquationTensor &tensor : tensorsOf(equation))
        if (std::string name = text.tensorAlone(tensor);
            seen.insert(name).second)
          visit(name, tensor, block.times);
    }
}

namespace {

class ExtentsTable {
public:
  ExtentsTable(const WrittenEquations &written, EquationText &text)
      : written(written), text(text) {}

  void print(raw_ostream &out) {
    forEachTensor(written, text, table,
                  [&](std::string name, const EquationTensor &tensor,
                      size_t times) { add(std::move(name), tensor, times); });
    out << "\ntensors (extents, one rank's, bytes of it)\n" << table.text();
  }

private:
  void add(std::string name, const EquationTensor &tensor, size_t times) {
    Placement placement = placementOf(tensor.type, written.mesh);
    std::string bytes = formatBytes(localBytes(tensor.type, written.mesh));
    if (times > 1)
      bytes += "  x " + std::to_string(times);
    table.add({std::move(name),
               extentsText(tensor.type, tensor.type.getShape()),
               extentsText(tensor.type, localShape(tensor.type.getShape(),
                                                   placement, written.mesh)),
               bytes});
  }

  static std::string extentsText(RankedTensorType type,
                                 ArrayRef<int64_t> shape) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (int64_t extent : shape)
      stream << extent << "x";
    stream << type.getElementType();
    return text;
  }

  const WrittenEquations &written;
  EquationText &text;
  TextTable table{"llll", /*indent=*/4};
};

} // namespace

void tpsp::printExtents(const WrittenEquations &written, EquationText &text,
                        raw_ostream &out) {
  ExtentsTable(written, text).print(out);
}
