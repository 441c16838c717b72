#include "ExplanationTables.h"

#include "Passes/Program/Placed.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tpsp;

namespace {

struct Row {
  std::string tensor, extents, part, bytes;
};

class ExtentsTable {
public:
  ExtentsTable(const WrittenEquations &written, EquationText &text)
      : written(written), text(text) {}

  void print(raw_ostream &out) {
    std::string phase;
    for (const EquationBlock &block : written.blocks)
      for (size_t i : block.equations) {
        const Equation &equation = written.equations[i];
        if (equation.phase != phase)
          rows.push_back({equation.phase, "", "", ""});
        phase = equation.phase;
        addAll(equation, block.times);
      }
    out << "\ntensors (extents, one rank's, bytes of it)\n";
    size_t name = widthOf(&Row::tensor), extents = widthOf(&Row::extents),
           part = widthOf(&Row::part);
    for (const Row &row : rows)
      if (row.extents.empty())
        out << "  " << row.tensor << "\n";
      else
        out << "    " << llvm::left_justify(row.tensor, name) << "  "
            << llvm::left_justify(row.extents, extents) << "  "
            << llvm::left_justify(row.part, part) << "  " << row.bytes << "\n";
  }

private:
  void addAll(const Equation &equation, size_t times) {
    for (const EquationTensor &tensor : tensorsOf(equation)) {
      std::string name = text.tensorAlone(tensor);
      if (!seen.insert(name).second)
        continue;
      Placement placement = placementOf(tensor.type, written.mesh);
      std::string bytes = formatBytes(localBytes(tensor.type, written.mesh));
      if (times > 1)
        bytes += "  x " + std::to_string(times);
      rows.push_back(
          {name, extentsText(tensor.type, tensor.type.getShape()),
           extentsText(tensor.type, localShape(tensor.type.getShape(),
                                               placement, written.mesh)),
           bytes});
    }
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

  size_t widthOf(std::string Row::*column) const {
    size_t width = 0;
    for (const Row &row : rows)
      if (!row.extents.empty())
        width = std::max(width, (row.*column).size());
    return width;
  }

  const WrittenEquations &written;
  EquationText &text;
  llvm::StringSet<> seen;
  std::vector<Row> rows;
};

} // namespace

void tpsp::printExtents(const WrittenEquations &written, EquationText &text,
                        raw_ostream &out) {
  ExtentsTable(written, text).print(out);
}
