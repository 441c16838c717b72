/// How much of a step's communication is hidden under computation.
///
/// By definition, on one rank:
/// - *communication* is the time when at least one collective runs;
/// - it is *exposed* while no command that computes runs on the rank's compute
///   stream (stream 0), and *hidden* while one does. A collective on stream 0
///   itself is exposed, as nothing computes meanwhile. Commands that wait for
///   or record an event compute nothing.
/// - Where several collectives run at once, the time is shared out equally, so
///   that the collectives' seconds add up to the rank's.
///
/// Figures of several ranks are their mean. A collective's time begins when the
/// rank enters the collective, so it includes waiting for later ranks.
#ifndef TPSP_ABI_EXPOSURE_H
#define TPSP_ABI_EXPOSURE_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp {

/// A piece of a collective's time during which no other collective or computing
/// command begins or ends.
struct CommunicationPiece {
  /// The collective's command.
  int64_t command = 0;
  int64_t stream = 0;
  double begin = 0, end = 0;
  /// The command that computes meanwhile; -1 if none does, and the piece is
  /// exposed.
  int64_t under = -1;
  /// How many collectives run meanwhile on the rank, this one included.
  int64_t sharers = 1;

  bool isExposed() const { return under < 0; }
  double seconds() const { return end - begin; }
};

/// All pieces of one rank, by stream, then time. Takes time linear in the
/// spans, apart from sorting.
std::vector<CommunicationPiece> communicationPieces(const Plan &plan,
                                                    const TraceRank &rank);

/// One collective, on average over the ranks.
struct CollectiveExposure {
  /// Seconds from begin to end, added up over the parts of a collective that
  /// was cut. If several collectives run at once, their seconds overlap.
  double seconds = 0;
  /// Its share of the exposed time.
  double exposed = 0;
  /// The command that computed during most of it; -1 if none did.
  int64_t hiddenUnder = -1;

  /// 0 to 1; 1 if the collective takes no time.
  double hiddenShare() const { return seconds > 0 ? 1 - exposed / seconds : 1; }
};

struct Exposure {
  /// One for each row of the ledger.
  std::vector<CollectiveExposure> collectives;
  /// One for each command; zero for commands that are not collectives.
  std::vector<CollectiveExposure> commands;
  /// Seconds of a rank, on average over the ranks.
  double communication = 0, exposed = 0;

  /// 0 to 1; 1 if there is no communication.
  double hiddenShare() const {
    return communication > 0 ? 1 - exposed / communication : 1;
  }
};

Exposure exposureOf(const Plan &plan, const std::vector<TraceRank> &ranks);

} // namespace tpsp

#endif // TPSP_ABI_EXPOSURE_H
