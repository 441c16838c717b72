#include "tpsp/Schedule/Simulator.h"

#include "tpsp/Schedule/IssueOrder.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <limits>

using namespace tpsp;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The state of one stream.
struct Stream {
  /// Its commands, as positions in the order of issue.
  std::vector<int64_t> commands;
  size_t next = 0;
  /// The running command; -1 if there is none.
  int64_t running = -1;
  CommandCost cost;
  /// The remaining work of the running command: seconds of its launch, and the
  /// rest as a share of its work.
  double startLeft = 0, workLeft = 0;
  /// Whether it had nothing to do. On a CPU its thread then sleeps.
  bool isAsleep = true;
  /// Seconds of its whole work at the present speed.
  double pace = 0;

  double secondsLeft() const { return startLeft + workLeft * pace; }
};

/// The bandwidth of the fastest links.
double linkBandwidth(const Hardware &hardware) {
  double most = 0;
  for (const CollectiveRates &rates : hardware.collectives)
    if (rates.tier == hardware.insideTier)
      most = std::max(most, rates.busBandwidth);
  return most;
}

class Simulation {
public:
  Simulation(const Plan &plan, const CostModel &cost)
      : plan(plan), cost(cost), streams(std::max<int64_t>(1, plan.numStreams)),
        issued(issueOrder(plan)), recordOf(issued.size(), -1),
        ended(issued.size(), false) {
    for (int64_t command : issued)
      result.commands.push_back({command});
  }

  llvm::Error prepare() {
    std::vector<int64_t> lastRecord(std::max<int64_t>(plan.numEvents, 0), -1);
    int64_t onStream0 = 0;
    for (size_t i = 0; i < issued.size(); ++i) {
      const PlanCommand &command = at(int64_t(i));
      if (command.stream < 0 || command.stream >= int64_t(streams.size()))
        return problem(i, llvm::formatv("is on stream {0}, but there are {1}",
                                        command.stream, streams.size()));
      if (command.isEvent()) {
        if (command.event < 0 || command.event >= int64_t(lastRecord.size()))
          return problem(i, llvm::formatv("uses event {0}, but there are {1}",
                                          command.event, lastRecord.size()));
        int64_t &last = lastRecord[command.event];
        if (command.kind == CommandKind::EventRecord)
          last = i;
        else if (last < 0)
          return problem(i, llvm::formatv("waits for event {0}, which nothing "
                                          "before it records",
                                          command.event));
        recordOf[i] = last;
      }
      issuedBehind.push_back(onStream0);
      onStream0 += command.stream == 0;
      streams[command.stream].commands.push_back(i);
    }
    return llvm::Error::success();
  }

  SimulatedStep run() {
    now = cost.stepSeconds();
    // stepSeconds includes waking the ranks' own threads.
    streams[0].isAsleep = false;
    for (startAll(), setPaces(); nextMoment() < never;) {
      advance(nextMoment());
      startAll();
      setPaces();
    }
    summarise();
    return std::move(result);
  }

private:
  llvm::Error problem(int64_t command, const std::string &what) const {
    return llvm::createStringError(llvm::formatv(
        "command {0} ({1}) {2}", issued[command], at(command).name(), what));
  }

  /// The command of an issue.
  const PlanCommand &at(int64_t issue) const {
    return plan.commands[issued[issue]];
  }

  /// The moment at which the host has issued a command; `never` if that is not
  /// known yet.
  double availableAt(int64_t command) {
    const Hardware &machine = cost.machine();
    if (!machine.isCpu())
      return double(command + 1) * machine.issueSeconds;
    // Stream 0 is the issuing thread.
    bool isIssued = int64_t(streams[0].next) - (streams[0].running >= 0) >=
                    issuedBehind[command];
    return isIssued ? now : never;
  }

  void startAll() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Stream &stream : streams)
        while (startNext(stream))
          changed = true;
    }
  }

  /// Starts the stream's next command if it can start; true if anything
  /// changed. A wait ends as soon as its event is recorded, and takes no time
  /// itself.
  bool startNext(Stream &stream) {
    if (stream.running >= 0) {
      const PlanCommand &command = at(stream.running);
      if (command.kind != CommandKind::EventWait)
        return false;
      if (!ended[recordOf[stream.running]]) {
        stream.isAsleep = true;
        return false;
      }
      end(stream);
      return true;
    }
    if (stream.next == stream.commands.size() ||
        availableAt(stream.commands[stream.next]) > now) {
      stream.isAsleep = true;
      return false;
    }
    begin(stream, stream.commands[stream.next++]);
    if (at(stream.running).kind == CommandKind::EventRecord)
      end(stream);
    return true;
  }

  void begin(Stream &stream, int64_t command) {
    stream.running = command;
    stream.cost = cost.cost(at(command));
    stream.startLeft = stream.cost.startSeconds;
    if (stream.isAsleep && !at(command).isEvent()) {
      stream.startLeft += cost.handoffSeconds();
      stream.isAsleep = false;
    }
    stream.workLeft = 1;
    result.commands[command].begin = now;
  }

  void end(Stream &stream) {
    result.commands[stream.running].end = now;
    ended[stream.running] = true;
    stream.running = -1;
  }

  void setPaces() {
    busyCollectives = busyComputations = 0;
    double memoryShares = 0;
    for (const Stream &stream : streams) {
      if (stream.running < 0 || at(stream.running).isEvent())
        continue;
      bool isCollective = at(stream.running).kind == CommandKind::Collective;
      (isCollective ? busyCollectives : busyComputations) += 1;
      double alone =
          std::max(stream.cost.unitSeconds, stream.cost.memorySeconds);
      if (alone > 0)
        memoryShares += stream.cost.memorySeconds / alone;
    }
    for (Stream &stream : streams)
      if (stream.running >= 0 && !at(stream.running).isEvent())
        stream.pace = paceOf(stream, memoryShares);
  }

  double paceOf(const Stream &stream, double memoryShares) const {
    double units = stream.cost.unitSeconds;
    double memory = stream.cost.memorySeconds * std::max(1.0, memoryShares);
    double factor = coresFactor(at(stream.running));
    // On a CPU, memory bandwidth grows with the cores that use it. On a GPU,
    // fewer than all cores keep memory busy.
    if (cost.machine().isCpu())
      return std::max(units, memory) * factor;
    return std::max(units * factor, memory);
  }

  /// The factor by which a command's units take longer because others run.
  double coresFactor(const PlanCommand &command) const {
    const Hardware &machine = cost.machine();
    bool isCollective = command.kind == CommandKind::Collective;
    if (!machine.isCpu())
      return isCollective || busyCollectives == 0 ? 1 : cost.slowdown();
    // On a CPU, the threads that want to run share the rank's part of the
    // cores.
    double share = double(machine.cores) / double(cost.ranks().numRanks());
    double own =
        isCollective ? machine.collectiveCores : double(cost.threads());
    double all = double(busyComputations * cost.threads()) +
                 double(busyCollectives) * machine.collectiveCores;
    if (own <= 0)
      return 1;
    return std::max(1.0, all / share) / std::max(1.0, own / share);
  }

  /// The next moment at which a command ends or can start; `never` if all are
  /// done.
  double nextMoment() {
    double moment = never;
    for (const Stream &stream : streams) {
      if (stream.running < 0) {
        if (stream.next < stream.commands.size())
          moment = std::min(moment, availableAt(stream.commands[stream.next]));
      } else if (!at(stream.running).isEvent()) {
        moment = std::min(moment, now + stream.secondsLeft());
      }
    }
    return moment;
  }

  void advance(double to) {
    double seconds = to - now;
    now = to;
    for (Stream &stream : streams) {
      if (stream.running < 0 || at(stream.running).isEvent())
        continue;
      // Rounding must not leave a remainder too short to move the clock.
      bool isDone = stream.secondsLeft() <= seconds + 1e-12 * now;
      double launching = std::min(seconds, stream.startLeft);
      stream.startLeft -= launching;
      if (stream.pace > 0)
        stream.workLeft -= (seconds - launching) / stream.pace;
      if (isDone)
        end(stream);
    }
  }

  void summarise() {
    const Hardware &machine = cost.machine();
    double peakSeconds = 0, sent = 0;
    result.rank.streams.resize(streams.size());
    for (size_t i = 0; i < issued.size(); ++i) {
      const PlanCommand &command = at(int64_t(i));
      result.seconds = std::max(result.seconds, result.commands[i].end);
      if (const MatmulRates *rates = matmulRatesOf(machine, command.dtype)) {
        if (command.kind == CommandKind::Matmul)
          peakSeconds += command.matmul.flops() / rates->peak;
        if (command.kind == CommandKind::Attention)
          peakSeconds += command.attention.flops() / rates->peak;
      }
      if (command.kind == CommandKind::Collective)
        sent += double(command.collective.bytesSent);
      if (command.stream == 0 && command.computes())
        result.computing += result.commands[i].seconds();
      result.rank.streams[command.stream].push_back(result.commands[i]);
    }
    if (machine.isCpu())
      peakSeconds /= cost.coresPerRank();
    if (result.seconds > 0) {
      result.matmulUtilisation = peakSeconds / result.seconds;
      if (sent > 0)
        result.linkUtilisation = sent / linkBandwidth(machine) / result.seconds;
    }
    result.exposure = exposureOf(plan, {result.rank});
  }

  const Plan &plan;
  const CostModel &cost;
  std::vector<Stream> streams;
  /// The numbers of commands in the order of issue. Below, a command is named
  /// by its position here.
  const std::vector<int64_t> issued;
  /// For each wait, the record for which it waits.
  std::vector<int64_t> recordOf;
  std::vector<bool> ended;
  /// For each command, the number of commands of stream 0 that precede it.
  std::vector<int64_t> issuedBehind;
  double now = 0;
  /// The numbers of streams that run a collective, and of streams that compute.
  int64_t busyCollectives = 0, busyComputations = 0;
  SimulatedStep result;
};

} // namespace

llvm::Expected<SimulatedStep> tpsp::simulate(const Plan &plan,
                                             const CostModel &cost) {
  Simulation simulation(plan, cost);
  if (llvm::Error error = simulation.prepare())
    return error;
  return simulation.run();
}
