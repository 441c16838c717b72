/// The decision matrix: the evaluated plans, best first, and why each is not
/// the first.
#ifndef TPSP_PLANNER_MATRIX_H
#define TPSP_PLANNER_MATRIX_H

#include "tpsp/Planner/Calibration.h"
#include "tpsp/Planner/Search.h"
#include "tpsp/Planner/SearchedSpace.h"

namespace tpsp::planner {

struct MatrixOptions {
  std::string program, hardware;
  int64_t devices = 1;
  int64_t memoryLimit = 0;
  /// Whether all devices share one memory, as a CPU's ranks do.
  bool sharesMemory = false;
  /// FLOP of a step over all devices; the peak FLOP/s of a device.
  double modelFlops = 0, peakFlops = 0;
  /// Positions of a step; 0 if it has no inputs.
  int64_t tokens = 0;
  /// The number of rows of plans that fit, besides the rows of `notable`.
  size_t rows = 10;
  /// The name of the profile by which steps are predicted; empty: none.
  std::string profile;
  /// Whether the table has its memory.
  bool hasProfiledMemory = false;
  /// Says how measured runs calibrated the figures; empty: they did not. Ends
  /// with a newline.
  std::string calibration;
  /// Calibration::compared().
  std::vector<ComparedRun> runs;
  /// ProgramFacts::keptScores.
  std::vector<std::string> keptScores;
  /// The space that was searched.
  SearchedSpace space;
};

struct MatrixRow {
  const Evaluation *evaluation = nullptr;
  /// 1, 2, ...; 0 if the plan is illegal or does not fit.
  int64_t rank = 0;
  /// Whether it may be as fast as the first, within the error of composed
  /// figures. For the first row: whether another may be as fast.
  bool isTied = false;
  std::string subscripts, name, settings;
  /// The name, with the subscripts that tell it from other rows of this name:
  /// "TP+SP 8 (s@tp)".
  std::string label;
  double tokensPerSecond = 0, modelUtilisation = 0;
  /// Why it is not the first; empty for the first.
  std::string reason;
};

struct Matrix {
  MatrixOptions options;
  const SearchResult *result = nullptr;
  std::vector<MatrixRow> rows;
  /// The ranks of all plans that may be the fastest within the error of
  /// composed figures, and this error as a share. Empty if the fastest is
  /// known.
  std::vector<int64_t> ties;
  double tieError = 0;
  /// The bytes that the first row leaves free.
  int64_t margin = 0;
  /// The compiled plans without a row, and names that differ from each other
  /// and from the rows' labels.
  std::vector<std::pair<std::string, const Evaluation *>> others;
  /// The usual names of SearchResult::open.
  std::vector<std::string> openNames;
};

/// The best rows, and the rows of `notable` that the search evaluated, whatever
/// their rank. `result` must outlive the matrix.
Matrix makeMatrix(const SearchResult &result,
                  const std::vector<Candidate> &notable,
                  const ProgramFacts &facts, const MatrixOptions &options);

/// An aligned table, and a summary of the search. Ends with a newline.
std::string toText(const Matrix &matrix);

/// Compares the best plan with all others of the space: the gap, the plans that
/// may be as fast, and the extent of the space. One sentence per line. Requires
/// a best plan.
std::string claimText(const Matrix &matrix);

/// For a search in which no plan fits, a sentence: how far the nearest plan is
/// from fitting, and what would help. `onMoreDevices`: a clause that ends the
/// sentence (Planning::wouldFit), or empty.
std::string nothingFits(const Matrix &matrix,
                        llvm::StringRef onMoreDevices = "");

/// The matrix as JSON; docs/Planner.md lists the keys.
std::string toJson(const Matrix &matrix);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_MATRIX_H
