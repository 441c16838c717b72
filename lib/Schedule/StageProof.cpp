#include "tpsp/Schedule/StageProof.h"

#include "tpsp/Abi/StepOrder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

using namespace tpsp;

namespace {

class StageProof {
public:
  explicit StageProof(const Plan &plan)
      : plan(plan), orders(StepOrder::ofStages(plan)), sums(sumUses()) {}

  std::optional<std::string> run() {
    if (std::optional<std::string> fault = checkTransfers())
      return fault;
    for (int64_t stage = 0; stage < plan.numStages(); ++stage)
      for (auto check : {&StageProof::checkCounts, &StageProof::checkSums})
        if (std::optional<std::string> fault = (this->*check)(stage))
          return fault;
    return execute();
  }

private:
  /// The position of an action: its stage, and its number there.
  struct At {
    int64_t stage, number;
    bool operator<(const At &other) const {
      return std::pair(stage, number) < std::pair(other.stage, other.number);
    }
  };
  /// A side of a transfer: its segment and its micro-batch.
  using Side = std::pair<int64_t, int64_t>;

  /// Every command of a send has its command of the receive, of as many bytes.
  std::optional<std::string> checkTransfers() const {
    std::vector<std::vector<int64_t>> moved(plan.segments.size());
    std::vector<int64_t> streams(plan.segments.size(), 0);
    for (const PlanCommand &command : plan.commands)
      if (plan.segments[command.segment].isTransfer() && !command.isEvent()) {
        moved[command.segment].push_back(command.bytesRead() +
                                         command.bytesWritten());
        streams[command.segment] = command.stream;
      }
    for (size_t number = 0; number < plan.segments.size(); ++number) {
      const PlanSegment &segment = plan.segments[number];
      if (segment.work != SegmentWork::Send)
        continue;
      if (segment.peer < 0)
        return fmt::format("'{}' has no receive", segment.name);
      if (moved[number] != moved[segment.peer])
        return fmt::format("'{}' sends {} bytes, but '{}' receives {}",
                           segment.name, listed(moved[number]),
                           plan.segments[segment.peer].name,
                           listed(moved[segment.peer]));
      if (streams[number] != streams[segment.peer])
        return fmt::format("'{}' is on stream {}, but '{}' is on stream {}",
                           segment.name, streams[number],
                           plan.segments[segment.peer].name,
                           streams[segment.peer]);
    }
    return std::nullopt;
  }

  /// "64, 128", or "no".
  static std::string listed(const std::vector<int64_t> &bytes) {
    return bytes.empty() ? "no" : fmt::format("{}", fmt::join(bytes, ", "));
  }

  const IssuedAction &actionAt(At at) const {
    return orders[at.stage].actions[at.number];
  }

  std::string describe(At at) const {
    const IssuedAction &action = actionAt(at);
    const PlanSegment &segment = plan.segments[action.segment];
    std::string part =
        segment.isOfMicroBatch()
            ? fmt::format(" of micro-batch {}", action.microBatch)
            : "";
    return fmt::format("'{}'{} on stage {}", segment.name, part, at.stage);
  }

  std::optional<std::string> checkCounts(int64_t stage) {
    std::map<Side, int64_t> counts;
    for (int64_t i = 0; i < int64_t(orders[stage].actions.size()); ++i) {
      const IssuedAction &action = orders[stage].actions[i];
      const PlanSegment &segment = plan.segments[action.segment];
      int64_t first = segment.firstOf(plan.microBatches);
      if (!segment.runsOn(stage) || action.microBatch < first ||
          action.microBatch >= first + plan.timesOf(segment))
        return describe({stage, i}) + " is no action of this stage";
      if (++counts[{action.segment, action.microBatch}] > 1)
        return describe({stage, i}) + " comes twice";
      places[{action.segment, action.microBatch}][stage] = i;
    }
    for (int64_t number = 0; number < int64_t(plan.segments.size()); ++number) {
      const PlanSegment &segment = plan.segments[number];
      int64_t first = segment.firstOf(plan.microBatches);
      int64_t end = first + plan.timesOf(segment);
      for (int64_t part = first; part < end && segment.runsOn(stage); ++part)
        if (!counts.count({number, part}))
          return fmt::format("'{}' of micro-batch {} is missing on stage {}",
                             segment.name, part, stage);
    }
    return std::nullopt;
  }

  /// The sums over micro-batches that a segment adds to, and those that it
  /// reads complete.
  struct SumUse {
    std::set<int64_t> added, read;
  };

  std::vector<SumUse> sumUses() const {
    std::vector<SumUse> uses(plan.segments.size());
    for (const PlanCommand &command : plan.commands) {
      std::set<int64_t> written;
      for (const PlanAccess &access : command.accesses)
        if (access.isWrite)
          written.insert(access.buffer);
      for (const PlanAccess &access : command.accesses) {
        if (!plan.buffers[access.buffer].isSum)
          continue;
        bool isAdded = written.count(access.buffer) > 0;
        SumUse &use = uses[command.segment];
        (isAdded ? use.added : use.read).insert(access.buffer);
      }
    }
    return uses;
  }

  /// No micro-batch adds to a sum that has been read.
  std::optional<std::string> checkSums(int64_t stage) {
    std::map<int64_t, int64_t> readBy;
    for (int64_t i = 0; i < int64_t(orders[stage].actions.size()); ++i) {
      const SumUse &use = sums[orders[stage].actions[i].segment];
      for (int64_t buffer : use.added)
        if (auto reader = readBy.find(buffer); reader != readBy.end())
          return describe({stage, i}) + " adds to a sum that " +
                 describe({stage, reader->second}) + " has read";
      for (int64_t buffer : use.read)
        readBy.try_emplace(buffer, i);
    }
    return std::nullopt;
  }

  /// The other side of a transfer; nullopt for other actions.
  std::optional<At> otherSide(At at) const {
    const IssuedAction &action = actionAt(at);
    const PlanSegment &segment = plan.segments[action.segment];
    if (!segment.isTransfer() || segment.peer < 0)
      return std::nullopt;
    const auto &found = places.at({segment.peer, action.microBatch});
    return At{found.begin()->first, found.begin()->second};
  }

  /// Ends actions as long as one can end. An action of a stream begins when the
  /// one before it has ended; a transfer ends when both sides have begun.
  std::optional<std::string> execute() {
    size_t left = 0;
    for (int64_t stage = 0; stage < plan.numStages(); ++stage) {
      const std::vector<IssuedAction> &actions = orders[stage].actions;
      ended.emplace_back(actions.size(), false);
      left += actions.size();
      for (int64_t i = 0; i < int64_t(actions.size()); ++i)
        streams[{stage, actions[i].stream}].push_back(i);
    }
    bool hasMoved = true;
    while (left > 0 && hasMoved) {
      hasMoved = false;
      for (auto &[key, actions] : streams)
        while (next[key] < actions.size() &&
               tryEnd({key.first, actions[next[key]]})) {
          ++next[key];
          --left;
          hasMoved = true;
        }
    }
    if (left == 0)
      return std::nullopt;
    for (auto &[key, actions] : streams)
      if (next[key] < actions.size())
        return blame({key.first, actions[next[key]]});
    return std::nullopt;
  }

  bool tryEnd(At at) {
    if (!mayBegin(at))
      return false;
    std::optional<At> other = otherSide(at);
    // The other side may have ended: both end together.
    if (other && !ended[other->stage][other->number] && !isNext(*other))
      return false;
    ended[at.stage][at.number] = true;
    return true;
  }

  /// Whether an action is the next of its stream, and may begin.
  bool isNext(At at) {
    std::pair<int64_t, int64_t> key{at.stage, actionAt(at).stream};
    const std::vector<int64_t> &actions = streams[key];
    size_t first = next[key];
    return first < actions.size() && actions[first] == at.number &&
           mayBegin(at);
  }

  bool mayBegin(At at) const {
    for (int64_t before : actionAt(at).waits)
      if (!ended[at.stage][before])
        return false;
    return true;
  }

  std::string blame(At at) const {
    std::string text = describe(at) + " never begins: ";
    for (int64_t before : actionAt(at).waits)
      if (!ended[at.stage][before])
        return text + "it waits for " + describe({at.stage, before});
    if (std::optional<At> other = otherSide(at))
      return text + "its other side, " + describe(*other) +
             ", comes after an action that waits for it, or the two stages "
             "have their transfers in different orders";
    return text + "an action that it waits for does not end";
  }

  const Plan &plan;
  const std::vector<StepOrder> orders;
  const std::vector<SumUse> sums; ///< of each segment
  /// The position of each segment and micro-batch on each stage.
  std::map<Side, std::map<int64_t, int64_t>> places;
  std::vector<std::vector<bool>> ended;
  /// The actions of each stage's streams, and how many of them have ended.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> streams;
  std::map<std::pair<int64_t, int64_t>, size_t> next;
};

} // namespace

std::optional<std::string> tpsp::proveStages(const Plan &plan) {
  return StageProof(plan).run();
}
