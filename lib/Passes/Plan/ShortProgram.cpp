#include "ShortProgram.h"

#include "tpsp/Passes/Plan/PlanOfProgram.h"
#include "tpsp/Schedule/RepeatedRuns.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tpsp;

/// The number of periods of a run that are kept, and the least number that a
/// run must have.
static constexpr int64_t keptPeriods = 6, leastPeriods = keptPeriods + 2;

/// One number per command. Two numbers are equal if the commands do the same on
/// buffers of the same types, whatever their ledger rows and phases are.
static std::vector<int64_t> signaturesOf(ArrayRef<Operation *> commands) {
  llvm::DenseMap<std::pair<Attribute, Type>, int64_t> known;
  std::vector<int64_t> signatures;
  for (Operation *op : commands) {
    NamedAttrList attributes(op->getAttrDictionary());
    for (StringRef name : {"ledger", "plan.phase"})
      attributes.erase(name);
    Builder b(op->getContext());
    attributes.set("op", b.getStringAttr(op->getName().getStringRef()));
    Type types = b.getFunctionType(TypeRange(op->getOperands()), {});
    signatures.push_back(
        known
            .try_emplace({attributes.getDictionary(op->getContext()), types},
                         known.size())
            .first->second);
  }
  return signatures;
}

namespace {

/// The commands that are omitted: whole periods of runs.
class OmittedPeriods {
public:
  OmittedPeriods(const Plan &plan, std::vector<RepeatedRun> runs)
      : plan(plan), runs(std::move(runs)), sources(plan.commands.size()) {
    for (size_t i = 0; i < sources.size(); ++i)
      sources[i] = int64_t(i);
  }

  /// Chooses the periods to omit. Returns whether the choice is consistent.
  bool choose() {
    if (runs.empty())
      return false;
    const RepeatedRun &longest =
        *llvm::max_element(runs, [](const auto &a, const auto &b) {
          return a.length() < b.length();
        });
    // An even number: some kernels update the parameters of two layers.
    int64_t count = (longest.repeats() - keptPeriods) / 2 * 2;
    omit(longest, longest.begin + keptPeriods / 2 * longest.period, count);
    findOmittedBuffers(longest);
    for (const RepeatedRun &run : runs)
      if (run.begin != longest.begin)
        omitUsers(run);
    return omitOtherUsers();
  }

  bool isOmitted(int64_t command) const { return sources[command] != command; }
  /// The command that does the same in a layer that is kept. It is the command
  /// itself, or a command of the last period before the omitted ones. -1 if
  /// there is none.
  int64_t sourceOf(int64_t command) const { return sources[command]; }

private:
  void omit(const RepeatedRun &run, int64_t begin, int64_t periods) {
    for (int64_t i = begin; i < begin + periods * run.period; ++i)
      sources[i] = sources[i - run.period];
  }

  /// Finds the buffers that last and that only omitted commands of the run use,
  /// such as parameters.
  void findOmittedBuffers(const RepeatedRun &run) {
    std::vector<bool> isKept(plan.buffers.size(), false);
    for (int64_t i = run.begin; i < run.end; ++i)
      for (const PlanAccess &access : plan.commands[i].accesses)
        if (isOmitted(i))
          isOmittedBuffer[access.buffer] = plan.buffers[access.buffer].lasts();
        else
          isKept[access.buffer] = true;
    for (size_t i = 0; i < isKept.size(); ++i)
      if (isKept[i])
        isOmittedBuffer[i] = false;
  }

  bool usesOmitted(int64_t command) const {
    return llvm::any_of(plan.commands[command].accesses,
                        [&](const PlanAccess &access) {
                          return isOmittedBuffer[access.buffer];
                        });
  }

  /// Omits the periods of another run that use omitted buffers, if the run has
  /// periods before and after them.
  void omitUsers(const RepeatedRun &run) {
    int64_t first = run.begin, end = run.end;
    while (first < end && !usesOmitted(first))
      ++first;
    while (first < end && !usesOmitted(end - 1))
      --end;
    int64_t periods = (end - first + run.period - 1) / run.period;
    if (first - run.period >= run.begin &&
        first + periods * run.period <= run.end)
      omit(run, first, periods);
  }

  /// Omits commands that use omitted buffers and are in no run, such as updates
  /// of parameters. Returns false if one of them writes a temporary, which
  /// other commands may read.
  bool omitOtherUsers() {
    for (int64_t i = 0; i < int64_t(sources.size()); ++i) {
      if (isOmitted(i) || !usesOmitted(i))
        continue;
      sources[i] = -1;
      for (const PlanAccess &access : plan.commands[i].accesses)
        if (access.isWrite && !plan.buffers[access.buffer].lasts())
          return false;
    }
    return true;
  }

  const Plan &plan;
  const std::vector<RepeatedRun> runs;
  std::vector<int64_t> sources;
  std::vector<bool> isOmittedBuffer =
      std::vector<bool>(plan.buffers.size(), false);
};

/// Makes the copy without the omitted commands.
class Shortening {
public:
  Shortening(plan::ProgramOp program, const Plan &plan,
             const OmittedPeriods &omitted)
      : plan(plan), omitted(omitted), replacements(plan.buffers.size()),
        copy(cast<plan::ProgramOp>(program->clone())) {
    for (size_t i = 0; i < replacements.size(); ++i)
      replacements[i] = int64_t(i);
    program->getBlock()->getOperations().insert(
        std::next(program->getIterator()), copy);
    buffers = llvm::to_vector(copy.getBody().front().getOps<plan::BufferOp>());
  }

  /// Returns null if a buffer has no replacement.
  plan::ProgramOp run() {
    if (!findReplacements()) {
      copy.erase();
      return {};
    }
    for (auto [i, op] : llvm::enumerate(commandsOf(copy)))
      if (omitted.isOmitted(i))
        op->erase();
    for (auto [i, replacement] : llvm::enumerate(replacements))
      if (replacement != int64_t(i))
        buffers[i].getBuffer().replaceAllUsesWith(
            buffers[replacement].getBuffer());
    eraseUnused();
    return copy;
  }

private:
  /// Replaces buffers that only omitted commands write and kept commands read.
  /// They become the buffers of the period before the omitted ones. Returns
  /// false if there is no such buffer of the same type.
  bool findReplacements() {
    std::vector<bool> isWritten(plan.buffers.size(), false),
        isRead(plan.buffers.size(), false);
    for (auto [i, command] : llvm::enumerate(plan.commands))
      for (const PlanAccess &access : command.accesses)
        if (!omitted.isOmitted(i))
          (access.isWrite ? isWritten : isRead)[access.buffer] = true;
    for (auto [i, command] : llvm::enumerate(plan.commands)) {
      if (!omitted.isOmitted(i) || omitted.sourceOf(i) < 0)
        continue;
      const PlanCommand &source = plan.commands[omitted.sourceOf(i)];
      if (source.accesses.size() != command.accesses.size())
        return false;
      for (auto [access, other] :
           llvm::zip_equal(command.accesses, source.accesses))
        if (access.isWrite && !plan.buffers[access.buffer].lasts() &&
            isRead[access.buffer] && !isWritten[access.buffer] &&
            !replace(access.buffer, other.buffer))
          return false;
    }
    return true;
  }

  bool replace(int64_t buffer, int64_t by) {
    replacements[buffer] = by;
    return buffers[buffer].getType() == buffers[by].getType();
  }

  void eraseUnused() {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(copy.getBody().front())))
      if (op.use_empty() && !isa<plan::CommandOpInterface>(op))
        op.erase();
  }

  const Plan &plan;
  const OmittedPeriods &omitted;
  std::vector<int64_t> replacements;
  plan::ProgramOp copy;
  SmallVector<plan::BufferOp> buffers;
};

} // namespace

/// The program without some periods of one repetition.
static std::optional<ShortProgram> shortenedOnce(plan::ProgramOp program,
                                                 const Plan &plan) {
  OmittedPeriods omitted(
      plan, repeatedRuns(signaturesOf(commandsOf(program)), leastPeriods));
  if (!omitted.choose())
    return std::nullopt;
  plan::ProgramOp copy = Shortening(program, plan, omitted).run();
  if (!copy)
    return std::nullopt;
  std::vector<int64_t> twins(plan.commands.size());
  int64_t kept = 0;
  for (size_t i = 0; i < twins.size(); ++i) {
    int64_t source = omitted.sourceOf(i);
    twins[i] = source == int64_t(i) ? kept++ : source < 0 ? -1 : twins[source];
  }
  return ShortProgram{copy, planOf(copy), std::move(twins)};
}

std::optional<ShortProgram> tpsp::shortProgram(plan::ProgramOp program,
                                               const Plan &plan) {
  std::optional<ShortProgram> result = shortenedOnce(program, plan);
  // If micro-batches repeat themselves, their layers are shortened next.
  constexpr int mostTimes = 3;
  for (int i = 1; result && i < mostTimes; ++i) {
    std::optional<ShortProgram> next =
        shortenedOnce(result->program, result->plan);
    if (!next)
      break;
    for (int64_t &twin : result->twins)
      twin = twin < 0 ? -1 : next->twins[twin];
    result->program.erase();
    result->program = next->program;
    result->plan = std::move(next->plan);
  }
  return result;
}
