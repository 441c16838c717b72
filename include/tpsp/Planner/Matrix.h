/// The decision matrix: the plans that were evaluated, best first, and why each
/// is not the first.
#ifndef TPSP_PLANNER_MATRIX_H
#define TPSP_PLANNER_MATRIX_H

#include "tpsp/Planner/Search.h"
#include "tpsp/Planner/SearchedSpace.h"

namespace tpsp::planner {

struct MatrixOptions {
  std::string program, hardware;
  int64_t devices = 1;
  int64_t memoryLimit = 0;
  /// Whether more devices have no more memory together: ranks of a CPU.
  bool sharesMemory = false;
  /// FLOP of a step over all devices; what a device does in a second at most.
  double modelFlops = 0, peakFlops = 0;
  /// Positions of a step; 0 if it has no inputs.
  int64_t tokens = 0;
  /// Rows of plans that fit; beside them those of `notable`.
  size_t rows = 10;
  /// The space that was searched.
  SearchedSpace space;
};

struct MatrixRow {
  const Evaluation *evaluation = nullptr;
  /// 1, 2, ...; 0 of what is illegal or does not fit.
  int64_t rank = 0;
  /// Whether it may be as fast as the first, as far as composed figures tell;
  /// the first, if another may.
  bool isTied = false;
  std::string subscripts, name, settings;
  double tokensPerSecond = 0, modelUtilisation = 0;
  /// Why it is not the first; empty of the first.
  std::string reason;
};

struct Matrix {
  MatrixOptions options;
  const SearchResult *result = nullptr;
  std::vector<MatrixRow> rows;
  /// Ranks of all plans that may be the fastest, as far as composed figures
  /// tell, and by what share these may differ; none, if it is known.
  std::vector<int64_t> ties;
  double tieError = 0;
  /// Of the first row: bytes to spare.
  int64_t margin = 0;
};

/// The best rows, and those of `notable` that the search evaluated, wherever
/// they come. `result` must outlive the matrix.
Matrix makeMatrix(const SearchResult &result,
                  const std::vector<Candidate> &notable,
                  const ProgramFacts &facts, const MatrixOptions &options);

/// An aligned table, and what the search did. Ends with a newline.
std::string toText(const Matrix &matrix);

/// Compares the best plan with all others of the space: the gap, the plans that
/// may be as fast, and which plans the space has. A sentence a line; there is a
/// best plan.
std::string claimText(const Matrix &matrix);

/// Where no plan fits: how far the nearest is from fitting, and what would
/// help. A sentence.
std::string nothingFits(const Matrix &matrix);

/// docs/Planner.md has the keys.
std::string toJson(const Matrix &matrix);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_MATRIX_H
