#include "tpsp/Schedule/ChunkWork.h"

#include "GradientReductions.h"
#include "GradientSums.h"

#include "tpsp/Abi/LiveBytes.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace tpsp;

namespace {

enum Segment : unsigned {
  None = 0,
  Forward = 1,
  Input = 2,
  Weights = 4,
  Update = 8
};

/// The segment of each command.
class Segments {
public:
  Segments(const Plan &plan, ChunkEnds ends)
      : plan(plan), ends(ends), reads(readsOf(plan)),
        segments(plan.commands.size(), Weights) {
    markForward();
    markUpdate();
    markInput();
    markEvents();
  }

  unsigned of(size_t command) const { return segments[command]; }

private:
  void markForward() {
    for (size_t i = 0; i < plan.commands.size(); ++i)
      if (plan.commands[i].phase == 0)
        segments[i] = Forward;
  }

  /// Whether a collective moves parameters' gradients, or belongs to the
  /// update.
  bool movesOnceAStep(const PlanCommand &command) const {
    if (command.kind != CommandKind::Collective || command.collective.row < 0)
      return false;
    const LedgerRow &row = plan.ledger[command.collective.row];
    return row.phase == Phase::Update || !row.gradients.empty();
  }

  bool beginsUpdate(const PlanCommand &command) const {
    return movesOnceAStep(command) ||
           llvm::any_of(command.accesses, [&](const PlanAccess &access) {
             const PlanBuffer &buffer = plan.buffers[access.buffer];
             return buffer.kind == BufferKind::State ||
                    (access.isWrite && buffer.isArgument());
           });
  }

  void markUpdate() {
    for (size_t i = 0; i < plan.commands.size(); ++i)
      if (segments[i] != Forward &&
          (beginsUpdate(plan.commands[i]) ||
           llvm::any_of(reads[i], [&](int64_t before) {
             return segments[before] == Update;
           })))
        segments[i] = Update;
    markPreparation();
  }

  /// Marks preparations of the update, whose results only the update reads:
  /// copies into buckets, and sums over gradients that the update reads, too.
  void markPreparation() {
    std::vector<bool> isRead(plan.commands.size()),
        isForUpdate(isRead.size(), true), isOfGradients = findOfGradients();
    for (size_t i = plan.commands.size(); i-- > 0;) {
      const PlanCommand &command = plan.commands[i];
      if (segments[i] == Weights && isRead[i] && isForUpdate[i] &&
          (movesOnly(command) || isOfGradients[i]))
        segments[i] = Update;
      for (int64_t before : reads[i]) {
        isRead[before] = true;
        isForUpdate[before] = isForUpdate[before] && segments[i] == Update;
      }
    }
  }

  static bool movesOnly(const PlanCommand &command) {
    return command.kind == CommandKind::Copy ||
           (command.kind == CommandKind::Kernel &&
            command.kernel.operations + command.kernel.transcendentals == 0);
  }

  /// The kernels that compute only from buffers that the update reads, directly
  /// or through other such kernels: a gradient's squares, then their sum.
  std::vector<bool> findOfGradients() const {
    std::vector<bool> found(plan.commands.size());
    std::set<int64_t> known;
    for (size_t i = 0; i < plan.commands.size(); ++i)
      for (const PlanAccess &access : plan.commands[i].accesses)
        if (segments[i] == Update && !access.isWrite)
          known.insert(access.buffer);
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const PlanCommand &command = plan.commands[i];
      found[i] = command.kind == CommandKind::Kernel &&
                 llvm::all_of(command.accesses, [&](const PlanAccess &access) {
                   return access.isWrite || known.count(access.buffer) > 0;
                 });
      for (const PlanAccess &access : command.accesses)
        if (found[i] && access.isWrite)
          known.insert(access.buffer);
    }
    return found;
  }

  /// Marks the commands that a sent gradient depends on, backwards from those
  /// that write it.
  void markInput() {
    std::vector<bool> isNeeded(plan.commands.size());
    for (size_t i = plan.commands.size(); i-- > 0;) {
      for (const PlanAccess &access : plan.commands[i].accesses) {
        const PlanBuffer &buffer = plan.buffers[access.buffer];
        if (access.isWrite && buffer.kind == BufferKind::Gradient &&
            buffer.of < ends.received)
          isNeeded[i] = true;
      }
      if (!isNeeded[i] || segments[i] != Weights)
        continue;
      segments[i] = Input;
      for (int64_t before : reads[i])
        isNeeded[before] = true;
    }
  }

  /// A record belongs to the segment of the previous command on its stream, a
  /// wait to that of the next command.
  void markEvents() {
    std::map<int64_t, unsigned> last;
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const PlanCommand &command = plan.commands[i];
      auto known = last.find(command.stream);
      if (command.kind == CommandKind::EventRecord && known != last.end())
        segments[i] = known->second;
      if (!command.isEvent())
        last[command.stream] = segments[i];
    }
    last.clear();
    for (size_t i = plan.commands.size(); i-- > 0;) {
      const PlanCommand &command = plan.commands[i];
      auto known = last.find(command.stream);
      if (command.kind == CommandKind::EventWait && known != last.end())
        segments[i] = known->second;
      if (!command.isEvent())
        last[command.stream] = segments[i];
    }
  }

  const Plan &plan;
  const ChunkEnds ends;
  const std::vector<std::vector<int64_t>> reads;
  std::vector<unsigned> segments;
};

/// Sums up a plan by segments.
class Reader {
public:
  Reader(const Plan &plan, const CostModel &cost, ChunkEnds ends, int64_t parts,
         SegmentVisitor visit, SumOptions sums)
      : plan(plan), cost(cost), ends(ends), parts(parts), visit(visit),
        segments(plan, ends), used(plan.buffers.size()),
        sums(plan, cost, parts, sums) {
    for (size_t i = 0; i < plan.commands.size(); ++i)
      for (const PlanAccess &access : plan.commands[i].accesses)
        used[access.buffer] |= segments.of(i);
  }

  llvm::Expected<ChunkWork> read() {
    const std::pair<unsigned, double ChunkWork::*> times[] = {
        {Forward, &ChunkWork::forward},
        {Input, &ChunkWork::input},
        {Weights, &ChunkWork::weights},
        {Input | Weights, &ChunkWork::backward},
        {Update, &ChunkWork::update}};
    for (auto [wanted, field] : times) {
      llvm::Expected<double> seconds = secondsOf(wanted);
      if (!seconds)
        return seconds.takeError();
      work.*field = *seconds;
    }
    llvm::Expected<double> reductions =
        secondsOf(reductionsOf(partOf(Update)), None);
    if (!reductions)
      return reductions.takeError();
    work.reductions = std::min(*reductions, work.update);
    work.flops = plan.matmulFlops();
    for (const PlanBuffer &buffer : plan.buffers)
      readBuffer(buffer);
    work.saved += receivedSaved;
    work.heldForWeights += receivedHeld;
    addSums();
    readPeaks();
    return std::move(work);
  }

private:
  /// The commands of these segments as a step of their own. Events of other
  /// segments count as already recorded.
  Plan partOf(unsigned wanted) const {
    Plan part = plan;
    part.commands.clear();
    std::set<int64_t> recorded;
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const PlanCommand &command = plan.commands[i];
      if (!(segments.of(i) & wanted))
        continue;
      if (command.kind == CommandKind::EventRecord)
        recorded.insert(command.event);
      if (command.kind == CommandKind::EventWait &&
          !recorded.count(command.event))
        continue;
      part.commands.push_back(command);
    }
    return part;
  }

  llvm::Expected<double> secondsOf(unsigned wanted) const {
    return secondsOf(partOf(wanted), wanted);
  }

  /// The visitor sees the whole backward pass, not its two parts.
  llvm::Expected<double> secondsOf(const Plan &part, unsigned wanted) const {
    if (part.commands.empty())
      return 0.0;
    llvm::Expected<SimulatedStep> step = simulate(part, cost);
    if (!step)
      return step.takeError();
    if (visit && wanted != None && wanted != Input && wanted != Weights)
      visit(part, *step, wanted == Update);
    return std::max(0.0, step->seconds - cost.stepSeconds());
  }

  /// The argument whose gradient this is.
  const PlanBuffer &parameterOf(const PlanBuffer &gradient) const {
    for (const PlanBuffer &buffer : plan.buffers)
      if (buffer.isArgument() && buffer.kind != BufferKind::State &&
          buffer.number == gradient.of)
        return buffer;
    return gradient;
  }

  void readBuffer(const PlanBuffer &buffer) {
    unsigned in = used[&buffer - plan.buffers.data()];
    bool isReceived = buffer.number < ends.received;
    switch (buffer.kind) {
    case BufferKind::Parameter:
      work.parameters[buffer.number] += buffer.bytes;
      if (buffer.updatedBy >= 0)
        addGradient(buffer.number, buffer);
      break;
    case BufferKind::State:
      work.state[buffer.of] += buffer.bytes;
      break;
    case BufferKind::Input:
      if (buffer.isCotangent() && buffer.of < ends.sent) {
        pass(buffer, in, bitOf(ChunkMoment::GradientArrival));
        work.cotangents += buffer.bytes;
        receivedHeld += in & Weights ? buffer.bytes : 0;
      } else if (!isReceived) {
        work.inputs += buffer.bytes;
      } else {
        pass(buffer, in, bitOf(ChunkMoment::Arrival));
        received += buffer.bytes;
        receivedSaved += in & (Input | Weights) ? buffer.bytes : 0;
        receivedHeld += in & Weights ? buffer.bytes : 0;
      }
      break;
    case BufferKind::Output:
      if (buffer.number < ends.sent)
        pass(buffer, in, bitOf(ChunkMoment::Send));
      (buffer.number < ends.sent ? work.sentForward : work.outputs) +=
          buffer.bytes;
      break;
    case BufferKind::Choice:
      work.outputs += buffer.bytes;
      break;
    case BufferKind::Gradient:
      if (buffer.of < ends.received) {
        pass(buffer, in, bitOf(ChunkMoment::GradientSend));
        work.sentBackward += buffer.bytes;
        break;
      }
      addGradient(buffer.of, parameterOf(buffer));
      reduced += in == Update ? buffer.bytes : 0;
      break;
    case BufferKind::Temporary:
      readTemporary(buffer, in);
      break;
    }
  }

  /// The moments of the segments in `in`.
  static unsigned momentsOf(unsigned in) {
    unsigned moments = 0;
    for (auto [segment, moment] : {std::pair(Forward, ChunkMoment::Forward),
                                   std::pair(Input, ChunkMoment::Input),
                                   std::pair(Weights, ChunkMoment::Weights)})
      moments |= in & segment ? bitOf(moment) : 0;
    return moments;
  }

  void pass(const PlanBuffer &buffer, unsigned in, unsigned others) {
    unsigned moments = momentsOf(in) | others;
    if (moments & (moments - 1)) // several
      work.passed[moments] += buffer.bytes;
  }

  void readTemporary(const PlanBuffer &buffer, unsigned in) {
    if (isSum(in))
      return;
    pass(buffer, in, 0);
    if ((in & Forward) && (in & ~Forward))
      work.saved += buffer.bytes;
    if ((in & Weights) && (in & (Forward | Input)))
      work.heldForWeights += buffer.bytes;
  }

  /// Whether a buffer passes from the backward pass to the update.
  static bool isSum(unsigned in) {
    return (in & Update) && (in & (Input | Weights));
  }

  void addGradient(int64_t argument, const PlanBuffer &parameter) {
    work.gradients[argument] = sums.addGradient(argument, parameter);
  }

  /// Adds the time in which every further micro-batch adds its gradients to the
  /// sums, and in which f32 sums are rounded before they are reduced.
  void addSums() {
    std::vector<bool> isGradient;
    for (auto [buffer, in] : llvm::zip_equal(plan.buffers, used))
      isGradient.push_back(buffer.kind == BufferKind::Temporary
                               ? isSum(in)
                               : buffer.kind == BufferKind::Gradient &&
                                     buffer.of >= ends.received);
    sums.findProducts(isGradient, [&](size_t command) {
      return segments.of(command) == Update;
    });
    work.sums = sums.kernelSeconds();
    work.sumsInProducts = sums.productSeconds();
    double rounding = sums.roundingSeconds();
    work.update += rounding;
    work.reductions += rounding;
    work.weights += work.sums + work.sumsInProducts;
    work.backward += work.sums + work.sumsInProducts;
  }

  bool isCounted(int64_t buffer) const {
    return plan.buffers[buffer].kind == BufferKind::Temporary &&
           !isSum(used[buffer]);
  }

  /// The most bytes of temporaries at once while these segments run. Buffers of
  /// earlier segments are there from the start until their last user. Buffers
  /// that later segments use stay to the end.
  int64_t peakOf(unsigned wanted) const {
    unsigned earlier = (wanted & (~wanted + 1)) - 1;
    unsigned later = ~(earlier | wanted);
    constexpr int64_t unknown = -1;
    std::vector<int64_t> first(used.size(), unknown), last(used.size());
    auto end = int64_t(plan.commands.size());
    for (int64_t i = 0; i < end; ++i)
      if (segments.of(i) & wanted)
        for (const PlanAccess &access : plan.commands[i].accesses) {
          if (first[access.buffer] == unknown)
            first[access.buffer] = i;
          last[access.buffer] = i;
        }
    LiveBytes live;
    for (size_t i = 0; i < used.size(); ++i) {
      bool isLeft = (used[i] & earlier) && (used[i] & ~earlier);
      if (isCounted(int64_t(i)) && (isLeft || first[i] != unknown))
        live.add(isLeft ? 0 : first[i], used[i] & later ? end : last[i],
                 plan.buffers[i].bytes);
    }
    return live.most();
  }

  /// The most bytes of temporaries at once that these segments alone use. A
  /// gradient that a kernel adds to a sum is one of them until it is added.
  int64_t scratchOf(unsigned wanted) const {
    std::vector<int64_t> first(used.size(), -1), last(used.size());
    for (int64_t i = 0; i < int64_t(plan.commands.size()); ++i)
      for (const PlanAccess &access : plan.commands[i].accesses) {
        if (!(segments.of(size_t(i)) & wanted))
          continue;
        if (first[access.buffer] < 0)
          first[access.buffer] = i;
        last[access.buffer] = i;
      }
    LiveBytes live;
    for (size_t i = 0; i < used.size(); ++i) {
      bool isAdded = parts > 1 && isSum(used[i]);
      unsigned elsewhere = used[i] & ~(wanted | (isAdded ? Update : 0));
      bool isNeeded = !plan.buffers[i].lasts() && !sums.isInProduct(i);
      if (first[i] >= 0 && !elsewhere && isNeeded)
        live.add(first[i], last[i], plan.buffers[i].bytes);
    }
    return live.most();
  }

  void readPeaks() {
    work.scratch = std::max(scratchOf(Forward), scratchOf(Input | Weights));
    work.scratchInParts =
        std::max({scratchOf(Forward), scratchOf(Input), scratchOf(Weights)});
    int64_t sent = work.cotangents + work.sentBackward;
    work.peakForward = peakOf(Forward) + received + work.sentForward;
    work.peakBackward = peakOf(Input | Weights) + receivedSaved + sent;
    work.peakInput = peakOf(Input) + receivedSaved + sent;
    work.peakWeights = peakOf(Weights) + receivedHeld;
    work.peakUpdate = peakOf(Update) + reduced;
  }

  const Plan &plan;
  const CostModel &cost;
  const ChunkEnds ends;
  const int64_t parts;
  const SegmentVisitor visit;
  Segments segments;
  /// For each buffer, the segments that use it.
  std::vector<unsigned> used;
  /// Bytes that are received, the part of them that is saved, and the part that
  /// is held for weights' gradients. The last includes received gradients.
  int64_t received = 0, receivedSaved = 0, receivedHeld = 0;
  /// Bytes of gradients that are results and that the update computes.
  int64_t reduced = 0;
  GradientSums sums;
  ChunkWork work;
};

} // namespace

llvm::Expected<ChunkWork> tpsp::chunkWork(const Plan &plan,
                                          const CostModel &cost, ChunkEnds ends,
                                          int64_t parts, SegmentVisitor visit,
                                          SumOptions sums) {
  return Reader(plan, cost, ends, parts, visit, sums).read();
}
