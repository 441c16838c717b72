#include "tpsp/Runtime/Driver/Exposure.h"

#include "tpsp/Runtime/Driver/Quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace tpsp::rt;

namespace {

/// A moment at which a span begins or ends.
struct Moment {
  double seconds = 0;
  bool isBegin = false;
  const TraceSpan *span = nullptr;
  int64_t stream = 0;
};

/// Walks through a rank's time, from moment to moment.
class Sweep {
public:
  Sweep(const StepTrace &trace, const TraceRank &rank) : trace(trace) {
    for (size_t stream = 0; stream < rank.streams.size(); ++stream)
      for (const TraceSpan &span : rank.streams[stream])
        add(span, static_cast<int64_t>(stream));
    // What ends makes room for what begins.
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
    bool computes = stream == 0 && trace.commands[span.command].kind ==
                                       TraceCommand::Kind::Compute;
    // What takes no time has no piece.
    if (!(span.end > span.begin) || !(computes || trace.isCollective(span)))
      return;
    moments.push_back({span.begin, true, &span, stream});
    moments.push_back({span.end, false, &span, stream});
  }

  /// The time since the last moment goes to the collectives that run.
  void advance(double to) {
    if (to > now)
      for (const Moment &collective : running)
        pieces.push_back({collective.span->command, collective.stream, now, to,
                          computing, static_cast<int64_t>(running.size())});
    now = to;
  }

  void apply(const Moment &moment) {
    if (!trace.isCollective(*moment.span)) {
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

  const StepTrace &trace;
  std::vector<Moment> moments;
  double now = 0;
  /// Begins of the collectives that run: at most one for each stream.
  std::vector<Moment> running;
  int64_t computing = -1;
  std::vector<CommunicationPiece> pieces;
};

} // namespace

std::vector<CommunicationPiece>
tpsp::rt::communicationPieces(const StepTrace &trace, const TraceRank &rank) {
  return Sweep(trace, rank).run();
}

/// The command that computes for longest; -1 if there is none.
static int64_t longest(const std::map<int64_t, double> &seconds) {
  int64_t command = -1;
  double most = 0;
  for (auto [candidate, time] : seconds)
    if (time > most) {
      command = candidate;
      most = time;
    }
  return command;
}

Exposure tpsp::rt::exposureOf(const StepTrace &trace) {
  Exposure exposure;
  exposure.collectives.resize(trace.collectives.size());
  std::vector<std::map<int64_t, double>> under(trace.collectives.size());
  for (const TraceRank &rank : trace.ranks)
    for (const CommunicationPiece &piece : communicationPieces(trace, rank)) {
      double share = piece.seconds() / static_cast<double>(piece.sharers) /
                     static_cast<double>(trace.ranks.size());
      exposure.communication += share;
      exposure.exposed += piece.isExposed() ? share : 0;
      int64_t row = trace.commands[piece.command].collective;
      if (row < 0)
        continue;
      CollectiveExposure &collective = exposure.collectives[row];
      collective.seconds +=
          piece.seconds() / static_cast<double>(trace.ranks.size());
      if (piece.isExposed())
        collective.exposed += share;
      else
        under[row][piece.under] += piece.seconds();
    }
  for (size_t row = 0; row < under.size(); ++row)
    exposure.collectives[row].hiddenUnder = longest(under[row]);
  return exposure;
}

std::string tpsp::rt::summaryLine(double stepSeconds, const Exposure &exposure,
                                  int64_t peakBytes) {
  std::string communication =
      exposure.communication > 0
          ? fmt::format("exposed communication {}, hidden {:.0f} %",
                        secondsText(exposure.exposed),
                        100 * exposure.hiddenShare())
          : "no communication";
  return fmt::format("step {}, {}, peak memory {}", secondsText(stepSeconds),
                     communication, bytesText(static_cast<double>(peakBytes)));
}
