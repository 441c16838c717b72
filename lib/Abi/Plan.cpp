#include "tpsp/Abi/Plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

using namespace tpsp;

bool BufferPart::operator==(const BufferPart &other) const {
  return begin == other.begin && length == other.length &&
         count == other.count && (count == 1 || pitch == other.pitch);
}

bool BufferPart::overlaps(const BufferPart &other) const {
  if (bytes() == 0 || other.bytes() == 0 || end() <= other.begin ||
      other.end() <= begin)
    return false;
  // If shapes differ, or runs wrap around the pitch, each may reach into the
  // other's gaps. They then count as overlapping.
  int64_t period = count > 1 ? pitch : other.pitch;
  bool sameShape = (count == 1 || other.count == 1 || pitch == other.pitch);
  if (!sameShape || (count == 1 && other.count == 1))
    return true;
  int64_t first = begin % period, second = other.begin % period;
  if (first + length > period || second + other.length > period)
    return true;
  return first < second + other.length && second < first + length;
}

/// Bytes of `part` below byte `end`.
static int64_t bytesBelow(const BufferPart &part, int64_t end) {
  int64_t reach = std::min(end, part.end()) - part.begin;
  if (reach <= 0)
    return 0;
  if (part.count == 1 || part.pitch == 0)
    return std::min(reach, part.length);
  return reach / part.pitch * part.length +
         std::min(reach % part.pitch, part.length);
}

int64_t BufferPart::commonBytes(const BufferPart &other) const {
  if (!overlaps(other))
    return 0;
  if (count > other.count)
    return other.commonBytes(*this);
  int64_t bytes = 0;
  for (int64_t run = 0; run < count; ++run) {
    int64_t first = begin + run * pitch;
    bytes += bytesBelow(other, first + length) - bytesBelow(other, first);
  }
  return bytes;
}

static int64_t bytesOf(const std::vector<PlanAccess> &accesses, bool writes) {
  int64_t bytes = 0;
  for (const PlanAccess &access : accesses)
    if (access.isWrite == writes)
      bytes += access.part.bytes();
  return bytes;
}

int64_t PlanCommand::bytesRead() const { return ::bytesOf(accesses, false); }
int64_t PlanCommand::bytesWritten() const { return ::bytesOf(accesses, true); }

/// The number of pairs if query i sees min(i + 1, most) keys.
static double stairs(int64_t queries, int64_t most) {
  double rising = double(std::min(queries, most));
  return rising * (rising + 1) / 2 +
         double(std::max<int64_t>(queries - most, 0)) * double(most);
}

double AttentionWork::pairs() const {
  if (!causal)
    return double(heads) * double(queries) * double(keys);
  int64_t most = mostKeys(keys), every = chunk > 0 ? chunk : INT64_MAX;
  // Stairs begin again in every chunk.
  auto pairsOfFirst = [&](int64_t count) {
    return double(count / every) * stairs(every, most) +
           stairs(count % every, most);
  };
  return double(heads) *
         (pairsOfFirst(queryStart + queries) - pairsOfFirst(queryStart));
}

double AttentionWork::flops() const {
  double d = double(features), e = double(valueFeatures);
  return 2 * pairs() * (isGradient ? 3 * d + 2 * e : d + e);
}

double KernelWork::memoryBytes(double bytes) const {
  constexpr double line = 64;
  double most = elementBytes + line * (stridedElements + scatteredElements);
  return most > 0 ? std::min(bytes, most) : bytes;
}

bool PlanBuffer::isOfStage(int64_t stage) const {
  return stages.empty() ||
         std::find(stages.begin(), stages.end(), stage) != stages.end();
}

bool PlanBuffer::isHeldAt(const std::vector<int64_t> &coordinates) const {
  return stages.empty() || isOfStage(coordinates[stageAxis]);
}

int64_t PlanBuffer::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

int64_t Plan::numRanks() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

std::vector<std::reference_wrapper<const PlanBuffer>> Plan::tensors() const {
  std::vector<std::reference_wrapper<const PlanBuffer>> lasting;
  for (const PlanBuffer &buffer : buffers)
    if (buffer.lasts())
      lasting.push_back(buffer);
  return lasting;
}

int64_t Plan::bytesOf(BufferKind kind) const {
  int64_t bytes = 0;
  for (const PlanBuffer &buffer : buffers)
    if (buffer.kind == kind)
      bytes += buffer.bytes;
  return bytes;
}

int64_t Plan::inputGradientBytes() const {
  std::set<int64_t> inputs;
  for (const PlanBuffer &buffer : buffers)
    if (buffer.kind == BufferKind::Input)
      inputs.insert(buffer.number);
  int64_t bytes = 0;
  for (const PlanBuffer &buffer : buffers)
    if (buffer.kind == BufferKind::Gradient && inputs.count(buffer.of) > 0)
      bytes += buffer.bytes;
  return bytes;
}

int64_t Plan::activationBytes() const {
  int64_t lasting = 0;
  for (const PlanBuffer &buffer : tensors())
    lasting += buffer.bytes;
  return arenaBytes - lasting;
}

double Plan::matmulFlops() const {
  double flops = 0;
  for (const PlanCommand &command : commands) {
    auto times = double(timesOf(command));
    if (command.kind == CommandKind::Matmul)
      flops += times * command.matmul.flops();
    if (command.kind == CommandKind::Attention)
      flops += times * command.attention.flops();
  }
  return flops;
}

/// Makes one row for each key that `keyOf` gives, and counts its commands.
template <typename KeyOf>
static std::vector<PlaceRow> rowsBy(const Plan &plan, const KeyOf &keyOf) {
  std::vector<PlaceRow> rows;
  std::map<std::string, size_t> numbers;
  for (const PlanCommand &command : plan.commands) {
    std::optional<std::string> key = keyOf(command);
    if (!key)
      continue;
    auto [known, isNew] = numbers.try_emplace(*key, rows.size());
    if (isNew)
      rows.push_back({command.call, command.value, command.location,
                      command.epilogue, /*commands=*/0});
    rows[known->second].commands += plan.timesOf(command);
  }
  return rows;
}

std::vector<PlaceRow> tpsp::epiloguesOf(const Plan &plan) {
  return rowsBy(plan, [](const PlanCommand &command) {
    std::optional<std::string> key;
    if (!command.epilogue.empty())
      key = command.location;
    for (rt::EpilogueStep step : command.epilogue)
      *key += std::string(" ") + rt::nameOf(step);
    return key;
  });
}

std::vector<PlaceRow> tpsp::attentionOf(const Plan &plan) {
  return rowsBy(plan, [](const PlanCommand &command) {
    std::optional<std::string> key;
    if (command.kind == CommandKind::Attention)
      key = command.name() + " " + command.location;
    return key;
  });
}

namespace {

/// For each part of each buffer, the command that wrote it last.
class LastWriters {
public:
  explicit LastWriters(const Plan &plan)
      : plan(plan), writes(plan.buffers.size()) {}

  /// The commands whose results `command` reads, each once, ascending.
  std::vector<int64_t> of(const PlanCommand &command) const {
    std::vector<int64_t> commands;
    for (const PlanAccess &access : command.accesses)
      if (!access.isWrite)
        for (const Write &write : writes[access.buffer])
          if (write.part.overlaps(access.part))
            commands.push_back(write.command);
    std::sort(commands.begin(), commands.end());
    commands.erase(std::unique(commands.begin(), commands.end()),
                   commands.end());
    return commands;
  }

  void add(int64_t number, const PlanCommand &command) {
    for (const PlanAccess &access : command.accesses) {
      if (!access.isWrite)
        continue;
      std::vector<Write> &before = writes[access.buffer];
      bool isWhole = access.part.bytes() == plan.buffers[access.buffer].bytes;
      before.erase(std::remove_if(before.begin(), before.end(),
                                  [&](const Write &write) {
                                    return isWhole || write.part == access.part;
                                  }),
                   before.end());
      before.push_back({number, access.part});
    }
  }

private:
  struct Write {
    int64_t command;
    BufferPart part;
  };

  const Plan &plan;
  std::vector<std::vector<Write>> writes;
};

} // namespace

std::vector<std::vector<int64_t>> tpsp::readsOf(const Plan &plan) {
  std::vector<std::vector<int64_t>> reads;
  LastWriters writers(plan);
  for (const PlanCommand &command : plan.commands) {
    reads.push_back(writers.of(command));
    writers.add(int64_t(reads.size()) - 1, command);
  }
  return reads;
}

std::vector<int64_t> tpsp::resultsOfCotangents(const Plan &plan) {
  std::map<int64_t, int64_t> results;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].isResult())
      results[plan.buffers[i].number] = int64_t(i);
  std::vector<int64_t> of(plan.buffers.size(), -1);
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].isCotangent())
      if (auto found = results.find(plan.buffers[i].of); found != results.end())
        of[i] = found->second;
  return of;
}
