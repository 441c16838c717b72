#include "tpsp/Schedule/StageActions.h"

#include "tpsp/Abi/FileHandle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

using namespace tpsp;
using llvm::StringRef;
using Work = PipelineWork;

namespace {

/// An action's name in the file.
struct Named {
  StringRef name;
  Work work;
  bool isReceive, isInput;
};

constexpr Named computing[] = {{"F", Work::Forward, false, false},
                               {"B", Work::Backward, false, false},
                               {"I", Work::Backward, false, true},
                               {"W", Work::Weights, false, false}};
constexpr Named transfers[] = {{"SEND_F", Work::SendForward, false, false},
                               {"RECV_F", Work::SendForward, true, false},
                               {"SEND_B", Work::SendBackward, false, false},
                               {"RECV_B", Work::SendBackward, true, false}};
constexpr StringRef gather = "UNSHARD", release = "RESHARD";
constexpr StringRef leftOut[] = {"REDUCE_GRAD", "WAIT_REDUCE_GRAD",
                                 "WAIT_SEND_F", "WAIT_SEND_B"};
constexpr StringRef together = "OVERLAP_F_B";

class Parser {
public:
  explicit Parser(const std::string &file) { actions.file = file; }

  llvm::Expected<StageActions> parse(StringRef text) {
    llvm::SmallVector<StringRef> rows;
    text.split(rows, '\n');
    while (!rows.empty() && rows.back().trim().empty())
      rows.pop_back();
    for (StringRef row : rows) {
      actions.stages.emplace_back();
      llvm::SmallVector<StringRef> cells;
      row.split(cells, ',');
      for (auto [i, cell] : llvm::enumerate(cells))
        if (!readCell(cell.trim().trim('"').trim(), int64_t(i) + 1))
          return llvm::createStringError(fmt::format(
              "{}: row {}, cell {}: '{}' is no action; an action is a chunk, "
              "F, B, I or W, and a micro-batch, as in 2F0",
              actions.file, actions.stages.size(), i + 1, cell.trim().str()));
    }
    if (actions.stages.empty())
      return llvm::createStringError(
          actions.file + " is empty; write a row of actions for each stage");
    return std::move(actions);
  }

private:
  bool readCell(StringRef cell, int64_t number) {
    if (cell.empty())
      return true;
    if (!cell.consume_front("("))
      return readAction(cell, number);
    auto [parts, kind] = cell.split(')');
    if (kind != together)
      return false;
    llvm::SmallVector<StringRef> each;
    parts.split(each, ';');
    return llvm::all_of(
        each, [&](StringRef part) { return readAction(part.trim(), number); });
  }

  bool readAction(StringRef text, int64_t number) {
    StageAction action;
    action.cell = number;
    constexpr int64_t most = int64_t(1) << 31; // sums do not overflow
    if (text.consumeInteger(10, action.chunk) || action.chunk < 0 ||
        action.chunk > most)
      return false;
    StringRef name = text.rtrim("0123456789");
    text = text.drop_front(name.size());
    if (name == gather) {
      ++actions.gathers;
      actions.mostGathers =
          std::max(actions.mostGathers, ++gathersOf[action.chunk]);
      return true;
    }
    if (name == release)
      return true;
    if (llvm::is_contained(leftOut, name)) {
      ++actions.leftOut;
      return true;
    }
    if (text.getAsInteger(10, action.part) || action.part > most)
      return false;
    for (llvm::ArrayRef<Named> all :
         {llvm::ArrayRef<Named>(computing), llvm::ArrayRef<Named>(transfers)})
      for (const Named &each : all)
        if (each.name == name)
          return add(action, each);
    return false;
  }

  bool add(StageAction action, const Named &named) {
    action.work = named.work;
    action.isReceive = named.isReceive;
    action.isInput = named.isInput;
    // A receive is the send of the chunk before, or after.
    if (named.isReceive)
      action.chunk += named.work == Work::SendForward ? -1 : 1;
    actions.splitsWeights |= named.isInput || named.work == Work::Weights;
    actions.hasTransfers |=
        named.work == Work::SendForward || named.work == Work::SendBackward;
    actions.stages.back().push_back(action);
    return true;
  }

  StageActions actions;
  std::map<int64_t, int64_t> gathersOf; // by chunk
};

} // namespace

std::string tpsp::textOf(const StageAction &action, bool splitsWeights) {
  switch (action.work) {
  case Work::Forward:
    return fmt::format("{}F{}", action.chunk, action.part);
  case Work::Backward:
    return fmt::format("{}{}{}", action.chunk, splitsWeights ? "I" : "B",
                       action.part);
  case Work::Weights:
    return fmt::format("{}W{}", action.chunk, action.part);
  case Work::SendForward:
    return action.isReceive
               ? fmt::format("{}RECV_F{}", action.chunk + 1, action.part)
               : fmt::format("{}SEND_F{}", action.chunk, action.part);
  case Work::SendBackward:
    return action.isReceive
               ? fmt::format("{}RECV_B{}", action.chunk - 1, action.part)
               : fmt::format("{}SEND_B{}", action.chunk, action.part);
  }
  return "";
}

llvm::Expected<StageActions> tpsp::parseStageActions(const std::string &text,
                                                     const std::string &file) {
  return Parser(file).parse(text);
}

llvm::Expected<StageActions> tpsp::readStageActions(const std::string &file) {
  constexpr int64_t mostBytes = int64_t(1) << 26;
  std::string text;
  if (rt::Status read = rt::readWhole(file, mostBytes, text); !read.ok())
    return llvm::createStringError("cannot read '" + file +
                                   "': " + read.message());
  return parseStageActions(text, file);
}

StageActions tpsp::actionsOf(const PipelineProblem &problem,
                             const PipelineSchedule &schedule) {
  StageActions actions;
  actions.splitsWeights = problem.splitsWeights;
  actions.stages.resize(problem.stages);
  for (const PipelineCommand &command : schedule.commands) {
    if (command.isSend())
      continue;
    StageAction action{command.work, command.chunk, command.part};
    action.isInput = problem.splitsWeights && command.work == Work::Backward;
    actions.stages[problem.stageOf(command.chunk)].push_back(action);
  }
  return actions;
}

std::string tpsp::toCsv(const PipelineProblem &problem,
                        const PipelineSchedule &schedule) {
  std::string text;
  for (const auto &stage : actionsOf(problem, schedule).stages) {
    std::vector<std::string> row;
    for (const StageAction &action : stage)
      row.push_back(textOf(action, problem.splitsWeights));
    text += llvm::join(row, ",") + "\n";
  }
  return text;
}

llvm::Expected<StageSchedule>
StageSchedule::read(const std::string &policy, const std::string &file,
                    const std::string &placement) {
  StageSchedule schedule(*findPolicy(policy));
  if (!file.empty()) {
    llvm::Expected<StageActions> actions = readStageActions(file);
    if (!actions)
      return actions.takeError();
    schedule = StageSchedule({"actions", actions->splitsWeights,
                              /*forwardFirst=*/false,
                              [](const PipelineProblem &of, int64_t) {
                                return of.parts * of.chunksPerStage;
                              }});
    schedule.actions = std::move(*actions);
  }
  schedule.isFolded = placement == "folded";
  return schedule;
}

bool StageSchedule::endsWithLast() const {
  if (!actions)
    return true;
  int64_t most = 0;
  std::map<int64_t, int64_t> lastOf; // by chunk
  for (const std::vector<StageAction> &stage : actions->stages)
    for (const StageAction &action : stage) {
      most = std::max(most, action.part);
      if (action.work == Work::Backward || action.work == Work::Weights)
        lastOf[action.chunk] = action.part;
    }
  return std::all_of(lastOf.begin(), lastOf.end(),
                     [&](const auto &each) { return each.second == most; });
}

llvm::Expected<PipelineSchedule>
StageSchedule::of(const PipelineProblem &problem) const {
  if (actions)
    return scheduleActions(problem, *actions);
  return schedulePipeline(problem);
}
