#include "PrepareCall.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/MatmulSpan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tpsp::rt {
namespace {

Status invalid(std::string message) {
  return {TPSP_RT_INVALID, std::move(message)};
}

/// Bytes of the arena that a command reads or writes through one buffer.
struct BufferSpan {
  const char *role;
  int64_t elements;
  /// -1: the command's.
  int64_t dtype = -1;
};

/// Checks one kind of command and fills in what depends on the rank.
class CallChecker {
public:
  CallChecker(const BackendContext &world, int64_t rank, Call &call)
      : world(world), rank(rank), call(call) {}

  Status operator()(const MatmulCommand &c) {
    MatmulSpans spans;
    if (!matmulSpans(c, spans))
      return invalid("the operands are too large");
    std::vector<BufferSpan> buffers = {
        {"A", spans.a}, {"B", spans.b}, {"C", spans.c}};
    for (EpilogueStep step : c.epilogue)
      if (hasBuffer(step))
        buffers.push_back({nameOf(step), epilogueSpan(c, spans, step)});
    if (Status status = checkBuffers(c.dtype, buffers); !status.ok())
      return status;
    if (Status status = checkEpilogueApart(c, buffers); !status.ok())
      return status;
    return findGroup({});
  }

  Status operator()(const KernelCommand &c) {
    if (!call.kernel)
      return invalid("the command has no kernel");
    for (const KernelPosition &position : c.positions) {
      if (Status status = findGroup(position.axes); !status.ok())
        return status;
      int64_t shard = (call.group.self + position.shift) % call.group.size();
      call.positions.push_back(shard * position.extent + position.offset);
    }
    // A kernel's buffers are known by their start alone.
    for (int64_t offset : call.buffers)
      if (offset < 0 || offset > world.config.arenaBytes)
        return invalid(fmt::format("a buffer at byte {} of an arena of {}",
                                   offset, world.config.arenaBytes));
    return findGroup({});
  }

  Status operator()(const AttentionCommand &c) {
    std::vector<BufferSpan> buffers = {{"q", c.queryElements()},
                                       {"k", c.keyElements()},
                                       {"v", c.valueElements()},
                                       {"o", c.resultElements()}};
    size_t firstWritten = 3;
    if (c.keepsStatistic)
      buffers.push_back({"statistic", c.numRows(), c.statisticType()});
    if (call.kind == CallKind::attention_gradient) {
      if (!c.keepsStatistic)
        return invalid("gradients of attention need its statistic");
      firstWritten = 6;
      buffers.push_back({"the gradient of o", c.resultElements()});
      buffers.push_back({"the gradient of q", c.queryElements()});
      buffers.push_back({"the gradient of k", c.keyElements()});
      buffers.push_back({"the gradient of v", c.valueElements()});
    }
    if (Status status = checkBuffers(c.dtype, buffers); !status.ok())
      return status;
    if (Status status = checkWrittenApart(c.dtype, buffers, firstWritten);
        !status.ok())
      return status;
    return findGroup({});
  }

  Status operator()(const ShardCommand &c) {
    if (Status status = findGroup(c.axes); !status.ok())
      return status;
    int64_t part = c.span(), whole = c.outer * c.chunk * call.group.size();
    bool gathers = call.kind == CallKind::all_gather;
    if (Status status =
            checkBuffers(c.dtype, {{"src", gathers ? part : whole},
                                   {"dst", gathers ? whole : part}});
        !status.ok())
      return status;
    return checkApart(c.dtype, gathers ? part : whole, gathers ? whole : part);
  }

  Status operator()(const AllReduceCommand &c) {
    std::vector<BufferSpan> spans;
    for (int64_t count : c.counts) {
      spans.push_back({"src", count});
      spans.push_back({"dst", count});
    }
    if (Status status = checkBuffers(c.dtype, spans); !status.ok())
      return status;
    if (Status status = checkTensorsApart(c); !status.ok())
      return status;
    return findGroup(c.axes);
  }

  Status operator()(const AllToAllCommand &c) {
    if (Status status = findGroup(c.axes); !status.ok())
      return status;
    int64_t elements =
        c.a * c.gather * c.b * c.scatter * c.c * call.group.size();
    if (Status status =
            checkBuffers(c.dtype, {{"src", elements}, {"dst", elements}});
        !status.ok())
      return status;
    return checkApart(c.dtype, elements, elements);
  }

  Status operator()(const PermuteCommand &c) {
    if (Status status = findGroup(c.axes); !status.ok())
      return status;
    if (static_cast<int64_t>(c.source.size()) != call.group.size())
      return invalid(fmt::format("{} sources for a group of {} ranks",
                                 c.source.size(), call.group.size()));
    if (Status status = checkBuffers(
            c.dtype, {{"src", c.sourceSpan()}, {"dst", c.targetSpan()}});
        !status.ok())
      return status;
    // Tiles of one buffer interleave: their spans overlap, their runs need not.
    if (c.runs > 1)
      return checkRunsApart(c);
    return checkApart(c.dtype, c.count, c.count);
  }

  Status operator()(const EventCommand &c) {
    if (c.event >= world.config.numEvents)
      return invalid(fmt::format("event {} of a world with {} of them", c.event,
                                 world.config.numEvents));
    if (Status status = checkBuffers(TPSP_RT_F32, {}); !status.ok())
      return status;
    return findGroup({});
  }

private:
  Status findGroup(const std::vector<int64_t> &axes) {
    return world.mesh.group(rank, axes, call.group);
  }

  /// The width of a buffer's elements, in bytes.
  static int64_t widthOf(const BufferSpan &span, int64_t dtype) {
    return elementBytes(span.dtype < 0 ? dtype : span.dtype);
  }

  /// The buffers from `first` on overlap no other.
  Status checkWrittenApart(int64_t dtype, const std::vector<BufferSpan> &spans,
                           size_t first) {
    for (size_t mine = first; mine < spans.size(); ++mine)
      for (size_t other = 0; other < mine; ++other) {
        int64_t bytes = spans[mine].elements * widthOf(spans[mine], dtype);
        int64_t others = spans[other].elements * widthOf(spans[other], dtype);
        if (bytes > 0 && others > 0 &&
            overlap(call.buffers[mine], bytes, call.buffers[other], others))
          return invalid(fmt::format("{} at byte {} overlaps {} at byte {}",
                                     spans[mine].role, call.buffers[mine],
                                     spans[other].role, call.buffers[other]));
      }
    return {};
  }

  Status checkBuffers(int64_t dtype, const std::vector<BufferSpan> &spans) {
    if (call.buffers.size() != spans.size())
      return invalid(fmt::format("{} buffers; expected {}", call.buffers.size(),
                                 spans.size()));
    int64_t arena = world.config.arenaBytes;
    for (size_t i = 0; i < spans.size(); ++i) {
      int64_t width = widthOf(spans[i], dtype);
      int64_t offset = call.buffers[i], bytes = spans[i].elements * width;
      if (offset < 0 || offset > arena || bytes > arena - offset)
        return invalid(fmt::format(
            "buffer {} ({}) is {} bytes at byte {} of an arena of {}", i,
            spans[i].role, bytes, offset, arena));
      if (offset % width != 0)
        return invalid(fmt::format(
            "buffer {} ({}) at byte {} is not aligned "
            "to {}",
            i, spans[i].role, offset,
            elementName(spans[i].dtype < 0 ? dtype : spans[i].dtype)));
    }
    return {};
  }

  /// Elements of the buffer of an epilogue's step.
  static int64_t epilogueSpan(const MatmulCommand &c, const MatmulSpans &spans,
                              EpilogueStep step) {
    if (hasMatrix(step) || spans.c == 0)
      return spans.c;
    return step == EpilogueStep::SumA ? c.m : c.n;
  }

  /// What a step writes is nothing that the product touches, and what it reads
  /// is not C. (Tiles are of buffers that lie apart: so do their spans.)
  Status checkEpilogueApart(const MatmulCommand &c,
                            const std::vector<BufferSpan> &buffers) {
    int64_t width = elementBytes(c.dtype);
    size_t next = 3;
    for (EpilogueStep step : c.epilogue) {
      if (!hasBuffer(step))
        continue;
      size_t mine = next++;
      for (size_t other = writesBuffer(step) ? 0 : 2; other < 3; ++other)
        if (overlap(call.buffers[mine], buffers[mine].elements * width,
                    call.buffers[other], buffers[other].elements * width) &&
            buffers[mine].elements > 0 && buffers[other].elements > 0)
          return invalid(
              fmt::format("the epilogue's {} at byte {} overlaps {} at byte {}",
                          buffers[mine].role, call.buffers[mine],
                          buffers[other].role, call.buffers[other]));
    }
    return {};
  }

  static bool overlap(int64_t offsetA, int64_t bytesA, int64_t offsetB,
                      int64_t bytesB) {
    return offsetA < offsetB + bytesB && offsetB < offsetA + bytesA;
  }

  /// A rank's destination must not be its source, which others still read. In
  /// a group of one the two may be the same buffer.
  Status checkApart(int64_t dtype, int64_t srcElements, int64_t dstElements) {
    int64_t width = elementBytes(dtype);
    if (call.group.size() == 1 && call.buffers[0] == call.buffers[1])
      return {};
    if (overlap(call.buffers[0], srcElements * width, call.buffers[1],
                dstElements * width))
      return invalid(fmt::format("src at byte {} and dst at byte {} overlap",
                                 call.buffers[0], call.buffers[1]));
    return {};
  }

  /// The same for runs of one pitch; runs of different pitches must lie apart
  /// as a whole.
  Status checkRunsApart(const PermuteCommand &c) {
    int64_t width = elementBytes(c.dtype), run = c.count * width;
    int64_t period = c.sourcePitch * width;
    int64_t apart = std::abs(call.buffers[0] - call.buffers[1]) % period;
    if (c.sourcePitch == c.targetPitch && apart >= run && apart <= period - run)
      return {};
    return checkApart(c.dtype, c.sourceSpan(), c.targetSpan());
  }

  /// No destination overlaps another tensor, in time linear in the tensors but
  /// for a sort: buckets hold hundreds.
  Status checkTensorsApart(const AllReduceCommand &c) {
    struct Range {
      int64_t begin, end;
      bool written;
    };
    std::vector<Range> ranges;
    int64_t width = elementBytes(c.dtype);
    for (size_t i = 0; i < c.counts.size(); ++i) {
      int64_t src = call.buffers[2 * i], dst = call.buffers[2 * i + 1];
      int64_t bytes = c.counts[i] * width;
      if (bytes == 0)
        continue;
      ranges.push_back({dst, dst + bytes, true});
      if (src != dst)
        ranges.push_back({src, src + bytes, false});
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
    int64_t readTo = 0, writtenTo = 0;
    for (const Range &range : ranges) {
      if (range.begin < writtenTo || (range.written && range.begin < readTo))
        return invalid(fmt::format("a destination at byte {} overlaps another "
                                   "tensor",
                                   range.begin));
      int64_t &reached = range.written ? writtenTo : readTo;
      reached = std::max(reached, range.end);
    }
    return {};
  }

  const BackendContext &world;
  int64_t rank;
  Call &call;
};

/// False if the parameters are malformed.
bool decode(CallKind kind, const tpsp_rt_command &command, AnyCommand &out) {
  auto as = [&](auto decoded) {
    bool good =
        decltype(decoded)::decode(command.params, command.num_params, decoded);
    out = std::move(decoded);
    return good;
  };
  switch (kind) {
  case CallKind::matmul:
    return as(MatmulCommand());
  case CallKind::kernel:
    return as(KernelCommand());
  case CallKind::attention:
  case CallKind::attention_gradient:
    return as(AttentionCommand());
  case CallKind::slice:
  case CallKind::all_gather:
  case CallKind::reduce_scatter:
    return as(ShardCommand());
  case CallKind::all_reduce:
    return as(AllReduceCommand());
  case CallKind::all_to_all:
    return as(AllToAllCommand());
  case CallKind::permute:
    return as(PermuteCommand());
  case CallKind::event_record:
  case CallKind::event_wait:
    return as(EventCommand());
  }
  return false;
}

/// Moves the buffers that are tiles counted from the rank's own
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
    if (Status status = world.mesh.group(rank, list, group); !status.ok())
      return status;
    int64_t buffer = next[0], number = next[1], bytes = next[2];
    if (buffer < 0 || buffer >= static_cast<int64_t>(out.buffers.size()) ||
        number < 0 || number >= group.size() || bytes < 0 ||
        bytes > (int64_t(1) << 48))
      return invalid(fmt::format("tile {} of {} bytes of buffer {}", number,
                                 bytes, buffer));
    // What is outside the arena already is refused later, and must not wrap.
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
         (count == 0 ||
          std::memcmp(ours.data(), theirs, count * sizeof(int64_t)) == 0);
}

} // namespace

Status prepareCall(const BackendContext &world, int64_t rank, CallKind kind,
                   const tpsp_rt_command &command, Call &out) {
  out.kind = kind;
  out.name = command.name && *command.name ? command.name : callName(kind);
  out.origin = &command;
  out.id = command.id;
  out.stream = command.stream;
  out.kernel = command.kernel;
  out.device = command.device;
  if (command.stream < 0 || command.stream >= world.config.numStreams)
    return invalid(fmt::format("stream {} of a world with {} of them",
                               command.stream, world.config.numStreams));
  if (!decode(kind, command, out.command))
    return invalid(fmt::format("malformed parameters of {}", callName(kind)));
  out.params.assign(command.params, command.params + command.num_params);
  if (command.num_buffers < 0 || (command.num_buffers > 0 && !command.buffers))
    return invalid(fmt::format("{} buffers", command.num_buffers));
  out.buffers.assign(command.buffers, command.buffers + command.num_buffers);
  out.offsets = out.buffers;
  if (command.num_tiles > 0 && command.tiles)
    out.tiles.assign(command.tiles, command.tiles + command.num_tiles);
  if (Status status = addOwnTiles(world, rank, command, out); !status.ok())
    return status;
  return std::visit(CallChecker(world, rank, out), out.command);
}

bool isPreparedFrom(const Call &call, CallKind kind,
                    const tpsp_rt_command &command) {
  return call.kind == kind && call.id == command.id &&
         call.stream == command.stream && call.kernel == command.kernel &&
         call.device == command.device &&
         sameIntegers(call.params, command.params, command.num_params) &&
         sameIntegers(call.offsets, command.buffers, command.num_buffers) &&
         sameIntegers(call.tiles, command.tiles, command.num_tiles);
}

} // namespace tpsp::rt
