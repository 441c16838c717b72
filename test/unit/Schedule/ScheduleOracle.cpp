#include "ScheduleOracle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

using namespace tpsp;

template <typename... Args>
static std::string say(const char *format, const Args &...args) {
  return llvm::formatv(format, args...).str();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

IssueClosure::IssueClosure(const Plan &step, llvm::ArrayRef<int64_t> issue,
                           std::string &wrong)
    : before(issue.size(), llvm::BitVector(issue.size())) {
  std::map<int64_t, size_t> lastOf, recordOf;
  for (size_t i = 0; i < issue.size(); ++i) {
    const PlanCommand &command = step.commands[issue[i]];
    auto follow = [&](size_t earlier) {
      before[i].set(earlier);
      before[i] |= before[earlier];
    };
    if (auto last = lastOf.find(command.stream); last != lastOf.end())
      follow(last->second);
    lastOf[command.stream] = i;
    if (command.kind == CommandKind::EventRecord &&
        !recordOf.try_emplace(command.event, i).second)
      wrong = say("event {0} is recorded twice", command.event);
    if (command.kind != CommandKind::EventWait)
      continue;
    if (auto record = recordOf.find(command.event); record != recordOf.end())
      follow(record->second);
    else
      wrong = say("event {0} is waited for and not recorded", command.event);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ScheduleOracle::ScheduleOracle(const Plan &step) : step(step) {
  findClasses();
  findConflicts();
}

namespace {

/// Calls `body` with the bytes [begin, end) of each run of an access.
template <typename Body>
void forEachRun(const Plan &step, const PlanAccess &access, Body body) {
  int64_t offset = *step.buffers[access.buffer].offset + access.part.begin;
  for (int64_t run = 0; run < access.part.count; ++run) {
    int64_t begin = offset + run * access.part.pitch;
    if (access.part.length > 0)
      body(begin, begin + access.part.length);
  }
}

} // namespace

void ScheduleOracle::findClasses() {
  // All accesses to memory. Lasting buffers are written before all commands and
  // read after them.
  std::vector<std::pair<Touch, PlanAccess>> all;
  int64_t end = step.commands.size();
  for (auto [i, buffer] : llvm::enumerate(step.buffers)) {
    PlanAccess whole{int64_t(i), {0, buffer.bytes, 1, 0}, false};
    if (buffer.lasts() && buffer.offset)
      all.push_back({{end, int64_t(i), false}, whole});
  }
  for (auto [i, command] : llvm::enumerate(step.commands))
    for (const PlanAccess &access : command.accesses)
      all.push_back({{int64_t(i), access.buffer, access.isWrite}, access});
  std::set<int64_t> borders;
  for (const auto &[touch, access] : all)
    forEachRun(step, access, [&](int64_t first, int64_t last) {
      borders.insert(first);
      borders.insert(last);
    });
  std::vector<int64_t> cells(borders.begin(), borders.end());
  std::vector<std::vector<size_t>> touchedBy(cells.size());
  for (size_t i = 0; i < all.size(); ++i)
    forEachRun(step, all[i].second, [&](int64_t first, int64_t last) {
      for (auto it = llvm::lower_bound(cells, first); *it != last; ++it)
        touchedBy[it - cells.begin()].push_back(i);
    });
  std::set<std::vector<size_t>> distinct(touchedBy.begin(), touchedBy.end());
  for (const std::vector<size_t> &touches : distinct) {
    ByteClass &bytes = classes.emplace_back();
    for (size_t i : touches)
      bytes.push_back(all[i].first);
  }
}

void ScheduleOracle::findConflicts() {
  std::set<std::pair<int64_t, int64_t>> found;
  int64_t end = step.commands.size();
  for (const ByteClass &bytes : classes)
    for (const Touch &a : bytes)
      for (const Touch &b : bytes)
        if (a.command < b.command && b.command != end &&
            (a.isWrite || b.isWrite))
          found.insert({a.command, b.command});
  std::map<std::set<AxisId>, std::vector<int64_t>> ofRanks;
  for (auto [i, command] : llvm::enumerate(step.commands)) {
    if (command.kind != CommandKind::Collective ||
        command.collective.group == 1)
      continue;
    const std::vector<AxisId> &axes = command.collective.axes;
    auto &others = ofRanks[std::set<AxisId>(axes.begin(), axes.end())];
    for (int64_t other : others)
      found.insert({other, int64_t(i)});
    others.push_back(i);
  }
  conflicts.assign(found.begin(), found.end());
}

std::string
ScheduleOracle::judgeBytes(const ByteClass &bytes,
                           llvm::ArrayRef<int64_t> positionOf) const {
  // Conflicts are ordered, and that order agrees with the order of issue. So a
  // byte's accesses can be judged in the order of issue, with reads first in a
  // command.
  std::vector<std::tuple<int64_t, bool, int64_t>> events;
  int64_t owner = -1;
  for (const Touch &touch : bytes) {
    if (positionOf[touch.command] >= 0)
      events.push_back(
          {positionOf[touch.command], touch.isWrite, touch.buffer});
    if (step.buffers[touch.buffer].isArgument()) {
      if (owner >= 0 && owner != touch.buffer)
        return say("arguments {0} and {1} share bytes", owner, touch.buffer);
      owner = touch.buffer;
    }
  }
  llvm::sort(events);
  std::set<int64_t> written;
  if (owner >= 0)
    written.insert(owner);
  for (auto [position, isWrite, buffer] : events) {
    if (isWrite && !written.insert(buffer).second)
      return say("position {0} writes buffer {1} again", position, buffer);
    if (!isWrite && owner != buffer)
      return say("position {0} reads buffer {1}, but buffer {2} is there",
                 position, buffer, owner);
    if (isWrite)
      owner = buffer;
  }
  // A command that reads and writes a byte would race with itself.
  for (size_t i = 1; i < events.size(); ++i)
    if (std::get<0>(events[i - 1]) == std::get<0>(events[i]) &&
        std::get<1>(events[i]))
      return say("position {0} writes a byte that it touches otherwise too",
                 std::get<0>(events[i]));
  return "";
}

std::string ScheduleOracle::judge(llvm::ArrayRef<int64_t> issue) const {
  std::string wrong;
  IssueClosure closure(step, issue, wrong);
  if (!wrong.empty())
    return wrong;
  std::vector<int64_t> positionOf(step.commands.size() + 1, -1);
  for (auto [position, command] : llvm::enumerate(issue))
    positionOf[command] = position;
  positionOf.back() = issue.size();
  for (auto [a, b] : conflicts)
    if (positionOf[a] >= 0 && positionOf[b] >= 0 &&
        !closure.areOrdered(positionOf[a], positionOf[b]))
      return say("commands {0} and {1} are not ordered", a, b);
  for (const ByteClass &bytes : classes)
    if (std::string bad = judgeBytes(bytes, positionOf); !bad.empty())
      return bad;
  return "";
}

std::string ScheduleOracle::judge() const {
  std::vector<int64_t> all;
  for (size_t i = 0; i < step.commands.size(); ++i)
    all.push_back(i);
  return judge(all);
}
