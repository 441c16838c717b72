#include "tpsp/Schedule/ScheduleProof.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tpsp;

namespace {

template <typename... Args>
std::string message(const char *format, const Args &...args) {
  return llvm::formatv(format, args...).str();
}

/// The latest access of one stream to one part of a buffer. Earlier accesses on
/// the stream have ended when it has.
struct LatestAccess {
  int64_t command;
  BufferPart part;
  bool isWrite;
};

/// A buffer that occupies bytes of the arena now, or the rest of a buffer that
/// another has overwritten in part.
struct Tenant {
  /// One past its last byte.
  int64_t end = 0;
  int64_t buffer = 0;
  /// Whether it is such a rest. It cannot be read any more, but its users must
  /// have ended before the next buffer takes these bytes.
  bool isRest = false;
  std::vector<LatestAccess> accesses;
  /// Distinct parts that have been written.
  std::vector<BufferPart> written;
  /// The previous users of these bytes, which must have ended before any access
  /// to this buffer, and one of them for messages.
  StreamClock mustHaveEnded;
  int64_t previousCommand = -1, previousBuffer = -1;
};

bool writes(const PlanCommand &command, int64_t buffer) {
  return llvm::any_of(command.accesses, [&](const PlanAccess &access) {
    return access.isWrite && access.buffer == buffer;
  });
}

/// Whether the command reads the part that `written` writes.
bool readsInPlace(const PlanCommand &command, const PlanAccess &written) {
  return llvm::any_of(command.accesses, [&](const PlanAccess &access) {
    return !access.isWrite && access.buffer == written.buffer &&
           access.part == written.part;
  });
}

/// Checks that every byte is written once, in parts that do not overlap. So a
/// read after its writes reads the right values.
std::optional<StepFault> noteWritten(Tenant &tenant, int64_t command,
                                     const BufferPart &part) {
  for (const BufferPart &written : tenant.written)
    if (written.overlaps(part))
      return StepFault{"writes what has been written to the buffer before",
                       command, -1, tenant.buffer};
  tenant.written.push_back(part);
  return std::nullopt;
}

/// Whether all bytes of `part` have been written; `whole` is all of the buffer.
bool isWritten(const Tenant &tenant, const BufferPart &whole,
               const BufferPart &part) {
  int64_t bytes = 0;
  for (const BufferPart &written : tenant.written) {
    if (written == part || written == whole)
      return true;
    bytes += written.commonBytes(part);
  }
  return bytes == part.bytes();
}

class Prover {
public:
  explicit Prover(const Plan &plan)
      : plan(plan), overwrittenBy(plan.buffers.size(), -1) {}

  std::optional<StepFault> run() {
    if (auto fault = HappensBefore::analyse(plan, before))
      return fault;
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (auto fault = checkBuffer(i))
        return fault;
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      if (auto fault = checkCommand(i))
        return fault;
      if (auto fault = checkCommunicator(i))
        return fault;
    }
    return checkEnd();
  }

private:
  int64_t beginOf(int64_t buffer) const { return *plan.buffers[buffer].offset; }
  int64_t endOf(int64_t buffer) const {
    return beginOf(buffer) + plan.buffers[buffer].bytes;
  }
  BufferPart whole(int64_t buffer) const {
    return {0, plan.buffers[buffer].bytes, 1, 0};
  }

  std::optional<StepFault> checkBuffer(int64_t number) {
    const PlanBuffer &buffer = plan.buffers[number];
    if (!buffer.offset)
      return std::nullopt; // a fault if it is used
    if (beginOf(number) < 0 || endOf(number) > plan.arenaBytes)
      return StepFault{
          message("lies outside the arena of {0} bytes: [{1}, {2})",
                  plan.arenaBytes, beginOf(number), endOf(number)),
          -1, -1, number};
    if (buffer.isArgument())
      moveIn(number).written.push_back(whole(number));
    return std::nullopt;
  }

  /// Checks that results are complete, and that arguments are still there for
  /// the next step.
  std::optional<StepFault> checkEnd() {
    for (auto [i, buffer] : llvm::enumerate(plan.buffers)) {
      const char *what =
          buffer.isResult() ? "is returned" : "is needed by the next step";
      if (buffer.isResult() || (buffer.isArgument() && buffer.offset))
        if (auto fault = checkHeld(-1, i, whole(i), what))
          return fault;
      if (buffer.updatedBy >= 0 && !updated.count(i))
        return StepFault{message("never updates '{0}'", buffer.name), -1, -1,
                         int64_t(i)};
    }
    return std::nullopt;
  }

  std::optional<StepFault> checkCommand(int64_t command) {
    const std::vector<PlanAccess> &accesses = plan.commands[command].accesses;
    for (const PlanAccess &access : accesses) {
      const PlanBuffer &buffer = plan.buffers[access.buffer];
      if (!buffer.offset)
        return StepFault{"has no offset; run tpsp-allocate first", -1, -1,
                         access.buffer};
      if (access.part.begin < 0 || access.part.end() > buffer.bytes)
        return StepFault{message("touches bytes [{0}, {1}) of a buffer of {2}",
                                 access.part.begin, access.part.end(),
                                 buffer.bytes),
                         command, -1, access.buffer};
    }
    for (const PlanAccess &access : accesses)
      if (!access.isWrite)
        if (auto fault = checkRead(command, access))
          return fault;
    // Reads are checked first, in whatever order they are listed, because a
    // write may take over their memory.
    for (const PlanAccess &access : accesses)
      if (!access.isWrite)
        if (auto fault = touch(command, access))
          return fault;
    for (const PlanAccess &access : accesses)
      if (access.isWrite)
        if (auto fault = checkWrite(command, access))
          return fault;
    return std::nullopt;
  }

  /// An argument's readers want its old value, so none may come after its
  /// update.
  std::optional<StepFault> checkRead(int64_t command,
                                     const PlanAccess &access) {
    if (plan.buffers[access.buffer].isSum &&
        !writes(plan.commands[command], access.buffer))
      readSums.insert(access.buffer);
    if (updated.count(access.buffer))
      return StepFault{message("reads '{0}' after its update",
                               plan.buffers[access.buffer].name),
                       command, -1, access.buffer};
    return checkHeld(command, access.buffer, access.part, "is read");
  }

  std::optional<StepFault> checkWrite(int64_t command,
                                      const PlanAccess &access) {
    if (!plan.buffers[access.buffer].isWritten())
      return StepFault{message("writes an argument, '{0}'",
                               plan.buffers[access.buffer].name),
                       command, -1, access.buffer};
    Tenant *tenant = tenantOf(access.buffer);
    if (!tenant)
      moveIn(access.buffer);
    // With its first new byte, an argument counts as unwritten.
    else if (plan.buffers[access.buffer].isArgument() &&
             updated.insert(access.buffer).second)
      tenant->written.clear();
    else if (auto fault = checkSum(command, access, *tenant))
      return fault;
    return touch(command, access);
  }

  /// A micro-batch adds to a sum in place. So it reads what it writes, and the
  /// sum's readers come after the last micro-batch.
  std::optional<StepFault> checkSum(int64_t command, const PlanAccess &access,
                                    Tenant &tenant) {
    const PlanBuffer &buffer = plan.buffers[access.buffer];
    if (!buffer.isSum)
      return std::nullopt;
    if (readSums.count(access.buffer))
      return StepFault{message("adds to '{0}' after a command has read the sum",
                               buffer.name),
                       command, -1, access.buffer};
    if (readsInPlace(plan.commands[command], access))
      llvm::erase(tenant.written, access.part);
    return std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Tenants of the arena
  //===--------------------------------------------------------------------===//

  /// The tenant of a buffer; null if it was never written, or was overwritten
  /// by another buffer.
  Tenant *tenantOf(int64_t buffer) {
    auto it = tenants.find(beginOf(buffer));
    bool isHere = it != tenants.end() && it->second.buffer == buffer &&
                  !it->second.isRest;
    return isHere ? &it->second : nullptr;
  }

  /// Makes room for a buffer. Buffers whose bytes it takes lose all their
  /// contents, because nobody reads half a buffer.
  Tenant &moveIn(int64_t buffer) {
    Tenant tenant;
    tenant.end = endOf(buffer);
    tenant.buffer = buffer;
    tenant.mustHaveEnded.assign(plan.numStreams, 0);
    int64_t begin = beginOf(buffer);
    auto it = tenants.upper_bound(begin);
    if (it != tenants.begin() && std::prev(it)->second.end > begin)
      --it;
    while (it != tenants.end() && it->first < tenant.end) {
      int64_t previousBegin = it->first;
      Tenant previous = std::move(it->second);
      it = tenants.erase(it);
      moveOut(previous, tenant);
      if (previousBegin < begin)
        tenants[previousBegin] = restOf(previous, begin);
      if (tenant.end < previous.end)
        tenants[tenant.end] = restOf(previous, previous.end);
    }
    return tenants[begin] = std::move(tenant);
  }

  /// The rest of a tenant up to `end`, with the last access of each stream.
  Tenant restOf(const Tenant &tenant, int64_t end) {
    Tenant rest;
    rest.end = end;
    rest.buffer = tenant.buffer;
    rest.isRest = true;
    for (const LatestAccess &access : tenant.accesses) {
      auto isSameStream = [&](const LatestAccess &known) {
        return before.positionOf(known.command).stream ==
               before.positionOf(access.command).stream;
      };
      auto known = llvm::find_if(rest.accesses, isSameStream);
      if (known == rest.accesses.end())
        rest.accesses.push_back(access);
      else if (known->command < access.command)
        known->command = access.command;
    }
    return rest;
  }

  void moveOut(const Tenant &previous, Tenant &next) {
    if (!previous.isRest)
      overwrittenBy[previous.buffer] = next.buffer;
    // The previous tenant's accesses have waited for the tenants before it.
    for (const LatestAccess &access : previous.accesses) {
      HappensBefore::StreamPosition position =
          before.positionOf(access.command);
      int64_t &ended = next.mustHaveEnded[position.stream];
      if (position.number < ended)
        continue;
      ended = position.number + 1;
      next.previousCommand = access.command;
      next.previousBuffer = previous.buffer;
    }
  }

  /// Checks that every byte of `part` has been written to the buffer and was
  /// not overwritten.
  std::optional<StepFault> checkHeld(int64_t command, int64_t buffer,
                                     const BufferPart &part, const char *what) {
    Tenant *tenant = plan.buffers[buffer].offset ? tenantOf(buffer) : nullptr;
    if (tenant && isWritten(*tenant, whole(buffer), part))
      return std::nullopt;
    int64_t other = tenant ? -1 : overwrittenBy[buffer];
    const char *when = other >= 0 ? "after another has overwritten it"
                       : tenant && !tenant->written.empty()
                           ? "before all of it has been written"
                           : "before anything has written it";
    return StepFault{message("a buffer {0} {1}", what, when), command, -1,
                     buffer, other};
  }

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  std::optional<StepFault> touch(int64_t command, const PlanAccess &access) {
    Tenant &tenant = *tenantOf(access.buffer);
    if (tenant.previousCommand == command)
      return StepFault{"writes over what it reads itself", command, -1,
                       access.buffer, tenant.previousBuffer};
    if (!isCovered(tenant.mustHaveEnded, before.clockOf(command)))
      return StepFault{
          "may begin before a command has ended that uses the same "
          "memory for another buffer",
          command, tenant.previousCommand, access.buffer,
          tenant.previousBuffer};
    for (const LatestAccess &earlier : tenant.accesses)
      if ((access.isWrite || earlier.isWrite) && earlier.command != command &&
          access.part.overlaps(earlier.part) &&
          !before.endsBefore(earlier.command, command))
        return StepFault{
            message("may begin before a command has ended that {0} what it {1}",
                    earlier.isWrite ? "writes" : "reads",
                    access.isWrite ? "writes" : "reads"),
            command, earlier.command, access.buffer};
    note(tenant, command, access);
    return access.isWrite ? noteWritten(tenant, command, access.part)
                          : std::nullopt;
  }

  void note(Tenant &tenant, int64_t command, const PlanAccess &access) {
    int64_t stream = before.positionOf(command).stream;
    for (LatestAccess &known : tenant.accesses)
      if (known.isWrite == access.isWrite && known.part == access.part &&
          before.positionOf(known.command).stream == stream) {
        known.command = command;
        return;
      }
    tenant.accesses.push_back({command, access.part, access.isWrite});
  }

  /// Checks the order of a communicator's collectives. On two streams, ranks
  /// could start two of them in different orders although all run the same
  /// commands. Transfers have a communicator for each stream (StageProof.h).
  std::optional<StepFault> checkCommunicator(int64_t command) {
    const PlanCommand &c = plan.commands[command];
    if (!c.communicates() || c.collective.kind == CollectiveKind::Transfer)
      return std::nullopt;
    std::vector<AxisId> axes(c.collective.axes.begin(),
                             c.collective.axes.end());
    llvm::sort(axes);
    auto [latest, isNew] = latestOf.try_emplace(axes, command);
    int64_t previous = latest->second;
    latest->second = command;
    if (isNew || plan.commands[previous].stream == c.stream ||
        before.endsBefore(previous, command))
      return std::nullopt;
    return StepFault{
        "is not ordered with another collective of the same ranks: "
        "ranks could run the two in different orders",
        command, previous};
  }

  const Plan &plan;
  HappensBefore before;
  /// Arguments that have been written.
  std::set<int64_t> updated;
  /// The sums over micro-batches that have been read.
  std::set<int64_t> readSums;
  std::map<int64_t, Tenant> tenants; // by first byte; disjoint
  std::vector<int64_t> overwrittenBy;
  std::map<std::vector<AxisId>, int64_t> latestOf;
};

} // namespace

std::optional<StepFault> tpsp::proveSchedule(const Plan &plan) {
  return Prover(plan).run();
}
