#include "PrepareCall.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <algorithm>
#include <type_traits>

namespace tpsp::rt {
namespace {

/// Whether a command names the mesh axes of its group. Otherwise its group is
/// the rank alone.
template <typename Command>
constexpr bool hasGroup =
    isCollective<Command> || std::is_same_v<Command, SliceCommand>;

template <typename Command>
std::vector<int64_t> axesOf(const Command &command) {
  if constexpr (hasGroup<Command>)
    return command.axes;
  else
    return {};
}

/// Checks a command and fills in the fields that depend on the rank.
class CallChecker {
public:
  CallChecker(const BackendContext &world, int64_t rank, int64_t microBatch,
              Call &call)
      : world(world), rank(rank), microBatch(microBatch), call(call) {}

  template <typename Command> Status operator()(const Command &c) {
    if constexpr (std::is_base_of_v<AttentionCommand, Command>)
      TPSP_TRY(addStart(c.queryStart));
    if constexpr (std::is_same_v<GroupedMatmulCommand, Command>)
      TPSP_TRY(addStart(c.firstGroup));
    TPSP_TRY(findGroup(axesOf(c)));
    TPSP_TRY(checkFigures(c));
    std::vector<BufferUse> uses = c.buffers(call.group.size());
    TPSP_TRY(checkBuffers(uses));
    return checkApart(c, uses);
  }

  Status operator()(const KernelCommand &c) {
    if (!call.kernel)
      return invalid("the command has no kernel");
    for (const PartStart &position : c.positions)
      TPSP_TRY(addStart(position));
    // For a kernel's buffers only the starts are known.
    for (int64_t offset : call.buffers)
      if (offset < 0 || offset > world.config.arenaBytes)
        return invalid("a buffer at byte {} of an arena of {}", offset,
                       world.config.arenaBytes);
    return findGroup({});
  }

  /// The two ranks of a transfer are its group.
  Status operator()(const TransferCommand &c) {
    TPSP_TRY(findGroup(c.axes));
    RankGroup all = call.group;
    if (c.from >= all.size() || c.to >= all.size() ||
        (all.self != c.from && all.self != c.to))
      return invalid("a transfer from rank {} to rank {} of a group of {}, in "
                     "which this rank is {}",
                     c.from, c.to, all.size(), all.self);
    call.group.ranks = {all.ranks[c.from], all.ranks[c.to]};
    call.group.self = all.self == c.from ? 0 : 1;
    return checkBuffers(c.buffers(call.group.size()));
  }

private:
  /// A buffer of at least one byte, as a range of the arena.
  struct Range {
    int64_t begin, end;
    const BufferUse *use;
  };

  Status findGroup(const std::vector<int64_t> &axes) {
    return world.mesh.group(rank, axes, call.group);
  }

  Status addStart(const PartStart &start) {
    TPSP_TRY(findGroup(start.axes));
    int64_t position = start.of(call.group.self, call.group.size(), microBatch);
    call.dependsOnMicroBatch |= start.batchStride != 0;
    if (position < 0)
      return invalid("a part that starts at position {}", position);
    call.positions.push_back(position);
    return {};
  }

  /// Checks the figures that depend on the world.
  template <typename Command> Status checkFigures(const Command &c) {
    if constexpr (std::is_same_v<Command, PermuteCommand>)
      if (static_cast<int64_t>(c.source.size()) != call.group.size())
        return invalid("{} sources for a group of {} ranks", c.source.size(),
                       call.group.size());
    if constexpr (std::is_base_of_v<EventCommand, Command>)
      if (c.event >= world.config.numEvents)
        return invalid("event {} of a world with {} of them", c.event,
                       world.config.numEvents);
    return {};
  }

  Status checkBuffers(const std::vector<BufferUse> &uses) {
    if (call.buffers.size() != uses.size())
      return invalid("{} buffers; expected {}", call.buffers.size(),
                     uses.size());
    int64_t arena = world.config.arenaBytes;
    for (size_t i = 0; i < uses.size(); ++i) {
      int64_t width = elementBytes(uses[i].dtype), offset = call.buffers[i];
      int64_t bytes = uses[i].elements * width;
      if (offset < 0 || offset > arena || bytes > arena - offset)
        return invalid(
            "buffer {} ({}) is {} bytes at byte {} of an arena of {}", i,
            uses[i].role, bytes, offset, arena);
      if (offset % width != 0)
        return invalid("buffer {} ({}) at byte {} is not aligned "
                       "to {}",
                       i, uses[i].role, offset, elementName(uses[i].dtype));
    }
    return {};
  }

  /// Written buffers must not overlap any other buffer of the command.
  template <typename Command>
  Status checkApart(const Command &, const std::vector<BufferUse> &uses) {
    // In a group of one rank, a destination may be its source.
    bool mayBeInPlace = hasGroup<Command> && call.group.size() == 1;
    return checkDisjoint(rangesOf(uses, mayBeInPlace));
  }

  /// Other ranks still read a source while results are written. In an
  /// all_reduce each rank writes only elements that no other rank reads, so the
  /// destination may be the source.
  Status checkApart(const AllReduceCommand &,
                    const std::vector<BufferUse> &uses) {
    return checkDisjoint(rangesOf(uses, /*mayBeInPlace=*/true));
  }

  /// C may lie between A's or B's rows, as a tile of the same tensor.
  Status checkApart(const MatmulCommand &c,
                    const std::vector<BufferUse> &uses) {
    if (c.epilogue.empty())
      return {};
    if (c.adds() && call.buffers[3] != call.buffers[2])
      return invalid("a product that is added at byte {} to C at byte {}; "
                     "expected one buffer",
                     call.buffers[3], call.buffers[2]);
    std::vector<Range> operands, results;
    for (const Range &range : rangesOf(uses, /*mayBeInPlace=*/false)) {
      size_t index = range.use - uses.data();
      if (c.adds() && index == 3) // C, which comes before
        continue;
      if (index != 2)
        operands.push_back(range);
      if (index >= 2)
        results.push_back(range);
    }
    if (c.adds())
      operands.insert(operands.end(), results.begin(), results.end());
    TPSP_TRY(checkDisjoint(std::move(operands)));
    return checkDisjoint(std::move(results));
  }

  /// Tiles of one buffer interleave: their spans overlap, but their runs need
  /// not. Runs of different pitches must not overlap as spans.
  Status checkApart(const PermuteCommand &c,
                    const std::vector<BufferUse> &uses) {
    int64_t width = elementBytes(c.dtype), run = c.count * width;
    int64_t period = c.sourcePitch * width;
    if (c.runs > 1 && c.sourcePitch == c.targetPitch && period > 0) {
      int64_t apart = std::abs(call.buffers[0] - call.buffers[1]) % period;
      if (apart >= run && apart <= period - run)
        return {};
    }
    return checkDisjoint(rangesOf(uses, call.group.size() == 1));
  }

  /// If `mayBeInPlace`, a source that equals the destination after it is not
  /// counted.
  std::vector<Range> rangesOf(const std::vector<BufferUse> &uses,
                              bool mayBeInPlace) const {
    std::vector<Range> ranges;
    for (size_t i = 0; i < uses.size(); ++i) {
      int64_t begin = call.buffers[i];
      int64_t bytes = uses[i].elements * elementBytes(uses[i].dtype);
      if (mayBeInPlace && uses[i].isWritten && !ranges.empty() &&
          ranges.back().begin == begin && !ranges.back().use->isWritten)
        ranges.pop_back();
      if (bytes > 0)
        ranges.push_back({begin, begin + bytes, &uses[i]});
    }
    return ranges;
  }

  /// Takes linear time apart from a sort, since buckets have hundreds of
  /// buffers.
  static Status checkDisjoint(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
    const Range none{INT64_MIN, INT64_MIN, nullptr};
    const Range *read = &none, *written = &none;
    for (const Range &range : ranges) {
      const Range *hit = range.begin < written->end ? written : nullptr;
      if (range.use->isWritten && range.begin < read->end)
        hit = read;
      if (hit)
        return invalid("{} at byte {} overlaps another tensor, {} at byte {}",
                       range.use->role, range.begin, hit->use->role,
                       hit->begin);
      const Range *&reached = range.use->isWritten ? written : read;
      reached = range.end > reached->end ? &range : reached;
    }
    return {};
  }

  const BackendContext &world;
  int64_t rank, microBatch;
  Call &call;
};

/// The integers of an entry of tpsp_rt_command.slots.
constexpr int64_t slotEntry = 3;

/// Moves the buffers of which every micro-batch has its own part
/// (tpsp_rt_command.slots).
Status addSlots(const BackendContext &world, const MicroBatchPlace &place,
                const tpsp_rt_command &command, Call &out) {
  if (!command.slots || command.num_slots == 0)
    return {};
  if (command.num_slots < 0 || command.num_slots % slotEntry != 0)
    return invalid("malformed slots");
  out.slots.assign(command.slots, command.slots + command.num_slots);
  for (int64_t i = 0; i < command.num_slots; i += slotEntry) {
    int64_t buffer = command.slots[i], bytes = command.slots[i + 1];
    int64_t pool = command.slots[i + 2];
    bool isKnown = pool < 0 || pool < place.numPools();
    int64_t number = isKnown ? place.numberIn(pool) : -1;
    if (buffer < 0 || buffer >= static_cast<int64_t>(out.buffers.size()) ||
        number < 0 || bytes < 0 || bytes > world.config.arenaBytes ||
        (bytes > 0 && number > world.config.arenaBytes / bytes))
      return invalid("part {} of {} bytes of buffer {}", number, bytes, buffer);
    // A buffer outside the arena is refused later; its offset must not overflow
    // here.
    if (out.buffers[buffer] <= world.config.arenaBytes)
      out.buffers[buffer] += number * bytes;
    out.slotNumbers.push_back(number);
  }
  return {};
}

/// Moves the buffers of tiles that are counted from the rank's own tile
/// (tpsp_rt_command.tiles).
Status addOwnTiles(const BackendContext &world, int64_t rank,
                   const tpsp_rt_command &command, Call &out) {
  constexpr int64_t header = 4;
  const int64_t *next = command.tiles;
  int64_t left = next ? command.num_tiles : 0;
  while (left > 0) {
    int64_t axes = left >= header ? next[3] : -1;
    if (axes < 0 || axes > left - header)
      return invalid("malformed tiles");
    RankGroup group;
    std::vector<int64_t> list(next + header, next + header + axes);
    TPSP_TRY(world.mesh.group(rank, list, group));
    int64_t buffer = next[0], number = next[1], bytes = next[2];
    if (buffer < 0 || buffer >= static_cast<int64_t>(out.buffers.size()) ||
        number < 0 || number >= group.size() || bytes < 0 ||
        bytes > (int64_t(1) << 48))
      return invalid("tile {} of {} bytes of buffer {}", number, bytes, buffer);
    // A buffer outside the arena is refused later; its offset must not overflow
    // here.
    if (out.buffers[buffer] <= world.config.arenaBytes)
      out.buffers[buffer] += (group.self + number) % group.size() * bytes;
    next += header + axes;
    left -= header + axes;
  }
  return {};
}

bool sameIntegers(const std::vector<int64_t> &ours, const int64_t *theirs,
                  int64_t count) {
  return count == static_cast<int64_t>(ours.size()) &&
         std::equal(ours.begin(), ours.end(), theirs);
}

} // namespace

uint64_t placeKey(const MicroBatchPlace &place,
                  const tpsp_rt_command &command) {
  // FNV-1a over the numbers that decide about the command's buffers.
  uint64_t key = 14695981039346656037u;
  auto add = [&](int64_t number) {
    key = (key ^ uint64_t(number)) * 1099511628211u;
  };
  for (int64_t i = 0; i + slotEntry <= command.num_slots; i += slotEntry)
    if (command.slots[i + 2] < place.numPools())
      add(place.numberIn(command.slots[i + 2]));
  return key;
}

Status prepareCall(const BackendContext &world, int64_t rank,
                   const MicroBatchPlace &place, CallKind kind,
                   const tpsp_rt_command &command, Call &out) {
  out.kind = kind;
  out.name = command.name && *command.name ? command.name : callName(kind);
  out.origin = &command;
  out.id = command.id;
  out.stream = command.stream;
  out.kernel = command.kernel;
  out.device = command.device;
  out.microBatch = place.microBatch;
  if (command.stream < 0 || command.stream >= world.config.numStreams)
    return invalid("stream {} of a world with {} of them", command.stream,
                   world.config.numStreams);
  if (!decodeCall(kind, command.params, command.num_params, out.command))
    return invalid("malformed parameters of {}", callName(kind));
  out.params.assign(command.params, command.params + command.num_params);
  if (command.num_buffers < 0 || (command.num_buffers > 0 && !command.buffers))
    return invalid("{} buffers", command.num_buffers);
  out.buffers.assign(command.buffers, command.buffers + command.num_buffers);
  out.offsets = out.buffers;
  if (command.num_tiles > 0 && command.tiles)
    out.tiles.assign(command.tiles, command.tiles + command.num_tiles);
  TPSP_TRY(addOwnTiles(world, rank, command, out));
  TPSP_TRY(addSlots(world, place, command, out));
  return std::visit(CallChecker(world, rank, place.microBatch, out),
                    out.command);
}

static bool isAtPlace(const Call &call, const MicroBatchPlace &place) {
  for (size_t i = 0; i < call.slotNumbers.size(); ++i) {
    int64_t pool = call.slots[i * slotEntry + 2];
    if (pool >= place.numPools() || call.slotNumbers[i] != place.numberIn(pool))
      return false;
  }
  return !call.dependsOnMicroBatch || call.microBatch == place.microBatch;
}

bool isPreparedFrom(const Call &call, const MicroBatchPlace &place,
                    CallKind kind, const tpsp_rt_command &command) {
  return call.kind == kind && call.id == command.id &&
         call.stream == command.stream && call.kernel == command.kernel &&
         call.device == command.device &&
         sameIntegers(call.params, command.params, command.num_params) &&
         sameIntegers(call.offsets, command.buffers, command.num_buffers) &&
         sameIntegers(call.tiles, command.tiles, command.num_tiles) &&
         sameIntegers(call.slots, command.slots, command.num_slots) &&
         isAtPlace(call, place);
}

} // namespace tpsp::rt
