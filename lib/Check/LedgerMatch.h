/// Matches recorded calls with the rows of a ledger.
#ifndef TPSP_LIB_CHECK_LEDGERMATCH_H
#define TPSP_LIB_CHECK_LEDGERMATCH_H

#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Check/Traces.h"

#include <map>

namespace tpsp::check {

class LedgerMatch {
public:
  /// All must outlive this object.
  LedgerMatch(const Plan &plan, const rt::RankMesh &mesh, TraceReport &report);

  /// Adds a recorded call over these axes, ascending; none: the group is no
  /// group of the mesh. The call must outlive this object.
  void add(const RecordedCall &call,
           const std::optional<std::vector<int64_t>> &axes);
  /// Matches, and adds findings to the report.
  void run();

private:
  using Axes = std::vector<int64_t>;
  struct Needed {
    const LedgerRow *row = nullptr;
    Axes axes;
    CollectiveKind kind;
    int64_t elements = 0, elementBytes = 0;
    bool isMatched = false;
  };
  struct Made {
    const RecordedCall *call = nullptr;
    Axes axes;
    bool isKnown = true, isMatched = false;
  };

  void addRows();
  void match(Needed &needed, Made &made);
  void matchInOrder();
  static int scoreOf(const Needed &needed, const Made &made);
  void matchEqual();
  void matchParts();
  void matchSplits();
  void matchBuckets();
  void matchOtherKinds();
  void matchDear(Needed &needed, Made &made);
  void matchRepeatedGathers();
  bool completes(Needed &needed, Made &made);
  void findMissing();
  void findNotNeeded();
  void addFinding(TraceFault fault, std::string text, const Needed *needed,
                  const RecordedCall *call);
  Made *unmatched(const Needed &needed, bool sameAxes, bool sameSize);
  std::string sizeText(int64_t elements) const;

  const Plan &plan;
  const rt::RankMesh &mesh;
  TraceReport &report;
  std::vector<Needed> needs;
  std::vector<Made> calls;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_LEDGERMATCH_H
