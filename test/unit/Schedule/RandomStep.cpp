#include "RandomStep.h"

#include <algorithm>

using namespace tpsp;

namespace {

class StepDrawer {
public:
  StepDrawer(std::mt19937 &random, const RandomStepShape &shape)
      : random(random), shape(shape) {}

  Plan run() {
    step.mesh = {{"x", 2, AxisRole::None}, {"y", 2, AxisRole::None}};
    step.numStreams = shape.streams;
    step.arenaBytes = shape.arenaBytes;
    addBuffer().kind = BufferKind::Input;
    held.push_back({0, true, {}});
    for (int64_t i = 0; i < shape.commands; ++i)
      addCommand();
    finish();
    return std::move(step);
  }

private:
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  bool chance(int64_t outOfThousand) { return draw(1, 1000) <= outOfThousand; }

  /// A buffer and how much of it has been written.
  struct Held {
    int64_t buffer;
    bool isWhole;                      // all of it has been written
    std::vector<BufferPart> unwritten; // else the rest
  };

  PlanBuffer &addBuffer() {
    PlanBuffer &buffer = step.buffers.emplace_back();
    buffer.bytes = 4 * draw(1, 6);
    buffer.offset = place(buffer.bytes);
    return buffer;
  }

  bool isFree(int64_t offset, int64_t bytes) const {
    for (const Held &other : held) {
      const PlanBuffer &buffer = step.buffers[other.buffer];
      if (offset < *buffer.offset + buffer.bytes &&
          *buffer.offset < offset + bytes)
        return false;
    }
    return true;
  }

  /// Returns an offset, mostly without buffers that are still needed. Buffers
  /// that the current command reads are needed, too.
  int64_t place(int64_t bytes) {
    int64_t last = shape.arenaBytes - bytes;
    for (int attempt = 0; attempt < 50; ++attempt) {
      int64_t offset = draw(0, last / 4) * 4;
      if (isFree(offset, bytes) || chance(shape.careless))
        return offset;
    }
    return draw(0, last / 4) * 4;
  }

  /// Drops a buffer that is not needed any more.
  void forgetOne() {
    if (held.size() < 2 || draw(0, 2) == 0)
      return;
    size_t which = draw(1, held.size() - 1);
    held.erase(held.begin() + which);
  }

  /// Returns the parts of a buffer that commands write one by one.
  std::vector<BufferPart> partsOf(int64_t bytes) {
    if (bytes % 8 == 0 && draw(0, 1)) // two tiles of several runs
      return {{0, 4, bytes / 8, 8}, {4, 4, bytes / 8, 8}};
    if (bytes >= 8 && draw(0, 1))
      return {{0, 4, 1, 0}, {4, bytes - 4, 1, 0}};
    return {{0, bytes, 1, 0}};
  }

  void write(PlanCommand &command) {
    std::vector<size_t> open;
    for (size_t i = 0; i < held.size(); ++i)
      if (!held[i].isWhole)
        open.push_back(i);
    if (open.empty() || draw(0, 1)) {
      int64_t buffer = step.buffers.size();
      std::vector<BufferPart> parts = partsOf(addBuffer().bytes);
      held.push_back({buffer, false, parts});
      open.push_back(held.size() - 1);
    }
    Held &target = held[open.back()];
    command.accesses.push_back({target.buffer, target.unwritten.back(), true});
    target.unwritten.pop_back();
    target.isWhole = target.unwritten.empty();
  }

  void read(PlanCommand &command) {
    const Held &source = held[draw(0, held.size() - 1)];
    if (!source.isWhole && !chance(20))
      return;
    int64_t bytes = step.buffers[source.buffer].bytes;
    BufferPart part{0, bytes, 1, 0};
    if (bytes > 4 && draw(0, 2) == 0) {
      part.begin = 4 * draw(0, bytes / 4 - 1);
      part.length = 4 * draw(1, (bytes - part.begin) / 4);
    }
    command.accesses.push_back({source.buffer, part, false});
  }

  void addCommand() {
    PlanCommand command;
    if (draw(0, 3) == 0) {
      command.kind = CommandKind::Collective;
      command.collective.axes.push_back(draw(0, 1));
      command.collective.group = 2;
      command.stream = std::min(draw(0, 9) ? 1 : draw(0, 2), shape.streams - 1);
    } else {
      command.stream = draw(0, 2) ? 0 : draw(0, shape.streams - 1);
    }
    for (int64_t reads = draw(0, 2); reads > 0; --reads)
      read(command);
    write(command);
    if (draw(0, 4) == 0)
      write(command);
    if (draw(0, 1))
      std::reverse(command.accesses.begin(), command.accesses.end());
    waitForOthers(command);
    step.commands.push_back(command);
    forgetOne();
  }

  static bool shareBytes(const Plan &step, const PlanCommand &a,
                         const PlanCommand &b) {
    for (const PlanAccess &x : a.accesses)
      for (const PlanAccess &y : b.accesses) {
        // A new buffer comes after all uses of the buffers that had its memory
        // before.
        const PlanBuffer &mine = step.buffers[x.buffer];
        const PlanBuffer &theirs = step.buffers[y.buffer];
        bool sameMemory = *mine.offset < *theirs.offset + theirs.bytes &&
                          *theirs.offset < *mine.offset + mine.bytes;
        bool sameBytes = x.part.begin < y.part.end() &&
                         y.part.begin < x.part.end() &&
                         (x.isWrite || y.isWrite);
        if (x.buffer == y.buffer ? sameBytes : sameMemory)
          return true;
      }
    return a.kind == CommandKind::Collective &&
           b.kind == CommandKind::Collective &&
           a.collective.axes == b.collective.axes;
  }

  /// Adds events, mostly, for the commands after which this command must come.
  void waitForOthers(const PlanCommand &command) {
    std::vector<bool> done(shape.streams, false);
    done[command.stream] = true;
    for (size_t i = step.commands.size(); i-- > 0;) {
      const PlanCommand earlier = step.commands[i];
      if (earlier.isEvent() || done[earlier.stream] ||
          !shareBytes(step, earlier, command))
        continue;
      done[earlier.stream] = true;
      if (chance(shape.forgotten))
        continue;
      PlanCommand event;
      event.event = step.numEvents++;
      event.kind = CommandKind::EventRecord;
      event.stream = earlier.stream;
      step.commands.push_back(event);
      event.kind = CommandKind::EventWait;
      event.stream = command.stream;
      step.commands.push_back(event);
    }
  }

  /// A buffer that is whole at the end may become a result.
  void finish() {
    for (const Held &buffer : held)
      if (buffer.isWhole && buffer.buffer > 0 && draw(0, 2) == 0)
        step.buffers[buffer.buffer].kind = BufferKind::Output;
  }

  std::mt19937 &random;
  const RandomStepShape shape;
  Plan step;
  std::vector<Held> held;
};

} // namespace

Plan tpsp::randomStep(std::mt19937 &random, const RandomStepShape &shape) {
  return StepDrawer(random, shape).run();
}
