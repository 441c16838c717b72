#include "tpsp/Abi/Exposure.h"

#include <algorithm>
#include <tuple>

using namespace tpsp;

namespace {

/// A moment at which a span begins or ends.
struct Moment {
  double seconds = 0;
  bool isBegin = false;
  const TraceSpan *span = nullptr;
  int64_t stream = 0;
};

/// Walks through a rank's time from moment to moment, and collects the pieces.
class RankTime {
public:
  RankTime(const Plan &plan, const TraceRank &rank) : plan(plan) {
    for (size_t stream = 0; stream < rank.streams.size(); ++stream)
      for (const TraceSpan &span : rank.streams[stream])
        add(span, static_cast<int64_t>(stream));
    // At one moment, ends come before begins.
    std::stable_sort(moments.begin(), moments.end(),
                     [](const Moment &a, const Moment &b) {
                       return a.seconds != b.seconds ? a.seconds < b.seconds
                                                     : a.isBegin < b.isBegin;
                     });
  }

  std::vector<CommunicationPiece> run() {
    for (const Moment &moment : moments) {
      advance(moment.seconds);
      apply(moment);
    }
    std::stable_sort(
        pieces.begin(), pieces.end(),
        [](const CommunicationPiece &a, const CommunicationPiece &b) {
          return a.stream < b.stream;
        });
    return std::move(pieces);
  }

private:
  void add(const TraceSpan &span, int64_t stream) {
    const PlanCommand &command = plan.commands[span.command];
    bool isSeen = isCollective(span) || (stream == 0 && command.computes());
    // A command that takes no time has no piece.
    if (!(span.end > span.begin) || !isSeen)
      return;
    moments.push_back({span.begin, true, &span, stream});
    moments.push_back({span.end, false, &span, stream});
  }

  /// Adds a piece, since the last moment, to each collective that runs.
  void advance(double to) {
    if (to > now)
      for (const Moment &collective : running)
        pieces.push_back({collective.span->command, collective.stream, now, to,
                          computing, static_cast<int64_t>(running.size())});
    now = to;
  }

  void apply(const Moment &moment) {
    if (!isCollective(*moment.span)) {
      computing = moment.isBegin ? moment.span->command : -1;
      return;
    }
    if (moment.isBegin) {
      running.push_back(moment);
      return;
    }
    running.erase(std::remove_if(running.begin(), running.end(),
                                 [&](const Moment &began) {
                                   return began.span == moment.span;
                                 }),
                  running.end());
  }

  bool isCollective(const TraceSpan &span) const {
    return plan.commands[span.command].kind == CommandKind::Collective;
  }

  const Plan &plan;
  std::vector<Moment> moments;
  double now = 0;
  /// The begins of the collectives that run: at most one for each stream.
  std::vector<Moment> running;
  int64_t computing = -1;
  std::vector<CommunicationPiece> pieces;
};

} // namespace

std::vector<CommunicationPiece>
tpsp::communicationPieces(const Plan &plan, const TraceRank &rank) {
  return RankTime(plan, rank).run();
}

namespace {

/// Adds up the pieces of collectives, by row or by command.
class Sums {
public:
  explicit Sums(size_t collectives) : sums(collectives) {}

  /// `share`: the collective's part of the piece's time, which it shares with
  /// the other collectives.
  void add(size_t collective, const CommunicationPiece &piece, double ranks,
           double share) {
    sums[collective].seconds += piece.seconds() / ranks;
    if (piece.isExposed())
      sums[collective].exposed += share;
    else
      hidden.push_back({collective, piece.under, piece.seconds()});
  }

  std::vector<CollectiveExposure> result() {
    std::stable_sort(hidden.begin(), hidden.end(),
                     [](const Hidden &a, const Hidden &b) {
                       return std::tie(a.collective, a.under) <
                              std::tie(b.collective, b.under);
                     });
    double most = 0;
    for (size_t i = 0, next = 0; i < hidden.size(); i = next) {
      const Hidden &first = hidden[i];
      if (i == 0 || hidden[i - 1].collective != first.collective)
        most = 0;
      double seconds = 0;
      for (; next < hidden.size() &&
             hidden[next].collective == first.collective &&
             hidden[next].under == first.under;
           ++next)
        seconds += hidden[next].seconds;
      if (seconds > most) {
        sums[first.collective].hiddenUnder = first.under;
        most = seconds;
      }
    }
    return std::move(sums);
  }

private:
  /// Seconds of a collective that a command hides.
  struct Hidden {
    size_t collective;
    int64_t under;
    double seconds;
  };

  std::vector<CollectiveExposure> sums;
  std::vector<Hidden> hidden;
};

} // namespace

Exposure tpsp::exposureOf(const Plan &plan,
                          const std::vector<TraceRank> &ranks) {
  Exposure exposure;
  Sums rows(plan.ledger.size()), commands(plan.commands.size());
  auto number = double(ranks.size());
  for (const TraceRank &rank : ranks)
    for (const CommunicationPiece &piece : communicationPieces(plan, rank)) {
      double share = piece.seconds() / double(piece.sharers) / number;
      exposure.communication += share;
      exposure.exposed += piece.isExposed() ? share : 0;
      commands.add(piece.command, piece, number, share);
      int64_t row = plan.commands[piece.command].collective.row;
      if (row >= 0)
        rows.add(row, piece, number, share);
    }
  exposure.collectives = rows.result();
  exposure.commands = commands.result();
  return exposure;
}
