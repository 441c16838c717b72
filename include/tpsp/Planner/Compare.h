/// Two plans against each other, and what would make another the first.
#ifndef TPSP_PLANNER_COMPARE_H
#define TPSP_PLANNER_COMPARE_H

#include "tpsp/Planner/Matrix.h"

namespace tpsp::planner {

/// All candidates of the space that have the usual name or the subscripts;
/// those that promise most come first.
std::vector<Candidate> candidatesNamed(const std::string &name,
                                       const Space &space,
                                       const Bounds &bounds);

/// The plan that is called so: by its rank ("2"), its usual name ("FSDP 8") or
/// its subscripts; of several, the first, and what the compiler refuses only
/// where it takes none. Null if the search compiled none.
const Evaluation *findPlan(const SearchResult &result,
                           const ProgramFacts &facts, int64_t memoryLimit,
                           const std::string &name);

/// Time and memory of the two, part by part, the largest difference first.
/// `names` are what they are called. Ends with a newline.
std::string compareText(const Evaluation &a, const Evaluation &b,
                        const std::array<std::string, 2> &names);

/// What would make another plan the first.
struct Flip {
  /// Of Matrix::rows.
  const MatrixRow *row = nullptr;
  /// Communication that is exposed takes this share of its time: below 1 the
  /// network is faster. 0: no network makes the row the first.
  double network = 0;
  /// A rank has so many more bytes; 0 if the row fits.
  int64_t bytes = 0;
};

/// To first order: computing stays as it is, and what is exposed scales. One
/// flip for each row that some network or more memory makes better than the
/// first, the nearest first.
std::vector<Flip> flipsOf(const Matrix &matrix);

/// A sentence for each of the nearest `most`, and the margins. Empty without a
/// plan that fits.
std::string sensitivityText(const Matrix &matrix, size_t most = 3);

/// Time against memory of all plans that were compiled, as a picture: those
/// that nothing beats in both are joined, the limit is a line. SVG, light and
/// dark.
std::string paretoSvg(const Matrix &matrix, const ProgramFacts &facts);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_COMPARE_H
