/// Compares two plans, and says what would make another plan the first.
#ifndef TPSP_PLANNER_COMPARE_H
#define TPSP_PLANNER_COMPARE_H

#include "tpsp/Planner/Matrix.h"

namespace tpsp::planner {

/// All candidates of the space with this usual name or these subscripts, the
/// most promising first.
std::vector<Candidate> candidatesNamed(const std::string &name,
                                       const Space &space,
                                       const Bounds &bounds);

/// The plan with this rank ("2"), usual name ("FSDP 8") or subscripts. If
/// several match, returns the first that the compiler accepts, else the first.
/// Null if the search compiled none.
const Evaluation *findPlan(const SearchResult &result,
                           const ProgramFacts &facts, int64_t memoryLimit,
                           const std::string &name);

/// Time and memory of the two plans, part by part, the largest difference
/// first. `names` are the plans' names. Ends with a newline.
std::string compareText(const Evaluation &a, const Evaluation &b,
                        const std::array<std::string, 2> &names);

/// A change that would make another plan the first.
struct Flip {
  /// A row of Matrix::rows.
  const MatrixRow *row = nullptr;
  /// Exposed communication takes this share of its present time: below 1 the
  /// network is faster. 0: no network makes the row the first.
  double network = 0;
  /// The bytes that a rank lacks; 0 if the row fits.
  int64_t bytes = 0;
};

/// To first order: computing stays constant, and exposed communication scales.
/// One flip for each row that some network or more memory makes better than the
/// first; the nearest flip comes first.
std::vector<Flip> flipsOf(const Matrix &matrix);

/// A sentence for each of the nearest `most` flips, and the margins. Empty if
/// no plan fits.
std::string sensitivityText(const Matrix &matrix, size_t most = 3);

/// A picture of time against memory of all compiled plans, as SVG, light and
/// dark. A curve joins the plans that no other plan beats in both. A line shows
/// the limit. Names that find no room are titles of their dots.
std::string paretoSvg(const Matrix &matrix);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_COMPARE_H
