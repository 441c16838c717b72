/// Times of recorded calls, by row of the ledger.
#ifndef TPSP_LIB_CHECK_TRACETIMES_H
#define TPSP_LIB_CHECK_TRACETIMES_H

#include "Matching.h"

#include <map>
#include <set>

namespace tpsp::check {

class TraceTimes {
public:
  /// Both must outlive this object.
  TraceTimes(const Plan &plan, const PredictedTimes &predicted)
      : plan(plan), predicted(predicted) {}

  /// Adds the times of recordings that are alike, of which the first was
  /// matched. If their steps are equal, the last of `steps` was matched, and
  /// the times of all count.
  void add(const Matching &matching,
           const std::vector<const Recording *> &recordings, int64_t steps,
           bool areEqual);
  /// The rows in program order.
  void finish(TraceReport &report) const;

private:
  /// Rows that differ in their layer alone, or that share a call.
  struct Line {
    std::set<size_t> rows;
    CollectiveTime time;
    double sum = 0, exposedSum = 0;
    int64_t exposedCount = 0;
    /// The sum over occurrences.
    double predictedSum = 0;
  };
  /// Rows and calls that are matched with each other, directly or through
  /// others, by their numbers. A row may be there several times.
  struct Occurrence {
    std::vector<size_t> rows, calls;
  };

  Line &lineOf(const Occurrence &occurrence);
  std::vector<Occurrence> occurrencesOf(const Matching &matching,
                                        const RecordedCall *begin) const;
  void addOccurrence(const Occurrence &occurrence, size_t earlier,
                     const Recording &recording);

  const Plan &plan;
  const PredictedTimes &predicted;
  std::map<std::string, size_t> byKey;
  std::vector<Line> lines;
  int64_t timedSteps = 0;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_TRACETIMES_H
