/// A program as a graph in Graphviz's language: equations, the collectives
/// between them, and the pending sums that these complete.
#ifndef TPSP_PASSES_EXPLAIN_EQUATIONGRAPH_H
#define TPSP_PASSES_EXPLAIN_EQUATIONGRAPH_H

#include "ExplanationTables.h"

namespace tpsp {

/// Prints the graph of a function that is called `title`. A repeated layer is
/// drawn once, in a frame with its number. Where later equations read what its
/// last repetition made, the edge begins at the equation that is drawn.
void printGraph(const WrittenEquations &written, llvm::StringRef title,
                EquationText &text, llvm::raw_ostream &out);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EQUATIONGRAPH_H
